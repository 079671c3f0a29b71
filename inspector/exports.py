"""What leaves the inspector: tables as CSV, an account as Markdown. Pure."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_context_engine import Context
from langchain_context_engine.trace.explain import Row

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r")


def rows_for_export(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return candidates with their fates and scores, one flat row each."""
    return [
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


def as_csv(table: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as CSV for a spreadsheet, in which no cell can become a formula."""
    columns = list(dict.fromkeys(name for row in table for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    for row in table:
        writer.writerow([_cell(row.get(name)) for name in columns])
    return out.getvalue().encode("utf-8-sig")


def _cell(value: Any) -> str:
    # A spreadsheet would run a text that begins so; the apostrophe makes it a text.
    is_run = isinstance(value, str) and value.startswith(_DANGEROUS)
    return "" if value is None else f"'{value}" if is_run else str(value)


def as_markdown(context: Context, rows: Sequence[Row]) -> str:
    """Return an account of a context for an issue or a message: figures, fates, and the text in a fence."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", context.text)), default=0))
    lines = [
        f"# {_plain(context.request.query)}",
        "",
        (
            f"{context.tokens} of {context.budget} tokens, {len(context.passages)} passages, "
            f"{len(rows)} candidates, {context.status}."
        ),
        "",
        "| # | source | place | score | fate |",
        "| --: | --- | --- | --: | --- |",
    ]
    for row in rows:
        score = "" if row.score is None else f"{row.score:.3f}"
        cells = (row.place or "", _plain(row.key[0]), _plain(row.label), score, _plain(row.sentence))
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    warnings = [f"- {_plain(warning)}" for warning in context.warnings]
    return "\n".join([*lines, "", *warnings, "", f"{fence}text", context.text, fence, ""])


def _plain(text: str) -> str:
    """Return a text that stays one line and one cell, whatever it contains."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+-!|$~" else c for c in " ".join(str(text).split()))
