"""What a person sees at once: on a laptop, on a large screen, on a phone."""

from __future__ import annotations

import pytest

from langchain_context_engine import Journal
from tests.builders import a_candidate
from tests.inspector.builders import a_context
from tests.inspector.walking import (
    inspecting,
    is_on_screen,
    settle,
    until,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

LAPTOP, LARGE, PHONE = ({"width": w, "height": h} for w, h in ((1280, 800), (1920, 1080), (390, 844)))
WEIGHTED = "trace=sample-weighted"
COMPARED = "compare?compare=sample-weighted&compare=sample-tight-budget"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("screens")


@pytest.fixture
def places(folder):
    """An answer whose places are longer than a column."""
    file = "docs/of/a/deep/folder/long-name"
    lines = {"path": f"{file}.py", "start_line": 345, "end_line": 360, "symbol": "Engine.build"}
    headings = {"path": f"{file}.md", "headings": "0.13.0 › Changes of the rendering › Removed"}
    found = [
        a_candidate(id=name, text=f"{name} rope", metadata=given)
        for name, given in (("a", lines), ("b", headings))
    ]
    with Journal(folder / "j.db") as journal:
        return journal.record(a_context(found))


@pytest.fixture(scope="module")
def address(folder):
    path = folder / "j.db"
    with Journal(path) as journal:
        for number in range(60):
            journal.record(a_context(query=f"question {number} about the invoices of the month"))
    with inspecting(path) as url:
        yield url


def test_what_colours_mean_and_the_pages_of_a_list_stand_on_the_screen_whatever_its_size(visit):
    """Both stood below the end of a table that ended with the window."""
    page = None
    for path, place in (
        (f"explain?{WEIGHTED}", ".ce-keys"),
        ("", ".st-key-page"),
        (COMPARED, ".ce-sides > :last-child"),
    ):
        page = visit(path, instead_of=page)
        for size in (LAPTOP, LARGE, LAPTOP):
            page.set_viewport_size(size)
            until(page, lambda page=page, place=place: is_on_screen(page, page.locator(place)))


def test_what_is_ticked_quickly_and_on_two_pages_of_the_list_is_ticked_once_each(visit):
    """What was ticked on another page counted twice, and of ticks within one run of the page some were lost."""
    page = visit()
    page.evaluate("""async () => {
        window.first = document.querySelector('.ce-grid [type=checkbox]');
        for (let number = 0; number < 4; number += 1) {
            document.querySelectorAll('.ce-grid [type=checkbox]')[number].click();
            await new Promise((resolve) => setTimeout(resolve, 90));
        }
    }""")
    page.get_by_text("Compare the 4 ticked").wait_for()
    settle(page)
    # A box that was drawn anew in the middle of a press would not be ticked by it.
    assert page.evaluate("() => window.first.isConnected && window.first.checked")
    page.locator(".st-key-page").get_by_text("2", exact=True).click()
    row_of = page.locator(".ce-grid tr[data-id]", has_text="question 3 about")
    row_of.get_by_role("checkbox").click()
    page.get_by_text("Compare the 5 ticked").wait_for()
    row_of.get_by_role("checkbox").click()
    page.get_by_text("Compare the 4 ticked").wait_for()


def test_explain_tells_the_score_of_what_is_in_and_on_a_phone_the_candidate_below_the_table(visit):
    page = visit(f"explain?{WEIGHTED}")
    until(page, lambda: is_on_screen(page, page.locator(".ce-tree")))
    page.set_viewport_size(PHONE)
    until(page, lambda: is_on_screen(page, page.locator(".ce-fate")))


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_of_a_place_its_file_and_lines_stand_in_every_table_whatever_comes_after(visit, places, size):
    """The file's name was what was cut; a phone had no place at all."""
    page = None
    for path in (
        f"explain?trace={places}",
        f"tune?trace={places}",
        f"compare?compare={places}&compare=sample-latest",
    ):
        page = visit(path, instead_of=page, viewport=size)
        seen = page.locator(".ce-place").filter(has_text="long-name")
        seen.first.wait_for()
        parts = [[part.inner_text() for part in one.locator("span").all()] for one in seen.all()]
        assert sorted(parts) == [
            ["long-name.md", "", " › Removed", ""],
            ["long-name.py", ":345-360", " · Engine.build", ""],
        ]
        # Of two fates beside it on a phone not even the lines have room.
        for name in ("1",) if size == PHONE else ("1", "2"):
            parts_seen = seen.locator(f"span:nth-child({name})")
            shown = parts_seen.evaluate_all("all => all.map((one) => [one.clientWidth, one.scrollWidth])")
            assert all(width >= whole for width, whole in shown), (path, shown)
        box = seen.first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= size["width"]


def test_the_places_of_a_pair_stand_beside_each_other(visit, folder):
    """Long ones were printed over each other."""
    found = [a_candidate(id=n, text="The same of both.", metadata={"path": f"{n * 99}.md"}) for n in "ab"]
    with Journal(folder / "j.db") as journal:
        trace = journal.record(a_context(found))
    page = visit(f"explain?trace={trace}&candidate=memories%2Fb")
    side = page.locator(".ce-pair > div")
    side.first.wait_for()
    assert side.evaluate_all("all => all.map((one) => one.scrollWidth > one.clientWidth)") == [False, False]


def test_a_phone_shows_the_words_of_a_table_and_of_two_answers_their_fates(visit):
    """The column that takes what is left had nothing left: a list of questions without a question."""
    page = None
    for path, name in (("", "Question"), (f"explain?{WEIGHTED}", "Place"), (COMPARED, "B fate")):
        page = visit(path, instead_of=page, viewport=PHONE)
        head = page.locator(".ce-grid th", has_text=name).first
        head.wait_for()
        assert head.bounding_box()["width"] >= 100
        assert head.bounding_box()["x"] + head.bounding_box()["width"] <= PHONE["width"]
