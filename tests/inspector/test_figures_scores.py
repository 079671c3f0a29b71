"""What a score is made of, and which candidates only lacked room."""

from __future__ import annotations

import math

import pytest

from inspector.figures.budget_usage import last_kept, near_misses, used
from inspector.figures.fates import score_parts
from langchain_context_engine.models.types import Verdict
from langchain_context_engine.trace.explain import rows
from langchain_context_engine.trace.replay import ranking
from tests.inspector.builders import a_context


def rows_of(**settings):
    context = a_context(**settings)
    return rows(context, ranking(context))


def test_the_parts_of_a_score_add_up_to_it():
    for row in rows_of(weights={"relevance": 2, "keyword": 1}):
        parts = score_parts(row)
        if row.score is None:
            assert parts == []
            continue
        assert math.fsum(part.adds for part in parts if part.adds is not None) == pytest.approx(row.score)
        assert {part.name for part in parts} == {*row.signals, *row.contributions}
        for part in parts:
            if part.weight is not None:
                assert part.weight * part.value == pytest.approx(part.adds)


def test_what_lacked_room_is_told_best_ranked_first_and_where_the_last_got_in():
    found = rows_of(budget=60, truncator="none")
    misses = near_misses(found)
    assert misses
    assert [row.place for row in misses] == sorted(row.place for row in misses)
    line = last_kept(found)
    assert found[line].verdict is Verdict.KEPT
    assert all(row.verdict is Verdict.DROPPED for row in found[line + 1 :])
    assert last_kept([row for row in found if row.verdict is Verdict.KEPT]) is None
    assert (used(30, 60), used(3, 0)) == (0.5, None)
