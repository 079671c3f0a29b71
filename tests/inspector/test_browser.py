"""Fast keys, fast picks, a journal that fails and hostile texts, in a real browser."""

from __future__ import annotations

import pytest

from inspector.opening import Settings, open_trace
from langchain_context_engine import Journal
from tests.builders import a_candidate
from tests.inspector.builders import HOSTILE, a_context
from tests.inspector.walking import (
    go_to,
    inspecting,
    settle,
    until,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    path = tmp_path_factory.mktemp("journal") / "context.db"
    with Journal(path) as journal:
        for name in ("sample-duplicates", "sample-tight-budget", "sample-latest", "sample-weighted"):
            journal.record(open_trace(name, Settings()))
        journal.record(a_context(query="which of the many?"))
        journal.record(
            a_context([a_candidate(id=HOSTILE, text=HOSTILE, metadata={"title": HOSTILE})], query=HOSTILE)
        )
    return path


@pytest.fixture(scope="module")
def address(journal):
    with inspecting(journal) as url:
        yield url


def test_a_row_of_the_judged_questions_opens_its_question_to_be_graded(visit, journal):
    with Journal(journal) as opened:
        for query in ("which of the many?", HOSTILE):
            (found,) = opened.traces(1, search=query)
            opened.judge(query, opened.trace(found.id).candidates[-1].key, 3)
    page = visit("sets")
    # The first cell below the head of a table that is drawn on a canvas.
    page.locator("[data-testid=stDataFrame]").click(position={"x": 60, "y": 50})
    page.get_by_role("button", name="Take back").wait_for()
    settle(page)
    assert "which of the many?" in page.inner_text("body")


def test_a_grade_that_the_journal_does_not_take_is_told_at_once(visit, journal, tmp_path):
    """A part of the page was drawn again alone, and the card stood outside of it: nothing was said."""
    with Journal(journal) as opened:
        (found,) = opened.traces(1, search="which of the many?")
    page = visit(f"judge?trace={found.id}")
    aside = journal.rename(tmp_path / "aside")
    journal.write_bytes(b"no journal" * 100)
    try:
        page.keyboard.press("1")
        page.get_by_text("This did not work").first.wait_for()
    finally:
        aside.replace(journal)


def test_ten_presses_of_a_key_turn_a_slider_ten_steps(visit):
    page = visit("tune?trace=sample-weighted")
    slider = page.locator("[data-testid=stSlider] input[type=range]").first
    slider.focus()
    for step in range(1, 11):
        page.keyboard.press("ArrowLeft")
        until(page, lambda step=step: slider.input_value() == f"{0.5 - step / 100:g}")
    until(page, lambda: f"{page.url}&".partition("w_relevance=")[2].startswith("0.4&"))
    settle(page)
    assert slider.input_value() == "0.4"


def test_keys_that_come_faster_than_the_page_is_drawn_walk_on(visit):
    """A run from before the last key took the choice back; a table mounted anew forgot it; each step waited
    for what would admit the candidate before.
    """
    page = visit("explain?trace=sample-weighted")
    for _ in range(12):
        page.keyboard.press("j")
        page.wait_for_timeout(90)
    until(page, lambda: "rank 13" in page.inner_text(".ce-fate"))


def test_what_was_tried_is_there_on_the_next_page_after_a_switch_was_turned(visit):
    """It was gone from Sets, Compare and Tune itself as soon as a part of the page was drawn by itself."""
    page = visit("tune?trace=sample-weighted&budget=300")
    page.get_by_text("Only those treated differently").click()
    until(page, lambda: "onlydiff=true" in page.url)
    go_to(page, "Judge")
    go_to(page, "Tune")
    page.get_by_text("1 try").wait_for()


@pytest.mark.parametrize("path", ["", "explain", "explain?section=Text", "compare", "judge"])
def test_hostile_texts_fetch_and_run_nothing(visit, journal, path):
    with Journal(journal, read_only=True) as opened:
        (row,) = opened.traces(1, search="onerror")
    mark = "&" if "?" in path else "?"
    page = visit(f"{path}{mark}trace={row.id}" if path else "")
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("[data-testid=stMainBlockContainer] .katex").count() == 0
