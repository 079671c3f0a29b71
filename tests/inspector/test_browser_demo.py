"""The walk of a newcomer: `context-engine demo`, and the inspector that it ends in, in a real browser."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from langchain_context_engine import Journal
from langchain_context_engine.demo import DEMO_QUESTIONS
from tests.conftest import ROOT
from tests.inspector.walking import (
    a_free_port,
    choose_row,
    go_to,
    running,
    settle,
    table_of,
    turn,
    until,
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
        settings = {
            "cwd": folder,
            "env": {**os.environ, "PYTHONPATH": str(ROOT)},
            "stderr": subprocess.STDOUT,
        }
        with running(command, url, stdout=output, **settings):
            yield url, folder / ".context-engine" / "demo" / "journal.db"
    text = printed.read_text(encoding="utf-8")
    assert f"the inspector is at {url}" in text
    assert "Traceback" not in text, text


@pytest.fixture(scope="module")
def address(demo):
    return demo[0]


def open_the_payout_question(page, journal):
    with Journal(journal, read_only=True) as opened:
        queries = [trace.query for trace in opened.traces()]
    choose_row(page, queries.index(PAYOUT))
    page.wait_for_url("**/explain?**")
    settle(page)


def test_the_demo_ends_in_the_inspector_where_its_three_questions_wait_to_be_walked(visit, demo):
    page = visit()
    assert "3 of 3 questions" in page.inner_text("body")
    for question in DEMO_QUESTIONS:
        assert question.question in table_of(page)

    open_the_payout_question(page, demo[1])
    assert PAYOUT in page.inner_text("h1")
    assert f"/ {DEMO_QUESTIONS[1].budget} tokens" in page.inner_text(".ce-facts")
    page.keyboard.press("j")
    page.wait_for_url("**candidate=**")

    go_to(page, "Tune")
    before = table_of(page)
    turn(page, 0, "ArrowLeft", 1)
    page.wait_for_url("**w_relevance=**")
    page.get_by_role("button", name="More signals").click()
    page.get_by_role("slider", name="keyword keyword", exact=True).press("End")
    page.wait_for_url("**w_keyword=1**")
    page.keyboard.press("Escape")
    until(page, lambda: "▲" in table_of(page) and table_of(page) != before)
    settle(page)
    after = table_of(page)

    other = visit(page.url.split("/", 3)[3])
    until(other, lambda: table_of(other) == after)
    assert other.inner_text(".ce-figures") == page.inner_text(".ce-figures")

    go_to(page, "Compare")
    # One click shows what was changed and what that did: the recorded answer beside the last try.
    assert "From A to B: " in page.inner_text("body")
    assert (
        "weights.keyword" in page.inner_text("body") or page.get_by_text("Settings that differ").count() > 0
    )

    go_to(page, "Judge")
    page.keyboard.press("3")
    page.get_by_text("Judged: 1 of", exact=False).first.wait_for()

    go_to(page, "Collections")
    page.get_by_text("Ask a new question").wait_for()
    settle(page)
    assert "What the sources of this trace offered" in page.inner_text("body")
