"""A real browser for the inspector, and visits of its pages that notice whatever goes wrong."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from tests.inspector.walking import settle

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser")) if p), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-software-rasterizer"]
"""Nothing is drawn through a graphics card that is not there: to imitate one costs a fifth of the walk."""
COUNT_CLICKS = """document.addEventListener('click', (event) => {
    if (event.isTrusted) sessionStorage.clicks = +(sessionStorage.clicks || 0) + 1;
}, true)"""
"""A click that meets what moved in between Playwright stops at the window and tries again: it is no second one."""
PATIENCE = 60_000
"""Milliseconds that a step may take on a machine that is busy with other things."""
VIEWPORT = {"width": 1280, "height": 800}
_KEPT: WeakKeyDictionary[Any, dict[str, list[Any]]] = WeakKeyDictionary()
"""The pages of each browser by their settings: one that was read once has the inspector's scripts compiled."""


@contextlib.contextmanager
def a_browser() -> Iterator[Any]:
    """Start Debian's Chromium."""
    if CHROMIUM is None:
        pytest.skip("no chromium is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@contextlib.contextmanager
def visits(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Open pages as a new person each time; afterwards nothing may have gone wrong in any.

    A page is a session of its own to the inspector, and knows nothing of an earlier visit. The browser keeps it
    for the next: to compile the inspector's scripts anew takes two thirds of what opening one takes.
    """
    wrong: list[str] = []
    listeners = _listeners(wrong, address)
    visited: dict[Any, dict[str, Any]] = {}

    def open_page(
        path: str = "", *, expects_a_card: bool = False, instead_of: Any = None, **settings: Any
    ) -> Any:
        if instead_of is not None:
            _leave(instead_of, visited.pop(instead_of), listeners)
        page = _a_page(browser, settings, taken=visited)
        visited[page] = settings
        for event, listener in listeners.items():
            page.on(event, listener)
        page.goto(f"{address}/{path}")
        settle(page, expects_a_card=expects_a_card)
        return page

    yield open_page
    for page, settings in visited.items():
        if not page.is_closed():
            _leave(page, settings, listeners)
    assert wrong == [], wrong


def _listeners(wrong: list[str], address: str) -> dict[str, Callable[[Any], None]]:
    """Return what listens to a page, by event, and notes what goes wrong."""

    def note(is_so: bool, told: str) -> None:
        if is_so:
            wrong.append(told)

    return {
        "console": lambda m: note(_is_error(m), f"console: {m.text} {m.location}"),
        "pageerror": lambda error: note(True, f"exception: {error}"),
        "request": lambda request: note(_leaves(request.url, address), f"request: {request.url}"),
    }


def _a_page(browser: Any, settings: dict[str, Any], *, taken: Any) -> Any:
    """Return a page of some settings where nobody is, made where there is none."""
    pages = _KEPT.setdefault(browser, {}).setdefault(repr(settings), [])
    for page in pages:
        if page not in taken and not page.is_closed():
            return page
    context = pages[0].context if pages else browser.new_context(**{"viewport": VIEWPORT, **settings})
    page = context.new_page()
    page.add_init_script(COUNT_CLICKS)
    page.set_default_timeout(PATIENCE)
    pages.append(page)
    return page


def _leave(page: Any, settings: dict[str, Any], listeners: dict[str, Callable[[Any], None]]) -> None:
    """Leave a page as it was before anybody came."""
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    page.goto("about:blank")
    page.emulate_media(color_scheme=settings.get("color_scheme", "light"))
    page.set_viewport_size(settings.get("viewport", VIEWPORT))


def _is_error(message: Any) -> bool:
    # Streamlit looks for its server below the page's own path first, and finds it at the root.
    is_probe = "/_stcore/" in message.location.get("url", "") and "404" in message.text
    return message.type == "error" and not is_probe


def _leaves(url: str, address: str) -> bool:
    return not url.startswith((address, address.replace("http", "ws"), "data:", "blob:"))
