"""What leaves the inspector: tables as CSV, an account as Markdown. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import pandas as pd

from langchain_context_engine import Context
from langchain_context_engine.trace.explain import Row


class File(NamedTuple):
    """What can be taken away: what it is called, its bytes, the name of the file."""

    label: str
    data: bytes
    name: str


_DANGEROUS = ("=", "+", "-", "@", "\t", "\r")


def rows_as_csv(rows: Iterable[Row]) -> bytes:
    """Return candidates with their fates and scores as CSV, one flat row each."""
    return as_csv(
        [
            {
                "rank": row.place,
                "place": row.label,
                "source": row.key[0],
                "id": row.key[1],
                "verdict": str(row.verdict),
                "reason": str(row.reason),
                "why": row.sentence,
                "score": row.score,
                "tokens": row.tokens,
                "citation": row.citation,
                **{f"adds {name}": value for name, value in row.contributions.items()},
                "text": row.text,
            }
            for row in rows
        ]
    )


def as_csv(table: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as CSV for a spreadsheet, in which no cell can become a formula."""
    safe = [{name: _cell(value) for name, value in row.items()} for row in table]
    return pd.DataFrame(safe).to_csv(index=False, lineterminator="\r\n").encode("utf-8-sig")


def _cell(value: Any) -> str:
    if isinstance(value, datetime):
        value = value.isoformat()
    elif isinstance(value, Mapping | list | tuple):
        value = json.dumps(
            dict(value) if isinstance(value, Mapping) else value, ensure_ascii=False, default=str
        )
    # A spreadsheet would run a text that begins so; the apostrophe makes it a text.
    is_run = isinstance(value, str) and value.startswith(_DANGEROUS)
    return "" if value is None else f"'{value}" if is_run else str(value)


def as_markdown(context: Context) -> str:
    """Return an account of a context for an issue or a message: every fate, and the text, each in a fence."""
    told = context.explain()
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", told + context.text)), default=0))
    parts = (
        f"# {_plain(context.request.query)}",
        "",
        fence,
        told,
        fence,
        "",
        f"{fence}text",
        context.text,
        fence,
    )
    return "\n".join((*parts, ""))


def _plain(text: str) -> str:
    """Return a text that stays one line and one cell, whatever it contains."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+-!|$~" else c for c in " ".join(str(text).split()))
