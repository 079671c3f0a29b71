"""Every page by Streamlit's AppTest: it opens, and a broken address or journal is a card."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from langchain_context_engine import Journal
from langchain_context_engine.models.types import Status
from tests.inspector.builders import a_context, a_page, cells, grids, htmls, said

PAGES = ("traces", "explain", "tune", "compare", "judge", "sets", "figures", "collections")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("trace", [None, "sample-duplicates", "sample-weighted"])
def test_every_page_opens_with_and_without_a_trace(page, trace):
    at = a_page(page, trace=trace)
    assert not at.exception
    assert "This did not work" not in said(at)


def test_the_empty_state_tells_in_three_lines_how_to_record():
    at = a_page("traces")
    recipe = next(code.value for code in at.code if "journal" in code.value)
    assert len(recipe.splitlines()) == 3
    assert any("Load the sample" in button.label for button in at.button)


@pytest.mark.parametrize("page", ["explain", "tune", "judge"])
def test_a_page_that_needs_a_trace_offers_a_sample(page):
    at = a_page(page)
    assert "No trace is open yet" in said(at)
    assert any("Load the sample" in button.label for button in at.button)


def test_a_journal_lists_its_questions_and_pages_through_them(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        for number in range(60):
            journal.record(a_context(query=f"question {number}?"))
    at = a_page("traces", journal=path, monkeypatch=monkeypatch)
    assert "60 of 60 questions" in said(at)
    assert len(grids(at)["traces"]["rows"]) == 50
    found = a_page("traces", journal=path, monkeypatch=monkeypatch, q="59 question")
    assert len(grids(found)["traces"]["rows"]) == 1


def test_a_journal_that_is_not_there_yet_is_waited_for(tmp_path, monkeypatch):
    at = a_page("traces", journal=tmp_path / "none.db", monkeypatch=monkeypatch)
    assert "Nothing is recorded yet" in said(at)
    assert not (tmp_path / "none.db").exists()


def test_a_file_that_is_no_journal_is_a_card(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    path.write_text("this is no database, it is a text that is long enough to look at" * 40)
    at = a_page("traces", journal=path, monkeypatch=monkeypatch)
    assert not at.exception
    assert "This did not work" in said(at)


@pytest.mark.parametrize("trace", ["nothing-like-it", "../../etc/passwd", "upload-0123456789ab", "%3Cb%3E"])
@pytest.mark.parametrize("page", ["explain", "tune", "judge"])
def test_an_address_that_names_no_trace_is_a_card_that_says_what_to_do(page, trace):
    at = a_page(page, trace=trace)
    assert not at.exception
    assert "This did not work" in said(at)
    assert "Traces page" in said(at)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("trace", [None, "sample-weighted"])
def test_every_page_has_one_heading(page, trace):
    at = a_page(page, trace=trace)
    assert sum(html.count("<h1") for html in htmls(at)) + len(at.title) == 1


def test_a_failed_question_and_an_empty_answer_say_at_once_what_narrowed_them(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        empty = journal.record(a_context([], scope={"team": "x"}))
        failed = journal.record(replace(a_context([]), status=Status.FAILED, warnings=("all failed",)))
    told = said(a_page("explain", trace=empty, journal=path, monkeypatch=monkeypatch))
    assert "What narrowed the question" in told
    assert "team x" in told
    told = said(a_page("explain", trace=failed, journal=path, monkeypatch=monkeypatch))
    assert "Every source failed" in told
    at = a_page("traces", journal=path, monkeypatch=monkeypatch, only="failed")
    assert [row["id"] for row in grids(at)["traces"]["rows"]] == [failed]


def test_the_list_is_sorted_filtered_and_bounded_by_its_address(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        for day, budget in ((1, 60), (2, 10), (3, 2000)):
            at = datetime(2026, 3, day, 12, tzinfo=UTC)
            journal.record(a_context(query=f"day {day}", budget=budget, truncator="none"), at=at)

    def listed(**address):
        at = a_page("traces", journal=path, monkeypatch=monkeypatch, **address)
        return cells(at, "traces", "question")

    assert listed() == ["day 3", "day 2", "day 1"]
    assert listed(sorted="-tokens") == ["day 2", "day 1", "day 3"]
    assert listed(sorted="tokens") == ["day 3", "day 1", "day 2"]
    assert listed(only="nothing kept") == ["day 2"]
    assert listed(since="2026-03-02", until="2026-03-02") == ["day 2"]
    assert listed(q="3 day") == ["day 3"]
    assert listed(sorted="evil", since="never") == ["day 3", "day 2", "day 1"]


def test_figures_over_time_are_told_by_day_stage_and_source(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        for day in (1, 1, 2):
            journal.record(a_context(), at=datetime(2026, 3, day, 12, tzinfo=UTC))
    at = a_page("figures", journal=path, monkeypatch=monkeypatch)
    assert any(one.value.startswith("3 questions on 2 days, from") for one in at.caption)
    assert cells(at, "days", "day") == ["2 Mar 2026", "1 Mar 2026"]
    assert cells(at, "days", "questions") == ["1", "2"]
    assert {"collect", "pack", "rank"} <= set(cells(at, "stages", "name"))
    assert cells(at, "sources", "count") == ["3"]


def test_the_milliseconds_of_a_day_are_those_of_a_stage_or_a_source_where_that_is_chosen(
    tmp_path, monkeypatch
):
    path = tmp_path / "j.db"
    took = {"timings": {"collect": 900.0, "rank": 7.0}, "source_timings": {"list": 450.0}}
    with Journal(path) as journal:
        journal.record(replace(a_context(), **took))
    for timed, milliseconds in (("", "907"), ("stage rank", "7"), ("source list", "450"), ("evil", "907")):
        at = a_page("figures", journal=path, monkeypatch=monkeypatch, timed=timed)
        assert cells(at, "days", "p95") == [milliseconds]
    assert cells(at, "sources", "p50") == ["450"]
