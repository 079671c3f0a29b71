"""A searcher of one's own, by the document's five methods, as sources: `search_memories`, `search_code`, ….

Each method is asked with the question and `limit`, and with what narrows it (`axis`, `domain`, `strategy`,
`outcome`) where it takes that. It may be a coroutine function. Read of what it gives, objects or mappings,
are `id` (or `sha`), `content` (or `text`, `message`), `score` (or `relevance`, `similarity`) and `metadata`;
other fields are metadata too.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.models.errors import SourceError
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.search.records import to_candidate

METHODS: Mapping[str, str] = {
    name: f"search_{name}" for name in ("memories", "code", "experiences", "values", "commits")
}
"""Context type → the method that searches it."""

_IDS, _TEXTS = ("id", "sha"), ("content", "text", "message")
_SCORES = ("score", "relevance", "similarity")
_NARROWING = {"domain": "domain", "strategy": "strategy", "outcome_status": "outcome"}
"""A record's metadata key → the method's own name for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodSource:
    """One method of a searcher as a source.

    Attributes:
        name: The context type, or the axis.
        method: What is asked.
        told: Further arguments of each call.
    """

    name: str
    method: Callable[..., Any]
    told: Mapping[str, Any] = field(default_factory=dict)

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return what the method gives for a request.

        Raises:
            SourceError: It gave something else than records.
        """
        answer, narrowed = self._ask(request)
        return self._read(asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer, narrowed)

    async def afetch(self, request: ContextRequest) -> list[Candidate]:
        """Do the same from a running event loop; a plain method runs in a thread."""
        if inspect.iscoroutinefunction(self.method):
            answer, narrowed = self._ask(request)
            return self._read(await answer, narrowed)
        return await asyncio.to_thread(self.fetch, request)

    def _ask(self, request: ContextRequest) -> tuple[Any, dict[str, Any]]:
        narrowed = _narrowed(request.where)
        asked = {_NARROWING[key]: value for key, value in narrowed.items()}
        limit = (request.limit or 0) + request.offset
        told = {"limit": limit, **self.told, **asked}
        return self.method(request.query, **_accepted(self.method, told)), narrowed

    def _read(self, answer: Any, narrowed: Mapping[str, Any]) -> list[Candidate]:
        if answer is None or isinstance(answer, (str, bytes)) or not isinstance(answer, Sequence):
            raise SourceError(f"{self.name}: expected a list of records, got {type(answer).__name__}")
        return [self._candidate(item, narrowed, 1 / (1 + place)) for place, item in enumerate(answer)]

    def _candidate(self, item: Any, narrowed: Mapping[str, Any], by_place: float) -> Candidate:
        if isinstance(item, Candidate):
            return item
        data = _fields(item)
        text = str(_first(data, _TEXTS) or "")
        score = _first(data, _SCORES)
        known = {*_IDS[:1], *_TEXTS[:2], *_SCORES, "metadata"}
        own = data.get("metadata")
        # What the method narrowed by, it need not tell again.
        metadata = {
            **narrowed,
            **{key: value for key, value in data.items() if key not in known and value is not None},
            **(own if isinstance(own, Mapping) else {}),
        }
        id_ = str(
            _first(data, _IDS) or hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
        )
        record = {"documents": text or str(metadata.get("goal") or id_), "metadatas": metadata}
        relevance = by_place if score is None else score
        return to_candidate(id_, record, source=self.name, relevance=relevance)


def has_methods(searcher: object) -> bool:
    """Return whether something has one of the document's five methods."""
    return any(callable(getattr(searcher, method, None)) for method in METHODS.values())


def stores_of(searcher: Any, axes: Sequence[str]) -> dict[str, Any]:
    """Return context type → source, of the methods that a searcher has; of experiences one for each axis."""
    found: dict[str, Any] = {}
    for name, method in METHODS.items():
        call = getattr(searcher, method, None)
        if not callable(call):
            continue
        if name == "experiences":
            found[name] = {
                axis: MethodSource(name=f"experiences:{axis}", method=call, told={"axis": axis})
                for axis in axes
            }
        else:
            found[name] = MethodSource(name=name, method=call)
    return found


async def _awaited(answer: Any) -> Any:
    return await answer


def _accepted(method: Callable[..., Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """Return of some arguments those that a method takes."""
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return dict(told)
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return dict(told)
    names = {parameter.name for parameter in parameters}
    return {name: value for name, value in told.items() if name in names}


def _narrowed(where: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a filter demands of the fields that a method can be narrowed by."""
    found: dict[str, Any] = {}
    for key, value in where.items():
        if key == "$and" and isinstance(value, (list, tuple)):
            for part in value:
                found |= _narrowed(part) if isinstance(part, Mapping) else {}
        elif key in _NARROWING and isinstance(value, str):
            found[key] = value
    return found


def _fields(item: Any) -> dict[str, Any]:
    if isinstance(item, Mapping):
        return dict(item)
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return {f.name: getattr(item, f.name) for f in dataclasses.fields(item)}
    if callable(getattr(item, "model_dump", None)):
        return dict(item.model_dump())
    if hasattr(item, "__dict__"):
        return dict(vars(item))
    raise SourceError(f"a searcher gave {type(item).__name__}, expected a record")


def _first(data: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((data[name] for name in names if data.get(name) is not None), None)
