"""Keeping what pages import out of the garbage collector's way."""

from __future__ import annotations

import gc

__all__ = ["set_aside"]

_DRAWN: set[str] = set()


def set_aside(page: str) -> None:
    """Exempt everything that is alive from garbage collection, once a page and process.

    Streamlit collects after every run, and the answer to a turned slider waits for that: over all objects
    of the libraries that a page imports it takes longer than the replay itself.

    Args:
        page: The page that was just drawn, so that all it imports is there.
    """
    if page not in _DRAWN:
        _DRAWN.add(page)
        gc.collect()
        gc.freeze()
