"""Retrieval functions as sources: what they are asked, and what their answers become."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.models.errors import SourceError
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.search.records import to_candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRetrieverRequest:
    """What a retrieval function is asked.

    Attributes:
        query: The question.
        offset: Records to skip.
        limit: Records wanted.
        max_tokens: Tokens that the pack may have at first; None is no bound.
        metadata: `retriever`, the pack's name, and what the pack was given.
    """

    query: str
    offset: int = 0
    limit: int = 10
    max_tokens: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPackBlock:
    """A piece of evidence: its id, its text, its metadata."""

    evidence_item_id: str
    text: str
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPack:
    """What a retrieval function may answer: blocks, or one text.

    Attributes:
        text: The text of all blocks; read where there are none.
        evidence_count: How many pieces of evidence stand in it.
        blocks: The pieces, best first.
    """

    text: str = ""
    evidence_count: int = 0
    blocks: Sequence[ContextPackBlock] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSource:
    """A retrieval function as a source.

    It is called with a `ContextRetrieverRequest` and answers a `ContextPack`, a text, None, or a list of
    blocks, Documents, candidates or texts, best first. It may be a coroutine function.

    Attributes:
        name: The pack's name.
        function: What is called.
        metadata: What it is told in `ContextRetrieverRequest.metadata`.
    """

    name: str
    function: Callable[[ContextRetrieverRequest], Any]
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return what the function gives for a request.

        Raises:
            SourceError: It answered something else.
        """
        answer = self.function(self._asked(request))
        return self._read(asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer, request)

    async def afetch(self, request: ContextRequest) -> list[Candidate]:
        """Do the same from a running event loop; a plain function runs in a thread."""
        answer = await asyncio.to_thread(self.function, self._asked(request))
        return self._read(await answer if inspect.isawaitable(answer) else answer, request)

    def _asked(self, request: ContextRequest) -> ContextRetrieverRequest:
        return ContextRetrieverRequest(
            query=request.query,
            offset=request.offset,
            limit=request.limit or 0,
            max_tokens=request.budget,
            metadata={"retriever": self.name, **self.metadata},
        )

    def _read(self, answer: Any, request: ContextRequest) -> list[Candidate]:
        return [
            self._candidate(item, relevance=1 / (1 + request.offset + place))
            for place, item in enumerate(_items(answer))
        ]

    def _candidate(self, item: Any, *, relevance: float) -> Candidate:
        if isinstance(item, Candidate):
            return item
        text, id_, metadata = _record(item)
        if not isinstance(text, str):
            kind = type(item).__name__
            raise SourceError(f"retriever {self.name!r} gave {kind}, expected a pack, Documents or texts")
        record = {"documents": text, "metadatas": metadata}
        return to_candidate(str(id_ or _digest(text)), record, source=self.name, relevance=relevance)


async def _awaited(answer: Any) -> Any:
    return await answer


def _items(answer: Any) -> Sequence[Any]:
    """Return the pieces of an answer, whatever its shape."""
    if answer is None:
        return ()
    if isinstance(answer, Sequence) and not isinstance(answer, (str, bytes)):
        return answer
    blocks = answer.get("blocks") if isinstance(answer, Mapping) else getattr(answer, "blocks", None)
    if blocks:
        return tuple(blocks)
    text = answer.get("text", answer) if isinstance(answer, Mapping) else getattr(answer, "text", answer)
    return (text,) if text != "" else ()


def _record(item: Any) -> tuple[Any, Any, Any]:
    """Return the text, id and metadata of a piece."""
    if isinstance(item, str):
        return item, None, None
    if isinstance(item, Mapping):
        return item.get("text"), item.get("evidence_item_id", item.get("id")), item.get("metadata")
    if hasattr(item, "page_content"):
        return item.page_content, item.id, item.metadata
    return (
        getattr(item, "text", None),
        getattr(item, "evidence_item_id", getattr(item, "id", None)),
        getattr(item, "metadata", None),
    )


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
