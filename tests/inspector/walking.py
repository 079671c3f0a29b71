"""Walking the inspector in a real browser: the servers that are walked through, and the steps of a walk."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from inspector.wording import option_of
from langchain_context_engine import Journal
from langchain_context_engine.cli.inspect import app_path, inspect_command, inspect_environment
from tests.builders import a_free_port
from tests.conftest import ROOT

SETTLED = """() => {
    const app = document.querySelector('[data-testid=stApp]');
    const main = document.querySelector('[data-testid=stMainBlockContainer]');
    const isSettled = app && main && main.innerText.length > 20
        && app.dataset.testScriptState === 'notRunning' && app.dataset.testConnectionState === 'CONNECTED'
        && !document.querySelector('[data-stale=true], [data-testid=stSkeleton]');
    if (!isSettled) window.settledSince = null;
    else window.settledSince ??= performance.now();
    return isSettled && performance.now() - window.settledSince > 250;
}"""
"""A page that has been at rest for a quarter of a second: what was pressed is under way by then."""
SEE_CHOSEN = """() => addEventListener('keydown', () => {
    window.chosen = document.querySelector('tr[aria-selected=true]').dataset.id;
}, true)"""


def answers(url: str) -> bool:
    """Return whether an inspector answers at an address."""
    with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/_stcore/health", timeout=2):
        return True
    return False


def wait_until_it_answers(url: str, process: Any, seconds: float = 100) -> None:
    """Wait for an inspector; fail where its process ends before."""
    until = time.monotonic() + seconds
    while not answers(url):
        assert process.poll() is None, f"it ended with {process.returncode} before it answered"
        assert time.monotonic() < until, f"no answer after {seconds} s"
        time.sleep(0.2)


@contextlib.contextmanager
def running(command: Sequence[str], url: str, **settings: Any) -> Iterator[Any]:
    """Start an inspector, wait until it answers, and end it: by its own process, and nothing answers after."""
    process = subprocess.Popen(command, **{"stdout": subprocess.DEVNULL, **settings})
    try:
        wait_until_it_answers(url, process)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
    until = time.monotonic() + 10
    while answers(url) and time.monotonic() < until:
        time.sleep(0.2)
    assert not answers(url), "it ended without its server"


@contextlib.contextmanager
def launched() -> Iterator[str]:
    """Start the inspector as a program that calls `inspect` does, and give its address."""
    url = f"http://127.0.0.1:{(port := a_free_port())}"
    code = "import sys; from langchain_context_engine.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "inspect", "--port", str(port), "--no-browser"]
    with running(command, url, cwd=ROOT):
        yield url


@contextlib.contextmanager
def inspecting(journal: Any) -> Iterator[str]:
    """Serve the inspector of a journal, and give its address."""
    url = f"http://127.0.0.1:{(port := a_free_port())}"
    command = inspect_command(app_path(), port=port, opens_browser=False)
    with running(command, url, env=inspect_environment(journal)):
        yield url


def settle(page: Any, *, expects_a_card: bool = False) -> None:
    """Wait until a page is drawn; unless one is expected, it shows no error."""
    page.wait_for_selector("[data-testid=stMainBlockContainer]")
    page.evaluate("() => { window.settledSince = null; }")
    page.wait_for_function(SETTLED)
    assert page.locator("[data-testid=stException]").count() == 0, page.inner_text("body")
    if not expects_a_card:
        assert "This did not work" not in page.inner_text("body"), page.inner_text("body")


def go_to(page: Any, name: str) -> None:
    """Go to another page by its name on top."""
    page.get_by_role("link", name=name, exact=True).first.click()
    page.wait_for_url(lambda url: f"/{name.lower()}" in url)
    settle(page)


def row(page: Any, name: str) -> Any:
    """Return a row of a table by its id."""
    return page.locator(f".ce-grid tr[data-id={json.dumps(name)}]")


def choose_row(page: Any, number: int) -> None:
    """Choose a row of the first table by a click in the middle of it."""
    page.locator(".ce-grid").first.locator("tr[data-id]").nth(number).locator("td").nth(2).click()


def table_of(page: Any) -> str:
    """Return what the first table shows."""
    return str(page.locator(".ce-grid").first.inner_text())


def until(page: Any, is_so: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for what is expected, looking again and again: not for the page to be quiet."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, page.inner_text("body")
        page.wait_for_timeout(50)


def clicks(page: Any) -> int:
    """Return how often a person clicked since the page was opened, over all its pages."""
    return int(page.evaluate("() => +(sessionStorage.clicks || 0)"))


def is_on_screen(page: Any, place: Any) -> bool:
    """Return whether all of an element is in the window, without scrolling."""
    box, size = place.bounding_box(), page.viewport_size
    is_inside = box and box["x"] >= 0 and box["y"] >= 0
    return bool(
        is_inside and box["x"] + box["width"] <= size["width"] and box["y"] + box["height"] <= size["height"]
    )


def is_dark(page: Any) -> bool:
    """Return whether a page is drawn on a dark ground."""
    ground = page.evaluate("() => getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    return sum(int(part) for part in ground.removeprefix("rgb(").rstrip(")").split(",")[:3]) < 384


def turn(page: Any, number: int, key: str, times: int) -> None:
    """Turn a slider by a key."""
    page.locator("[data-testid=stSlider] input[type=range]").nth(number).focus()
    for _ in range(times):
        page.keyboard.press(key)


def grades_of(folder: Any, query: str) -> dict[str, int]:
    """Return the grades of a question in a folder's journal, by the ids of the table's rows."""
    with Journal(folder / "j.db", read_only=True) as journal:
        return {option_of(j.key): j.grade for j in journal.judgments(query)}


# The first frame in which the table of candidates has other rows than when the key was pressed.
WATCHED_TURN = """() => {
    const rows = () => document.querySelector('.ce-grid tbody')?.textContent;
    window.start = window.turned = null;
    window.addEventListener('keydown', () => {
        const before = rows();
        window.start = performance.now();
        const look = () => {
            if (rows() !== before) window.turned = performance.now() - window.start;
            else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
    }, {once: true, capture: true});
}"""


def milliseconds_of_a_turn(page: Any, key: str = "ArrowLeft") -> float:
    """Turn the first slider by a key, and return how long the table took to show another order."""
    page.wait_for_timeout(400)
    page.evaluate(WATCHED_TURN)
    page.locator("[data-testid=stSlider] input[type=range]").first.press(key)
    page.wait_for_function("() => window.turned")
    return float(page.evaluate("() => window.turned"))
