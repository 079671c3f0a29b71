"""A trace for a bug report: every figure and fate, nothing of what was asked or found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_context_engine.config import CLASSES, FUNCTIONS
from langchain_context_engine.models.redact import redact
from langchain_context_engine.models.types import Key
from langchain_context_engine.pipeline.selection import SELECTIONS
from langchain_context_engine.ranking.identity import DEDUPE_RULES
from langchain_context_engine.rendering.citations import CITATION_STYLES
from langchain_context_engine.rendering.templates import TEMPLATES
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import Row


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
    keys: list[Key] = [candidate.key for candidate in context.candidates]
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
