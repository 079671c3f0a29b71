"""Builders that the journal's tests share."""

from __future__ import annotations

from langchain_context_engine.models.types import Decision, Passage, Ranked, Reason, Verdict
from langchain_context_engine.trace.context import Context
from tests.builders import a_candidate, a_request

KEY = ("memories", "m1")


def a_context(query: str = "what about billing?", *, text_length: int = 20, **fields) -> Context:
    candidates = (
        a_candidate(text="x" * text_length, provenance=("notes",)),
        a_candidate(provenance=("chat",)),
        a_candidate(provenance=("chat",)),
    )
    return Context(
        **{
            "text": "hello",
            "tokens": 7,
            "budget": 50,
            "passages": (Passage(ranked=Ranked(candidate=candidates[0]), text="x", tokens=7),),
            "decisions": (
                Decision(
                    stage="dedupe", key=candidates[1].key, verdict=Verdict.DROPPED, reason=Reason.DUPLICATE
                ),
            ),
            "warnings": ("one",),
            "timings": {"collect": 2.0, "rank": 1.5},
            "candidates": candidates,
            "request": a_request(query=query),
            **fields,
        }
    )
