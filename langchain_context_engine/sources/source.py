"""What a source is, and what the sources of one engine share."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.index_manager import IndexManager
from langchain_context_engine.search.query_vectors import QueryVectors


@runtime_checkable
class Source(Protocol):
    """Anything with a name that offers candidates for a request.

    The request of an engine always has `limit` and `now` filled. What is fetched may be an `Offer`, whose
    warnings the context carries. A source may also have

    * `afetch(request)`, the same for asyncio;
    * `get(ids, request)`: the candidates of these ids in their order, what is missing or out of
      scope left out;
    * `link_named(text, request)`: ids in this source, in scope, whose title, or path and symbol,
      stands verbatim in a text;
    * `is_cold`: its store is large and was not asked yet in this process, so the first question waits for
      it to be opened, beyond the deadline and some seconds at most;
    * `share(shared)`: a copy of it that uses an engine's `SharedResources`;
    * `collection_name`: the `source` of its candidates where that is not its `name`.

    Example:
        >>> class Greeting:
        ...     name = "greeting"
        ...     def fetch(self, request):
        ...         return [Candidate(id="1", text="hello", source=self.name, relevance=1.0)]
        >>> isinstance(Greeting(), Source)
        True
    """

    name: str

    def fetch(self, request: ContextRequest) -> Sequence[Candidate]:
        """Return the candidates for a request, best first."""
        ...


class SharedResources:
    """What the sources of one engine share, so that nothing is done or kept twice.

    Attributes:
        query_vectors: Embeds each query once for all sources with one embedder.
        lexical: The indexes of words of all hybrid sources, whose scores compare.

    Args:
        index_dir: A folder for the indexes of words; None keeps them beside the stores, see `folder_of`.
        max_queries: Embedded queries to remember.
    """

    def __init__(
        self,
        *,
        index_dir: str | Path | None = None,
        max_queries: int = 1000,
    ) -> None:
        self.query_vectors = QueryVectors(max_queries=max_queries)
        self.lexical = IndexManager(index_dir)
        self._lock = ForkSafeLock()
        self._named: dict[str, str] = {}

    def name_of(self, handle: CollectionHandle) -> str:
        """Return what tells a collection from all others of the engine: its name, or `name#2` and so on.

        Only collections of different databases or servers can have one name.
        """
        own = str(handle.collection.id)
        names = itertools.chain([handle.name], (f"{handle.name}#{n}" for n in itertools.count(2)))
        with self._lock:
            return next(name for name in names if self._named.setdefault(name, own) == own)
