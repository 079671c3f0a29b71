"""Threads that read in the background, and end before the interpreter does: see `stages.threads`."""

from __future__ import annotations

from langchain_context_engine.models.errors import SourceError
from langchain_context_engine.pipeline.threads import is_awaited, is_ending, linger, rest, start

__all__ = ["is_ending", "rest", "start", "stay_at_the_end"]


def stay_at_the_end() -> None:
    """Keep a daemon thread from going on where the program ends: it would meet the end in native code.

    One that the end waits for is sent home at once; any other stays here.

    Raises:
        SourceError: The program ends and waits for this thread.
    """
    if is_ending() and is_awaited():
        msg = "the program ends"
        raise SourceError(msg)
    linger()
