"""Finding a candidate again among those of an answer: by what became of it, and by its words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_context_engine.models.types import Key, Verdict
from langchain_context_engine.trace.explain import Row
from langchain_context_engine.trace.spending import ROOM

__all__ = ["SHOWN", "meant_by", "rows_like"]

SHOWN = ("All", "In the context", "Near misses", "Left out")
"""What rows can be narrowed to: near misses lacked nothing but room."""


def rows_like(
    rows: Sequence[Row], shown: str = "All", search: str = "", where: Mapping[Key, str] | None = None
) -> list[Row]:
    """Return the rows of one kind of `SHOWN` that hold every word searched, whatever its case.

    Args:
        rows: From `explain.rows`.
        shown: The kind.
        search: Words of the text, the place, the title, the id or the source.
        where: Where each is from.
    """
    words = search.casefold().split()
    return [row for row in rows if _is_shown(row, shown) and _holds(row, words, where or {})]


def meant_by(rows: Sequence[Row], search: str, where: Mapping[Key, str] | None = None) -> Row | None:
    """Return what a person means who asks why something is missing: the best ranked that was left out.

    Where all that is like it stands in the context, the best ranked of that; None where nothing is like it
    or nothing is searched.

    Args:
        rows: From `explain.rows`, best ranked first.
        search: Words of the text, the place, the title, the id or the source.
        where: Where each is from.
    """
    words = search.casefold().split()
    like = [row for row in rows if words and _holds(row, words, where or {})]
    return next((row for row in like if row.verdict is Verdict.DROPPED), like[0] if like else None)


def _is_shown(row: Row, shown: str) -> bool:
    if shown == "In the context":
        return row.verdict is Verdict.KEPT
    if shown == "Near misses":
        return row.reason in ROOM
    return shown != "Left out" or row.verdict is Verdict.DROPPED


def _holds(row: Row, words: Sequence[str], where: Mapping[Key, str]) -> bool:
    if not words:
        return True
    text = f"{row.key[0]} {row.key[1]} {where.get(row.key, '')} {row.title} {row.text}".casefold()
    return all(word in text for word in words)
