"""How often something was used, also in the moment in which that is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from langchain_context_engine.journal.values import Feedback
from langchain_context_engine.journal.writer import BackgroundWriter
from langchain_context_engine.models.types import Key

__all__ = ["count_uses", "usage_metadata"]

_LOOKS = 5


def count_uses(
    keys: Sequence[Key],
    read: Callable[[Sequence[Key]], Mapping[Key, int]],
    writer: BackgroundWriter,
) -> Mapping[Key, int]:
    """Return what is stored with what waits to be written; never waiting for a write.

    Args:
        keys: What is asked about.
        read: Gives what is stored.
        writer: Has what waits: each use in a `Counter` of keys.
    """
    # A batch that was written between the two looks would be missed, so they are taken again.
    for _ in range(_LOOKS):
        before, _, _ = writer.pending()
        stored = read(keys)
        written, totals, waiting = writer.pending()
        if written == before:
            break
    uses = [item for item in waiting if isinstance(item, Counter)]
    # Counts only grow, so of a batch that is just being written the larger one is what it leads to.
    return {
        key: max(count, (totals or {}).get(key, 0)) + sum(each[key] for each in uses)
        for key, count in stored.items()
    }


def usage_metadata(
    uses: Mapping[Key, int], opinions: Mapping[Key, Feedback]
) -> Mapping[Key, Mapping[str, float]]:
    """Return what the signal `usage` reads, for the keys that were used or judged useful or not."""
    return {
        key: {"usage_count": float(uses[key]), "usage_feedback": opinions[key].mean}
        for key in uses
        if uses[key] or opinions[key] != Feedback()
    }
