"""Judgments in and out as JSON Lines: one a line, with who said it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from langchain_context_engine.journal.values import check_grade
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.types import Key

__all__ = ["Given", "judgments_as_lines", "read_judgments"]

Given = tuple[str, Key, str, int]
"""Question, candidate, who says so ("" for nobody named), grade 0–3."""


def judgments_as_lines(judgments: Iterable[Given]) -> bytes:
    """Return judgments as JSON Lines, in the order of questions, candidates and raters."""
    lines = [
        json.dumps(
            {
                "query": query,
                "source": key[0],
                "id": key[1],
                "grade": grade,
                **({"rater": rater} if rater else {}),
            },
            ensure_ascii=False,
        )
        for query, key, rater, grade in sorted(judgments)
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def read_judgments(data: bytes) -> list[Given]:
    """Return the judgments that `judgments_as_lines` gave; `rater` may be left out.

    Raises:
        ConfigError: A line is no judgment; the message names it.
    """
    found: list[Given] = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
            key = (str(item["source"]), str(item["id"]))
            found.append((str(item["query"]), key, str(item.get("rater") or ""), check_grade(item["grade"])))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ConfigError(
                f"line {number} is no judgment ({error});"
                ' one is {"query": …, "source": …, "id": …, "grade": 0 to 3}'
            ) from error
    return found
