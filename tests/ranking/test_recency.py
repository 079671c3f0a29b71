"""Recency where a question asks for it."""

from __future__ import annotations

import pytest

from langchain_context_engine.models.types import Reason
from langchain_context_engine.pipeline.rank import rank
from langchain_context_engine.ranking.recency import in_time_order, newest_of
from langchain_context_engine.ranking.signals import SIGNALS
from tests.builders import a_candidate, a_request


@pytest.mark.parametrize(
    ("query", "about"),
    [
        ("What changed most recently?", ()),
        ("what are the last 3 commits", ()),
        ("the latest change to glob matching", ("glob", "match")),
        ("how long does a session last?", None),
        ("who spoke at last?", None),
    ],
)
def test_the_newest_is_asked_for_in_words(query, about):
    newest = newest_of(query)
    assert (None if newest is None else newest.about) == about


def ranked(candidates, query):
    return rank(candidates, a_request(query=query), signals=SIGNALS)


def test_where_nothing_else_is_named_the_order_of_time_answers():
    found = [
        a_candidate(
            id=str(year), text="what changed", relevance=1 / (year - 2019), created_at=f"{year}-01-01"
        )
        for year in range(2020, 2024)
    ]
    ranking = ranked(found, "what changed most recently?")
    assert [item.key[1] for item in ranking.items] == ["2023", "2022", "2021", "2020"]
    assert {decision.reason for decision in ranking.decisions} == {Reason.LATEST}


def test_what_is_new_but_holds_nothing_of_the_question_does_not_win():
    """A commit "Update uv_build version", relevance .007, won with confidence 1; the guide was dropped."""
    guide = a_candidate(
        id="guide", kind="doc", relevance=0.9, created_at="2020-01-01", metadata={"path": "guide.md"},
        text="Install a package with pip: pip install name gives its newest version.",
    )  # fmt: skip
    bump = a_candidate(
        id="bump", kind="commit", relevance=0.007, created_at="2026-01-01", text="Update uv_build version",
    )  # fmt: skip
    ranking = ranked([guide, bump], "How do I install the latest version of a package with pip?")
    assert [item.key[1] for item in ranking.items] == ["guide", "bump"]


def test_of_what_the_question_names_the_newest_comes_first():
    old = a_candidate(id="old", text="Router.mount changed its path", relevance=0.9, created_at="2020-01-01")
    new = a_candidate(id="new", text="Router.mount lost an argument", relevance=0.8, created_at="2025-01-01")
    other = a_candidate(id="other", text="Berths are free", relevance=0.1, created_at="2026-01-01")
    ranking = ranked([old, new, other], "What was the most recent change to Router.mount?")
    assert [item.key[1] for item in ranking.items] == ["new", "old", "other"]


def test_a_release_is_the_section_of_a_changelog_that_names_a_version():
    sections = [
        a_candidate(
            id=name, kind="doc", text=name, created_at="2025-01-01",
            metadata={"path": "CHANGELOG.md", "headings": heading, "start": start},
        )
        for name, heading, start in [("unreleased", "Unreleased", 0), ("two", "2.0", 50), ("one", "1.0", 90)]
    ]  # fmt: skip
    commit = a_candidate(id="commit", kind="commit", text="Mend it", created_at="2026-01-01")
    newest = newest_of("which version was released most recently?")
    values = in_time_order([*sections, commit], newest)
    assert values[1] > values[2] > 0
    assert values[0] == values[3] == 0
