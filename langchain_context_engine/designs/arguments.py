"""What designs are given: typed settings, checked options, stores and functions as sources."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypedDict, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from langchain_context_engine.errors import SourceError
from langchain_context_engine.models.freeze import as_config_error
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.search.records import to_candidate
from langchain_context_engine.sources.chroma import ChromaSource
from langchain_context_engine.sources.given import digest

if TYPE_CHECKING:
    from typing import TypeAlias

    from chromadb import Collection
    from langchain_core.vectorstores import VectorStore

    from langchain_context_engine.models.budget import Budget
    from langchain_context_engine.models.source import Source

    Store: TypeAlias = Collection | VectorStore | Source
    """A Chroma collection, a `langchain_chroma.Chroma`, or a source of one's own."""

P = ParamSpec("P")
T = TypeVar("T")

_IDS = ("evidence_item_id", "id", "sha")
_TEXTS = ("content", "text", "message")
_SCORES = ("score", "relevance", "similarity")
_READ = {"evidence_item_id", "id", "content", "text", "metadata", *_SCORES}


class EngineSettings(TypedDict, total=False):
    """What every design passes on to its engine, by name: see `EngineConfig` and `ContextEngine`."""

    budget: int | Budget | None
    weights: Mapping[str, float] | None
    signals: Mapping[str, Any]
    template: Any
    templates: Mapping[str, Any]
    tokenizer: Any
    scope_keys: Sequence[str] | str
    timeout_seconds: float
    limit: int | None
    min_score: float | None
    thresholds: Mapping[str, Any]
    truncator: Any
    compactor: Any
    selection: Literal["adaptive", "score", "density", "knapsack"]
    diversity: Any
    order: Any
    dedupe_threshold: float | None
    dedupe_rules: Sequence[Any]
    dedupe_key: str | None
    fusion: Any
    unit_value: Any
    citations: Any
    group_by: Literal["source", "kind"]
    titles: Mapping[str, str]
    empty_section: str
    notes: Mapping[str, str]
    closing: str
    uncounted: Sequence[str]
    counted_by: str
    shown_score: Literal["score", "relevance"]
    doubtful_below: float
    unsure_below: float
    when_doubtful: Literal["keep", "empty"]
    index_dir: str | Path | None
    rerank: Any
    rerank_best: int
    rerank_seconds: float


class Checked(BaseModel):
    """Options that are checked when they are made.

    Raises:
        ConfigError: A name is unknown or a value wrong; the message names it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise as_config_error([{**found} for found in error.errors()]) from None


def off_loop(call: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return a call for a running event loop: it runs in a thread, with the caller's context variables."""

    @functools.wraps(call)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(call, *args, **kwargs)

    return run


def as_source(store: Any, embeddings: Any, fields: Mapping[str, str] | None) -> Any:
    """Return a source as it is, and a collection or vector store as one searched by similarity alone."""
    if any(callable(getattr(store, name, None)) for name in ("fetch", "afetch")):
        return store
    return ChromaSource(store, embeddings=embeddings, hybrid=False, fields=fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSource:
    """A function as a source, its answer given at once or as a coroutine.

    A record of an answer is a text, a Document, a candidate, a mapping or an object of fields. Read are `id`
    (`evidence_item_id`, `sha`), `content` (`text`, `message`), `score` (`relevance`, `similarity`; by rank
    where it tells none) and `metadata`; other fields are metadata too.

    Attributes:
        name: How people know it.
        ask: The function.
        records: Gives the records of an answer.
        known: Gives what is known of the records of a request beside what they say.
    """

    name: str
    ask: Callable[[ContextRequest], Any]
    records: Callable[[Any], Sequence[Any]]
    known: Callable[[ContextRequest], Mapping[str, Any]] | None = None

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return what the function gives for a request."""
        answer = self.ask(request)
        return self._read(asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer, request)

    async def afetch(self, request: ContextRequest) -> list[Candidate]:
        """Do the same from a running event loop; a plain function runs in a thread."""
        answer = await asyncio.to_thread(self.ask, request)
        return self._read(await answer if inspect.isawaitable(answer) else answer, request)

    def _read(self, answer: Any, request: ContextRequest) -> list[Candidate]:
        known = {} if self.known is None else self.known(request)
        return [
            item if isinstance(item, Candidate) else self._candidate(_fields(item), known, 1 / (1 + rank))
            for rank, item in enumerate(self.records(answer), request.offset)
        ]

    def _candidate(self, data: Mapping[str, Any], known: Mapping[str, Any], relevance: float) -> Candidate:
        text, own, score = str(_first(data, _TEXTS) or ""), data.get("metadata"), _first(data, _SCORES)
        told = {
            **known,
            **{key: value for key, value in data.items() if key not in _READ and value is not None},
            **(own if isinstance(own, Mapping) else {}),
        }
        id_ = str(_first(data, _IDS) or digest(text))
        record = {"documents": text or str(told.get("goal") or id_), "metadatas": told}
        return to_candidate(id_, record, source=self.name, relevance=relevance if score is None else score)


async def _awaited(answer: Any) -> Any:
    return await answer


def _fields(item: Any) -> Any:
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, Mapping):
        return item
    if hasattr(item, "page_content"):
        return {"text": item.page_content, "id": item.id, "metadata": item.metadata}
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return {f.name: getattr(item, f.name) for f in dataclasses.fields(item)}
    if hasattr(item, "__dict__"):
        return vars(item)
    raise SourceError(f"a function gave {type(item).__name__}, expected texts, Documents or records")


def _first(data: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((data[name] for name in names if data.get(name) is not None), None)
