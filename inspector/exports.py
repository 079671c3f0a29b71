"""What leaves the inspector: tables as CSV, an account as Markdown, a trace without its texts. Pure."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_context_engine import Context
from langchain_context_engine.config import CLASSES, FUNCTIONS
from langchain_context_engine.models.redact import redact
from langchain_context_engine.pipeline.select import SELECTIONS
from langchain_context_engine.ranking.identity import DEDUPE_RULES
from langchain_context_engine.rendering.citations import CITATION_STYLES
from langchain_context_engine.rendering.templates import TEMPLATES
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
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        value = ", ".join(map(str, value))
    text = str(value)
    # A spreadsheet would run a text that begins so; the apostrophe makes it a text.
    return f"'{text}" if isinstance(value, str) and text.startswith(_DANGEROUS) else text


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


def redacted_bundle(context: Context, rows: Sequence[Row]) -> bytes:
    """Return a JSON bundle for a bug report: every figure and fate, no text, no name, no value of a record.

    Ids and sources become short digests that are equal where they were equal. Warnings are passed through
    `redact`, and the settings tell their names and numbers; a text in them becomes its length.
    """
    names: dict[str, str] = {}
    bundle = {
        "kind": "redacted trace",
        "question_characters": len(context.request.query),
        "status": str(context.status),
        "tokens": context.tokens,
        "budget": context.budget,
        "timings": {stage: round(value, 2) for stage, value in context.timings.items()},
        "warnings": [_without(redact(warning), context) for warning in context.warnings],
        "settings": _numbers(context.settings),
        "candidates": [
            {
                "source": _digest(row.key[0], names),
                "id": _digest("/".join(row.key), names),
                "place": row.place,
                "score": row.score,
                "contributions": dict(row.contributions),
                "verdict": str(row.verdict),
                "reason": str(row.reason),
                "tokens": row.tokens,
                "characters": len(row.text),
                "details": {n: v for n, v in row.details.items() if isinstance(v, (int, float, bool))},
            }
            for row in rows
        ],
    }
    return json.dumps(bundle, indent=1, ensure_ascii=False, sort_keys=True).encode()


def _digest(name: str, names: dict[str, str]) -> str:
    # Numbered, not hashed alone: a hash of a guessable name could be guessed.
    return names.setdefault(hashlib.blake2b(name.encode(), digest_size=16).hexdigest(), f"n{len(names) + 1}")


def _without(text: str, context: Context) -> str:
    for key in sorted(_names(context), key=len, reverse=True):
        text = text.replace(key, "…")
    return text


def _names(context: Context) -> set[str]:
    keys = [candidate.key for candidate in context.candidates]
    origins = [name for candidate in context.candidates for name in candidate.provenance]
    return {part for key in keys for part in key if part} | {name for name in origins if name}


_WORDS = frozenset(
    {"auto", "score", "relevance", "source", "kind", "keep", "empty"}
    | {*SELECTIONS, *TEMPLATES, *CLASSES, *FUNCTIONS, *DEDUPE_RULES, *CITATION_STYLES}
)
"""The engine's own words for a setting."""


def _numbers(value: Any) -> Any:
    """Return settings without free text: numbers and the engine's own words stay."""
    if isinstance(value, Mapping):
        return {str(name): _numbers(item) for name, item in value.items() if name not in {"shares", "titles"}}
    if isinstance(value, (list, tuple)):
        return [_numbers(item) for item in value]
    if isinstance(value, str) and value not in _WORDS:
        return f"text of {len(value)} characters"
    return value
