"""Every page by Streamlit's AppTest: it opens, and a broken address or journal is a card."""

from __future__ import annotations

import pytest

from inspector.opening import sample_names
from langchain_context_engine import Journal
from tests.inspector.builders import a_context, a_page, said

PAGES = ("traces", "explain", "tune", "compare", "judge", "collections")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("trace", [None, *sample_names()])
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
    assert len(at.dataframe[0].value) == 50
    found = a_page("traces", journal=path, monkeypatch=monkeypatch, q="question 7")
    assert len(found.dataframe[0].value) == 1


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
