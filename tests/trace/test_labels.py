"""Labels: where a record is from, said once in every face, and whom people mean by a name."""

from __future__ import annotations

import pytest

from langchain_context_engine import ContextEngine
from langchain_context_engine.trace.labels import labels, meant
from tests.builders import ListSource, a_candidate

CODE = {"path": "httpx/_client.py", "start_line": 430, "end_line": 471, "symbol": "Client.send"}


def a_context(**settings):
    found = [
        a_candidate(id="1", text="def send(self): return self.wire", relevance=0.9, metadata=CODE),
        a_candidate(id="2", text="Curio support is gone for good.", relevance=0.8,
                    metadata={"path": "CHANGELOG.md", "headings": "0.13.0 › Removed"}),
        a_candidate(id="3", text="So is support of Python two.", relevance=0.7,
                    metadata={"path": "CHANGELOG.md", "headings": "0.13.0 › Removed"}),
        a_candidate(id="4", text="Ana takes her tea without milk.", relevance=0.6),
    ]  # fmt: skip
    return ContextEngine(sources=[ListSource(found)], **settings).build("what was removed?")


def test_no_two_candidates_of_a_context_are_called_alike_and_none_by_a_hash():
    """C1."""
    found = [
        *(a_candidate(id=f"{i:032x}", text=f"Part number {i} of the long report.",
                      metadata={"path": "a.md", "headings": "Usage", **lines})
          for i, lines in enumerate([{}, {}, {"start_line": 3, "end_line": 9}])),
        *(a_candidate(id=f"{i:032x}", text="Ana takes her tea without milk, says Bo.", source="chat")
          for i in range(3, 5)),
    ]  # fmt: skip
    context = ContextEngine(sources=[ListSource(found[:3], "docs"), ListSource(found[3:], "chat")]).build("x")
    told = labels(context)
    assert len(set(told.values())) == len(told) == 5
    assert not any(key[1] in label for key, label in told.items())
    for key, label in told.items():
        assert meant(label, context) == [key] or len(meant(label, context)) > 1


@pytest.mark.parametrize(
    "named",
    ["[1]", "1", "httpx/_client.py:430-471 · Client.send", "httpx/_client.py", "httpx/_client.py:Client.send",
     "memories/httpx/_client.py:Client.send", "_client.py", "Client.send", "memories/1",
     "[1] httpx/_client.py:430-471 · Client.send", '"httpx/_client.py"', "`Client.send`", " 'Client.send()', ", "…430-471 · Client.send", "1.",
     "[1", "httpx/_client.py:431", "httpx/_client.py:430-471", "httpx/_client.py#L440-L450", "/home/a/src/httpx/_client.py",
     "./httpx/_client.py", "httpx\\_client.py"],
)  # fmt: skip
def test_a_candidate_is_meant_by_every_name_that_was_printed(named):
    """C1."""
    assert meant(named, a_context()) == [("memories", "1")]


@pytest.mark.parametrize(
    "long", [{"id": "i" * 3000}, {"metadata": {"title": "t" * 3000}}, {"metadata": {"place": "p" * 3000}}]
)
def test_a_name_longer_than_two_lines_is_cut_and_still_means_its_candidate(long):
    found = [
        a_candidate(**{"id": "1", "text": "Tea is at four.", **long}),
        a_candidate(id="2", text="Cake is at five."),
    ]
    context = ContextEngine(sources=[ListSource(found)]).build("when is tea?")
    assert len(context.explain()) < 800
    assert meant(labels(context)[found[0].key], context) == [found[0].key]


@pytest.mark.parametrize(
    "named", ["", "  ", "``", "[9]", "httpx/_client.py:1", "_client.py:900-901", "[", "()", "x" * 20_000]
)
def test_a_stranger_is_nobody(named):
    """C1: an empty name was everybody's."""
    assert meant(named, a_context()) == []


def test_a_commit_is_meant_by_the_beginning_of_its_hash():
    """C1: `ask` prints eight digits."""
    commit = "8f06cdce430fe0a75e5cf49336428814715452dd"
    found = [
        a_candidate(
            id=commit, text="Send once.", source="commits", kind="commit", metadata={"commit": commit}
        )
    ]
    context = ContextEngine(sources=[ListSource(found, "commits")]).build("send")
    for named in ("8f06cdce", f"`{commit[:12]}`", commit):
        assert meant(named, context) == [("commits", commit)]
