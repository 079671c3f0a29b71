"""How many tokens more would let a candidate in: told only where a replay proves it."""

from __future__ import annotations

from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.types import Key
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.traces import replay

_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
"""Multiples of what it needs; getting in is not monotone in the budget, so several are tried."""

_HALVINGS = 10


def tokens_more(context: Context, key: Key, needed: int) -> int | None:
    """Return a number of tokens with which, added to the budget, a candidate is in; None where none is found.

    Seen in a replay. Often not the smallest one: a larger budget changes what is worth most.

    Args:
        context: A context, or a trace read back, whose settings are at hand.
        key: A candidate that had no room.
        needed: Tokens that it needs.
    """
    fails = 0
    for step in _STEPS:
        more = max(fails + 1, round(step * needed))
        if not _is_in(context, key, more):
            fails = more
            continue
        for _ in range(_HALVINGS):
            middle = (fails + more) // 2
            if middle in {fails, more}:
                break
            fails, more = (fails, middle) if _is_in(context, key, middle) else (middle, more)
        return more
    return None


def _is_in(context: Context, key: Key, more: int) -> bool:
    try:
        again = replay(context, budget=context.budget + more)
    except ConfigError:
        # A part of the settings was a function of the caller's: nothing can be proved.
        return False
    return any(passage.key == key for passage in again.passages)
