"""What a design may set of the layout, of shares and of dedupe beyond a template."""

from __future__ import annotations

import pytest

from langchain_context_engine import Budget, ContextEngine, Template
from tests.builders import ListSource, a_candidate, count_words
from tests.pack_builders import engine_of, text_of

FRAMED = Template(name="framed", passage="{{content}}", separator="\n", footer="\n{{count}} of {{sources}}")
LONG = "Alpha beta gamma delta epsilon zeta eta theta iota kappa lambda."


def engine(*sources, **settings):
    return ContextEngine(
        sources=sources,
        **{"tokenizer": count_words, "template": FRAMED, "truncator": "keep_start", **settings},
    )


def test_a_cut_passage_ends_with_the_note_of_its_kind_or_else_the_templates():
    found = [a_candidate(text=LONG, kind="code", metadata={"title": "a.py:3"})]

    def cut(notes):
        budget = Budget(tokens=10, minimum_cut=1)
        return engine(ListSource(found), budget=budget, notes=notes).build("x").text

    assert cut({"code": " (see {{title}})"}).startswith("Alpha beta")
    assert " (see a.py:3)" in cut({"code": " (see {{title}})"})
    assert "*(truncated)*" in cut({"memory": "?"})


@pytest.mark.parametrize(
    ("order", "ids"),
    [("relevance", "abcd"), ("edges", "acdb"), ("chronological", "dcba"), ("stable", "abcd")],
)
def test_orders(order, ids):
    """B7."""
    found = [
        a_candidate(
            id=name, text=f"text {name} {name * 9}", relevance=0.9 - i / 10, created_at=f"2025-01-0{9 - i}"
        )
        for i, name in enumerate("abcd")
    ]
    context = engine_of(found, order=order).build("q")
    assert "".join(p.key[1] for p in context.passages) == ids


def test_passages_that_adjoin_stand_together_in_reading_order():
    """B4."""
    found = [
        a_candidate(
            id="2",
            text="second part of the harbour report",
            relevance=0.9,
            neighbours=("1", "3"),
            position=("doc", 2),
        ),
        a_candidate(id="x", text="something else entirely", relevance=0.8),
        a_candidate(
            id="1",
            text="first part of the harbour report",
            relevance=0.1,
            neighbours=("2",),
            position=("doc", 1),
        ),
    ]
    context = engine_of(found).build("q")
    assert [p.key[1] for p in context.passages] == ["1", "2", "x"]


def test_a_long_lead_does_not_stand_before_the_passage_that_answers():
    parts = [
        a_candidate(
            id=str(i),
            text=f"part {i} of the harbour report",
            relevance=0.9 if i == 7 else 0.2 + i / 100,
            neighbours=tuple(str(j) for j in (i - 1, i + 1) if 0 <= j <= 8),
            position=("doc", i),
        )
        for i in range(9)
    ]
    context = engine_of(parts, dedupe_threshold=None).build("q")
    assert [p.key[1] for p in context.passages] == ["5", "6", "7", "8", "2", "3", "4", "0", "1"]


def test_markers_resolve_to_the_text_beside_them_after_dedupe_cut_and_reorder():
    """L92."""
    found = [
        a_candidate(
            id=str(i), text=f"fact number {i} is [{i}] " + text_of(40, f"z{i}_"), relevance=1 - i / 30
        )
        for i in range(12)
    ]
    found.append(a_candidate(id="dup", text=found[0].text.upper(), relevance=0.01))
    context = ContextEngine(sources=[ListSource(found)], order="edges").build("fact", budget=600)
    for passage in context.passages:
        assert context.citations[passage.citation] == passage.key
        assert f"{passage.citation} {passage.text.splitlines()[0][:20]}" in context.text
