"""Questions with known answers: what an evaluation asks, and the JSON Lines they are kept in."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.request import ContextRequest

__all__ = ["Question", "load_questions"]

_REQUEST_FIELDS = frozenset(f.name for f in dataclasses.fields(ContextRequest)) - {"query", "budget"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question and what its context must contain.

    Attributes:
        id: Unique among the questions.
        query: The question.
        gold: Ids of the records that answer it.
        contents: Texts of gold records, where they are known; the others are looked up.
        texts: Whole texts that answer it, each a piece of gold.
        spans: Exact pieces of text that answer it. Where there are spans, they alone are the
            evidence; `gold` is then used for the ranking only.
        equivalents: Id of a gold record → ids of others that say the same.
        category: For figures by category.
        fields: Further fields of the request: scope, where, kinds, sources, until, now, …
        is_unanswerable: Nothing answers it; it is left out of recall.
    """

    id: str
    query: str
    gold: tuple[str, ...] = ()
    contents: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    spans: tuple[str, ...] = ()
    equivalents: Mapping[str, Sequence[str]] = field(default_factory=dict)
    category: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    is_unanswerable: bool = False

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], number: int = 1) -> Question:
        """Read one line of a question file.

        Known are `query`; `id` (by default its number); `gold`, a list of ids or of objects with an
        `id`, a `text` or both; `gold_texts`; `gold_spans`; `gold_equivalents`; `category`;
        `unanswerable`; `as_of`, which sets `until` and `now`; and the fields of a request (`scope`,
        `where`, `kinds`, `sources`, …). Other names are left alone.

        Raises:
            ConfigError: There is no query, or a field is of another type.

        Example:
            >>> question = Question.from_dict({"query": "Who signs?", "gold_spans": ["Ann signs"]})
            >>> question.id, question.spans
            ('1', ('Ann signs',))
        """
        if not isinstance(data, Mapping) or not isinstance(data.get("query"), str):
            msg = f'question {number} must be an object with a "query", got {data!r:.80}'
            raise ConfigError(msg)
        golds = [_gold(item, number) for item in _list(data, "gold", number)]
        fields = {name: data[name] for name in _REQUEST_FIELDS & set(data)}
        if data.get("as_of"):
            fields = {"until": data["as_of"], "now": data["as_of"], **fields}
        equivalents = data.get("gold_equivalents") or {}
        if not isinstance(equivalents, Mapping):
            msg = f"gold_equivalents of question {number} must map ids to lists of ids"
            raise ConfigError(msg)
        return cls(
            id=str(data.get("id", number)),
            query=data["query"],
            gold=tuple(str(item["id"]) for item in golds if "id" in item),
            contents={str(item["id"]): str(item["text"]) for item in golds if {"id", "text"} <= set(item)},
            texts=(
                *(str(item["text"]) for item in golds if "id" not in item),
                *_strings(data, "gold_texts", number),
            ),
            spans=tuple(_strings(data, "gold_spans", number)),
            equivalents={str(name): tuple(map(str, ids)) for name, ids in equivalents.items()},
            category=str(data.get("category") or ""),
            fields=fields,
            is_unanswerable=bool(data.get("unanswerable")),
        )


def load_questions(path: str | os.PathLike[str]) -> list[Question]:
    """Return the questions of a JSON Lines file, in order; empty lines are skipped.

    Raises:
        ConfigError: The file cannot be read, a line is no question, or an id comes twice; the
            message names the line.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"questions cannot be read from {path}: {error}"
        raise ConfigError(msg) from error
    questions = list(_questions(text.split("\n"), path))
    if not questions:
        msg = f'{path} has no question; a line is {{"query": "…", "gold_spans": ["…"]}}'
        raise ConfigError(msg)
    return questions


def _questions(lines: Sequence[str], path: str | os.PathLike[str]) -> Iterable[Question]:
    seen = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            question = Question.from_dict(json.loads(line), number)
        except ValueError as error:
            msg = f"{path}, line {number}: {error}"
            raise ConfigError(msg) from error
        if question.id in seen:
            msg = f"{path}, line {number}: id {question.id!r} comes twice"
            raise ConfigError(msg)
        seen.add(question.id)
        yield question


def _list(data: Mapping[str, Any], name: str, number: int) -> list[Any]:
    value = data.get(name) or []
    if not isinstance(value, (list, tuple)):
        msg = f"{name} of question {number} must be a list, got {value!r:.80}"
        raise ConfigError(msg)
    return list(value)


def _strings(data: Mapping[str, Any], name: str, number: int) -> list[str]:
    values = _list(data, name, number)
    if not all(isinstance(value, str) for value in values):
        msg = f"{name} of question {number} must be a list of strings"
        raise ConfigError(msg)
    return values


def _gold(item: Any, number: int) -> Mapping[str, Any]:
    if isinstance(item, (str, int)):
        return {"id": item}
    if isinstance(item, Mapping) and ("id" in item or "text" in item):
        return item
    msg = f"gold of question {number} must be ids, or objects with an id or a text, got {item!r:.80}"
    raise ConfigError(msg)
