"""The walk of a newcomer: `context-engine demo`, and the inspector that it ends in, in a real browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import pytest

from inspector.tables import ROOM
from langchain_context_engine import Journal
from langchain_context_engine.answering.explain import rows
from langchain_context_engine.answering.traces import ranking
from langchain_context_engine.demo import DEMO_QUESTIONS
from tests.conftest import ROOT
from tests.inspector.walking import (
    a_browser,
    a_free_port,
    answers,
    choose_row,
    go_to,
    metric,
    settle,
    table_of,
    turn,
    visits,
    wait_until_it_answers,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

COMMAND = "import sys; from langchain_context_engine.cli import main; sys.exit(main())"
PAYOUT = DEMO_QUESTIONS[1].question


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Run the demo as a newcomer does, outside of a checkout; return its address and its journal."""
    folder = tmp_path_factory.mktemp("demo")
    port, printed = a_free_port(), folder / "printed.txt"
    command = [sys.executable, "-c", COMMAND, "demo", "--port", str(port), "--no-browser"]
    url = f"http://127.0.0.1:{port}"
    with printed.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_until_it_answers(url, process)
            yield url, folder / ".context-engine" / "demo" / "journal.db"
        finally:
            process.terminate()
            process.wait(30)
    for _ in range(50):
        if not answers(url):
            break
        time.sleep(0.2)
    assert not answers(url), "the demo ended without its inspector"
    text = printed.read_text(encoding="utf-8")
    assert f"the inspector is at {url}" in text
    assert "Traceback" not in text, text


@pytest.fixture(scope="module")
def browser():
    with a_browser() as browser:
        yield browser


@pytest.fixture
def visit(browser, demo):
    with visits(browser, demo[0]) as visit:
        yield visit


def open_the_payout_question(page, journal):
    with Journal(journal, read_only=True) as opened:
        queries = [row.query for row in opened.traces()]
    choose_row(page, queries.index(PAYOUT))
    page.wait_for_url("**/explain?**")
    settle(page)


def a_missing_memory(journal):
    """Return the best ranked memory or experience that found no room for the payout question."""
    with Journal(journal, read_only=True) as opened:
        (found,) = opened.traces(1, search=PAYOUT)
        context = opened.trace(found.id)
    left_out = [row for row in rows(context, ranking(context)) if row.reason in ROOM]
    return next(row for row in left_out if row.key[0] in {"memories", "experiences"})


def test_the_demo_ends_in_the_inspector_where_its_three_questions_wait_to_be_walked(visit, demo):
    page = visit()
    assert "3 of 3 questions" in page.inner_text("body")
    for question in DEMO_QUESTIONS:
        assert question.question in table_of(page)

    open_the_payout_question(page, demo[1])
    assert PAYOUT in page.inner_text("body")
    assert metric(page).endswith(f"/ {DEMO_QUESTIONS[1].budget}")
    page.keyboard.press("j")
    page.wait_for_url("**candidate=**")
    settle(page)

    go_to(page, "Tune")
    before = table_of(page)
    turn(page, 0, "ArrowLeft", 1)
    page.wait_for_url("**w_relevance=**")
    settle(page)
    page.get_by_role("button", name="More signals").click()
    page.get_by_role("slider", name="keyword keyword", exact=True).press("End")
    page.wait_for_url("**w_keyword=1**")
    page.keyboard.press("Escape")
    settle(page)
    after = table_of(page)
    assert before != after
    assert "▲" in after

    other = visit(page.url.split("/", 3)[3])
    assert table_of(other) == after
    assert metric(other) == metric(page)

    go_to(page, "Compare")
    assert "Choose two or more" in page.inner_text("body")
    page.locator("[data-testid=stMultiSelect] input").click()
    page.get_by_role("option", name="try", exact=False).first.click()
    page.keyboard.press("Escape")
    page.get_by_text("Settings that differ").wait_for()
    settle(page)

    go_to(page, "Judge")
    page.keyboard.press("3")
    page.get_by_text("1 of ", exact=False).first.wait_for()
    settle(page)

    go_to(page, "Collections")
    page.get_by_label("Server or folder").fill(str(demo[1].parent / "chroma"))
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_text("Ask a new question").wait_for()
    settle(page)
    assert "What the sources of this trace offered" in page.inner_text("body")


def test_a_newcomer_finds_out_why_a_memory_is_missing(visit, demo):
    missing = a_missing_memory(demo[1])
    page = visit()
    open_the_payout_question(page, demo[1])
    page.get_by_label("Why is this not here?").fill(missing.key[1])
    page.get_by_text("/".join(missing.key), exact=True).wait_for()
    settle(page)
    fate = page.inner_text("body")
    assert f"needs {missing.details['needed']} tokens" in fate
    page.get_by_role("button", name="Find the smallest change").click()
    page.get_by_role("button", name="See it in Tune").first.wait_for()
    settle(page)
    assert re.search(r"budget from 120 to \d+", page.inner_text("body"))
    page.get_by_role("button", name="See it in Tune").first.click()
    page.wait_for_url("**/tune?**budget=**")
    settle(page)
    assert "entered" in page.inner_text("body")
