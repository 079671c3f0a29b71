"""Builders that the tests of tuning share: questions whose grades a signal decides, or chance."""

from __future__ import annotations

import random

from langchain_context_engine import ContextEngine
from tests.builders import ListSource, a_candidate

WORDS = [
    "harbour", "crane", "tide", "ferry", "quay", "lamp",
    "rope", "anchor", "sail", "mast", "keel", "buoy",
]  # fmt: skip


def a_question(number, rng, *, decided_by="recency", fields=None, **engine_settings):
    """Return a trace of twelve candidates, and the grades of three: decided by a signal, or by nothing."""
    candidates = [
        a_candidate(
            id=f"c{i}",
            text=" ".join([*rng.sample(WORDS, 8), f"{number}-{i}"]),
            relevance=rng.random(),
            **(
                {
                    "created_at": f"2025-12-{rng.randint(1, 28):02}",
                    "metadata": {"confidence": rng.random(), "importance": rng.random()},
                }
                if fields is None
                else fields
            ),
        )
        for i in range(12)
    ]
    engine = ContextEngine(
        sources=[ListSource(candidates)], **{"tokenizer": "estimate", "budget": 100, **engine_settings}
    )
    trace = engine.build(f"question {number} of the harbour", now="2026-01-01")
    if decided_by == "recency":
        newest = sorted(candidates, key=lambda c: c.created_at, reverse=True)
        return trace, {candidate.key: 3 - place for place, candidate in enumerate(newest[:3])}
    return trace, {candidate.key: 3 for candidate in rng.sample(candidates, 3)}


def judged(count=60, seed=0, **how):
    rng = random.Random(seed)
    pairs = [a_question(number, rng, **how) for number in range(count)]
    return [trace for trace, _ in pairs], {trace.request.query: grades for trace, grades in pairs}
