"""Figures over time are told from the journal's rows alone: by day, by stage, by source."""

from __future__ import annotations

import math
from datetime import UTC, date

from langchain_context_engine import Journal
from langchain_context_engine.journal.over_time import WHOLE, by_day, of_sources, of_stages
from tests.journal_builders import a_context


def rows_of(tmp_path, *contexts):
    with Journal(tmp_path / "j.db") as journal:
        for context in contexts:
            journal.record(context)
        return journal.traces(100)


def test_a_source_is_timed_by_itself_and_not_by_the_answers_it_had_a_part_in(tmp_path):
    rows = rows_of(
        tmp_path,
        a_context(timings={"collect": 90.0}, source_timings={"notes": 5.0, "code": 80.0}),
        a_context(timings={"collect": 90.0}, source_timings={"notes": 7.0}),
    )
    sources = of_sources(rows)
    assert list(sources) == ["code", "notes"]
    assert (sources["notes"].count, sources["notes"].p50, sources["notes"].p95) == (2, 5.0, 7.0)
    assert of_stages(rows)["collect"].p95 == 90.0


def test_a_day_tells_the_milliseconds_of_what_is_asked_for(tmp_path):
    rows = rows_of(
        tmp_path,
        a_context(timings={"collect": 3.0, "rank": 1.0}, source_timings={"notes": 2.0}),
        a_context(timings={"collect": 30.0}),
    )

    def told(what):
        (day,) = by_day(rows, UTC, what)
        assert isinstance(day.day, date)
        assert day.questions == 2
        return day.milliseconds.count, day.milliseconds.p95

    assert told(WHOLE) == (2, 30.0)
    assert told(("stage", "rank")) == (1, 1.0)
    assert told(("source", "notes")) == (1, 2.0)
    count, nothing = told(("source", "nobody"))
    assert count == 0
    assert math.isnan(nothing)
