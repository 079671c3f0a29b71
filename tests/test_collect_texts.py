"""What has no text is no passage, and a source of nothing else is told of."""

from __future__ import annotations

from langchain_context_engine import ContextEngine
from langchain_context_engine.models.types import Status
from tests.builders import ListSource, a_candidate


def test_a_source_of_nothing_but_vectors_says_why_it_is_silent():
    """A collection that was filled with embeddings alone gave an empty context and no word."""
    engine = ContextEngine([ListSource([a_candidate(id=i, text="") for i in "ab"], name="vectors")])
    context = engine.build("where are the boats?")
    assert context.status is Status.EMPTY
    assert "source 'vectors' offered 2 records, and none of them has a text to read" in context.warnings
    mixed = ContextEngine([ListSource([a_candidate(id="a", text=""), a_candidate(id="b", text="Boats.")])])
    assert mixed.build("where are the boats?").warnings == ()
