"""Hostile texts, other sessions, the live tail and the speed of a slider, in a real browser."""

from __future__ import annotations

import os

import pytest

from inspector.opening import Settings, open_trace
from langchain_context_engine import Journal
from tests.builders import a_candidate
from tests.inspector.builders import HOSTILE, a_context
from tests.inspector.walking import (
    choose_row,
    go_to,
    inspecting,
    is_dark,
    milliseconds_of_a_turn,
    settle,
    table_of,
    turn,
    until,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    path = tmp_path_factory.mktemp("journal") / "context.db"
    with Journal(path) as journal:
        for name in ("sample-duplicates", "sample-tight-budget", "sample-latest", "sample-weighted"):
            journal.record(open_trace(name, Settings()))
        journal.record(
            a_context(
                _many(200), query="which of the many?", weights={"relevance": 1, "keyword": 1}, limit=200
            )
        )
        journal.record(
            a_context([a_candidate(id=HOSTILE, text=HOSTILE, metadata={"title": HOSTILE})], query=HOSTILE)
        )
    return path


def _many(count):
    words = ("tides", "harbour", "lamps", "ropes", "ledger", "gulls", "engine", "winter", "paint", "charts")
    return [
        a_candidate(
            id=f"many-{i}",
            text=f"{words[i % 10]} of the {words[i // 10 % 10]} number {i}, and which {words[i * 7 % 10]} it was "
            * 3,
            relevance=1 - i / 250,
        )
        for i in range(count)
    ]


@pytest.fixture(scope="module")
def address(journal):
    with inspecting(journal) as url:
        yield url


def test_a_sample_opens_by_a_click(visit):
    page = visit()
    page.get_by_text("Open a saved trace, or a sample").click()
    page.get_by_role("button", name="Load the sample: weighted").click()
    page.wait_for_url("**/explain?**")
    settle(page)
    assert "How are refunds, invoices and payouts checked" in page.inner_text("body")


def test_a_trace_dropped_in_opens_for_its_session_alone(visit, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(a_context([a_candidate(id="a", text="only in this file")]).to_json())
    page = visit()
    page.get_by_text("Open a saved trace, or a sample").click()
    page.locator("input[type=file]").set_input_files(path)
    page.wait_for_url("**/explain?**")
    settle(page)
    assert "only in this file" in page.inner_text("body")
    other = visit(page.url.split("/", 3)[3], expects_a_card=True)
    assert "only in this file" not in other.inner_text("body")
    assert "another session" in other.inner_text("body")


def test_a_row_of_the_judged_questions_opens_its_question_to_be_graded(visit, journal):
    with Journal(journal) as opened:
        for query in ("which of the many?", HOSTILE):
            (found,) = opened.traces(1, search=query)
            opened.judge(query, opened.trace(found.id).candidates[-1].key, 3)
    page = visit("judge?judging=All judged questions")
    assert "which of the many?" in table_of(page).split(HOSTILE)[0]
    choose_row(page, 0)
    page.get_by_role("button", name="Take back").wait_for()
    settle(page)
    assert "which of the many?" in page.inner_text("body")


def test_a_grade_that_the_journal_does_not_take_is_told_at_once_and_saved_later(visit, journal, tmp_path):
    """A part of the page was drawn again alone, and the card stood outside of it: nothing was said."""
    with Journal(journal) as opened:
        (found,) = opened.traces(1, search="which of the many?")
    page = visit(f"judge?trace={found.id}")
    aside = journal.rename(tmp_path / "aside")
    journal.write_bytes(b"no journal" * 100)
    page.keyboard.press("1")
    page.get_by_role("alert").wait_for()
    assert "1 grade is kept here, unsaved" in page.inner_text("body")
    aside.replace(journal)
    page.get_by_role("button", name="Save again").click()
    until(page, lambda: "unsaved" not in page.inner_text("body"))
    with Journal(journal) as opened:
        assert 1 in {judged.grade for judged in opened.judgments(found.query)}


def test_the_live_tail_shows_a_new_question_by_itself(visit, journal):
    page = visit("?q=tailed")
    assert "0 of" in page.inner_text("body")
    page.get_by_text("Live tail").click()
    settle(page)
    with Journal(journal) as opened:
        opened.record(a_context(query="a tailed question?"))
    page.get_by_text("1 of", exact=False).first.wait_for()


@pytest.mark.parametrize("milliseconds", [60, 220])
def test_ten_presses_of_a_key_turn_a_slider_ten_steps(visit, milliseconds):
    """The box beside it told its number from before the last turn, and turned the slider back."""
    page = visit("tune?trace=sample-weighted")
    slider = page.locator("[data-testid=stSlider] input[type=range]").first
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(milliseconds)
    until(page, lambda: f"{page.url}&".partition("w_relevance=")[2].startswith("0.4&"))
    settle(page)
    assert slider.input_value() == "0.4"
    box = page.get_by_label("relevance, exactly", exact=True)
    until(page, lambda: box.input_value() == "0.4")


def test_keys_that_come_faster_than_the_page_is_drawn_walk_on(visit):
    """A run from before the last key took the choice back, and the next key went on from there."""
    page = visit("explain?trace=sample-weighted")
    for _ in range(12):
        page.keyboard.press("j")
        page.wait_for_timeout(90)
    until(page, lambda: "rank 13" in page.inner_text(".ce-fate"))


def test_grades_that_are_picked_faster_than_the_page_is_drawn_are_all_given(visit):
    """Of two grades that were picked within one run of the page the first was lost."""
    page = visit("judge?trace=sample-weighted")
    page.evaluate("""async () => {
        for (const field of [...document.querySelectorAll('.ce-grid select')].slice(0, 5)) {
            field.value = '3 · exactly';
            field.dispatchEvent(new Event('change'));
            await new Promise((resolve) => setTimeout(resolve, 40));
        }
    }""")
    until(page, lambda: "Judged: 5 of" in page.inner_text("body"))
    picked = [field.input_value() for field in page.locator(".ce-grid select").all()[:6]]
    assert picked == ["3 · exactly"] * 5 + ["unjudged"]


def test_a_number_typed_beside_a_slider_turns_it_and_its_turn_is_shown_there(visit):
    page = visit("tune?trace=sample-weighted")
    box = page.get_by_label("Budget, tokens, exactly", exact=True)
    box.fill("333")
    box.press("Enter")
    until(page, lambda: "budget=333" in page.url)
    slider = page.locator(".st-key-budget input[type=range]")
    until(page, lambda: slider.input_value() == "333")
    slider.press("ArrowRight")
    until(page, lambda: box.input_value() == "334")


def test_what_was_tried_is_there_on_the_next_page_after_a_switch_was_turned(visit):
    """It was gone from Sets, Compare and Tune itself as soon as a part of the page was drawn by itself."""
    page = visit("tune?trace=sample-weighted&budget=300")
    page.get_by_text("Changed only").click()
    until(page, lambda: "changed-only=True" in page.url)
    go_to(page, "Judge")
    go_to(page, "Tune")
    until(page, lambda: "recorded" in page.locator(".ce-grid").last.inner_text())


def test_two_hundred_candidates_are_ranked_again_within_a_third_of_a_second(visit):
    page = visit("?q=which+of+the+many")
    choose_row(page, 0)
    page.wait_for_url("**/explain?**")
    settle(page)
    go_to(page, "Tune")
    turn(page, 0, "ArrowLeft", 1)
    page.wait_for_url("**w_relevance=**")
    settle(page)
    took = []
    # On a machine that is not overloaded; where others run beside the test, as much longer as they take.
    limit = 333 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    while len(took) < 40 and min(took, default=limit) >= limit:
        took.append(milliseconds_of_a_turn(page))
    assert min(took) < limit, sorted(took)


@pytest.mark.parametrize(
    "path", ["", "explain", "explain?section=Text", "tune", "compare", "judge", "collections"]
)
def test_hostile_texts_fetch_and_run_nothing_in_either_theme(visit, journal, path):
    with Journal(journal, read_only=True) as opened:
        (row,) = opened.traces(1, search="onerror")
    mark = "&" if "?" in path else "?"
    page = visit(f"{path}{mark}trace={row.id}" if path else "")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        until(page, lambda scheme=scheme: is_dark(page) == (scheme == "dark"))
        assert page.locator("img[src=x]").count() == 0
        assert page.locator("[data-testid=stMainBlockContainer] .katex").count() == 0
