"""A marker stands in nothing that is shown beside it; what is cut away keeps no number from being one."""

from __future__ import annotations

from langchain_context_engine import replay
from tests.builders import a_candidate
from tests.pack_builders import engine_of

TEXT = "The quay was mended. " + "Boats came and went all day long. " * 30 + "See [1], [2] and [3]."


def test_a_number_in_what_is_cut_away_is_free():
    """A context began with [4] for footnotes that nobody saw."""
    engine = engine_of([a_candidate(id="a", text=TEXT)], tokenizer="auto", budget=60)
    context = engine.build("when was the quay mended?")
    assert "[2]" not in context.passages[0].text
    assert list(context.citations) == ["[1]"]
    assert replay(context).text == context.text
    assert list(replay(context, fusion={"edition": 6}).citations) == ["[4]"]


def test_a_number_that_is_shown_is_none():
    engine = engine_of([a_candidate(id="a", text=TEXT)], tokenizer="auto", budget=2000)
    assert list(engine.build("quay").citations) == ["[4]"]
