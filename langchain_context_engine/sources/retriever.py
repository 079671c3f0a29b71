"""Any LangChain retriever as a source."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_context_engine.errors import ConfigError, SourceError
from langchain_context_engine.filters import scope_test
from langchain_context_engine.models.freeze import as_data
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import source_repr
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.signals import read_number
from langchain_context_engine.search.records import to_candidate

SCORE_KEYS = ("relevance_score", "relevance", "similarity", "score")
"""Metadata keys that retrievers and rerankers write a score to, the first that is there."""


class RetrieverSource:
    """A LangChain retriever, or any runnable from a question to Documents, as a source.

    A Document's id becomes the candidate's; one without an id gets a hash of its text and metadata.
    Its relevance is the score in its metadata (see `SCORE_KEYS`) where all Documents of an answer
    have one, all are 0–1 and none is above the one before it; a distance, which grows, is no
    relevance. Otherwise it is 1, 1/2, 1/3, … by rank.

    A retriever knows nothing of scope: Documents that lack a scope key are left out.

    Args:
        retriever: What is invoked with the query.
        name: How people know the source; the retriever's own name or class by default.
        kind: The kind of Documents whose metadata name none.
        sequence: The metadata keys (group, order) that say what adjoins what.
        config: A `RunnableConfig` for every call. The callbacks of a surrounding run reach the
            retriever without it.

    Raises:
        ConfigError: The retriever cannot be invoked.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.runnables import RunnableLambda
        >>> retriever = RunnableLambda(lambda query: [Document("Pay by card.", id="7")])
        >>> RetrieverSource(retriever, name="faq").fetch(ContextRequest(query="pay?"))[0].key
        ('faq', '7')
    """

    __repr__ = source_repr

    def __init__(
        self,
        retriever: Any,
        name: str | None = None,
        *,
        kind: str | None = None,
        sequence: tuple[str, str] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(retriever, type) or not callable(getattr(retriever, "invoke", None)):
            given = "a class" if isinstance(retriever, type) else type(retriever).__name__
            raise ConfigError(f"RetrieverSource takes a LangChain retriever, got {given}")
        own_name = getattr(retriever, "name", None)
        self.retriever = retriever
        self.name = name or (own_name if isinstance(own_name, str) and own_name else type(retriever).__name__)
        self.kind = kind or ""
        self.sequence = sequence
        self._config = None if config is None else dict(config)

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return the retriever's Documents in scope after `offset`, in its order; none for an empty query.

        Raises:
            SourceError: The retriever answered something else than Documents.
        """
        if not _is_asked(request):
            return []
        return self._candidates(self.retriever.invoke(request.query, config=self._config), request)

    async def afetch(self, request: ContextRequest) -> list[Candidate]:
        """Do the same by `ainvoke`.

        Raises:
            SourceError: See `fetch`.
        """
        if not _is_asked(request):
            return []
        return self._candidates(await self.retriever.ainvoke(request.query, config=self._config), request)

    def _candidates(self, answer: Any, request: ContextRequest) -> list[Candidate]:
        if not isinstance(answer, (list, tuple)) or not all(hasattr(d, "page_content") for d in answer):
            raise SourceError(
                f"retriever {self.name!r} answered {type(answer).__name__}, expected a list of Documents"
            )
        found = [
            to_candidate(
                id_,
                {"documents": document.page_content, "metadatas": document.metadata},
                source=self.name,
                kind=self.kind,
                sequence=self.sequence,
                relevance=relevance,
            )
            for id_, document, relevance in zip(_ids_of(answer), answer, _relevance_of(answer), strict=True)
        ]
        return list(filter(scope_test(request), found))[request.offset :]


def _is_asked(request: ContextRequest) -> bool:
    return request.limit != 0 and bool(request.query.strip())


def _ids_of(documents: Sequence[Any]) -> list[str]:
    """Return an id for each Document; chunks that share their document's id are numbered by their texts.

    The first text of an id keeps it, another one has its number behind: `doc`, `doc#2`.
    """
    texts: dict[str, dict[str, int]] = {}
    ids = []
    for document in documents:
        id_ = _id_of(document)
        known = texts.setdefault(id_, {})
        number = known.setdefault(document.page_content, len(known) + 1)
        ids.append(id_ if number == 1 else f"{id_}#{number}")
    return ids


def _id_of(document: Any) -> str:
    if document.id is not None and str(document.id):
        return str(document.id)
    told = repr(sorted((document.metadata or {}).items(), key=lambda item: str(item[0])))
    content = f"{len(document.page_content)}\x00{document.page_content}{told}"
    return hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _relevance_of(documents: Sequence[Any]) -> list[float]:
    said = [document.metadata or {} for document in documents]
    keys = [next((key for key in SCORE_KEYS if key in metadata), "") for metadata in said]
    scores = [read_number(as_data(metadata.get(key))) for key, metadata in zip(keys, said, strict=True)]
    known = [score for score in scores if score is not None and 0 <= score <= 1]
    if len(known) == len(documents) and known == sorted(known, reverse=True):
        return known
    return [1 / (1 + rank) for rank in range(len(documents))]
