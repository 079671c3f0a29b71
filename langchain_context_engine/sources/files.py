"""Files in a Chroma collection, found without vectors and shown by the excerpt that the question asks for."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.filters import (
    HIDDEN,
    NOTHING,
    Not,
    all_of,
    filter_test,
    matcher,
    read_scope,
    read_where,
)
from langchain_context_engine.models.metadata import checked_fields, renamed
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import source_repr
from langchain_context_engine.models.types import Candidate, Offer
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.collection_index import Told
from langchain_context_engine.search.finders import Finder, Hit, Searched
from langchain_context_engine.search.records import to_candidate
from langchain_context_engine.sources.shared import SharedResources
from langchain_context_engine.text.matches import densest, mark_matches, match_spans
from langchain_context_engine.text.truncate import Extractive, keep_start
from langchain_context_engine.text.words import query_terms

EXCERPT_CHARACTERS = 500
"""Length of the excerpt that stands for a longer file."""

_READ_FOR_EXCERPT = 12_000
"""Characters that an excerpt is chosen from: those around the matches, of a longer file."""

_CHARACTERS_PER_TOKEN, _LEAST_OF_WHOLE = 8, 24_000
"""What is offered of a whole text that no budget can hold: so much around the matches."""

_FIELDS = ("documents", "metadatas")


class FileSource:
    """A collection of files that one finder searches. No embeddings are needed.

    What is offered of a file is an excerpt: the sentences that answer the question best, else its
    beginning, at most `excerpt_characters` long. Where words of the question stand in it, metadata
    `excerpt` is the excerpt with `<<<` and `>>>` around them, and `search_rank` is the finder's measure.

    Args:
        collection: A chromadb Collection of any synchronous client, or a `langchain_chroma.Chroma`.
        find: The finder: `full_text`, `by_keywords`, `Fuzzy()`, `RecentlyAccessed()`, …
        name: How people know the source.
        limit: The most that it offers, whatever a request allows.
        kind: The kind of records that name none.
        kind_always: The kind of all, whatever they name; "" leaves them their own.
        without_kinds: Records of these kinds are not offered.
        excerpt_characters: None offers whole texts; of one far longer than the budget, what is around the
            matches.
        is_pinned: What it finds is packed before everything else.
        titled_by: Metadata keys of which the first that says something is the title of what states none,
            for example who wrote a message.
        fields: What is read → the metadata key that it is stored under.

    Raises:
        ConfigError: An argument is of the wrong type.
    """

    __repr__ = source_repr

    def __init__(
        self,
        collection: Any,
        find: Finder,
        *,
        name: str,
        limit: int = 10,
        kind: str = "file",
        kind_always: str = "",
        without_kinds: Sequence[str] = (),
        excerpt_characters: int | None = EXCERPT_CHARACTERS,
        is_pinned: bool = False,
        titled_by: Sequence[str] = (),
        fields: Mapping[str, str] | None = None,
        shared: SharedResources | None = None,
    ) -> None:
        if not callable(find):
            msg = f"find must be a finder such as full_text, got {type(find).__name__}"
            raise ConfigError(msg)
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
            msg = f"limit must be a whole number of 0 or more, got {limit!r}"
            raise ConfigError(msg)
        self._handle = CollectionHandle(getattr(collection, "_collection", collection))
        self.find = find
        self.name = name
        self.limit = limit
        self.kind = kind
        self.kind_always = kind_always
        self.without_kinds = frozenset(without_kinds)
        self.excerpt_characters = excerpt_characters
        self.is_pinned = is_pinned
        self.titled_by = tuple(titled_by)
        self.fields = checked_fields(fields)
        self._shared = shared or SharedResources()

    @property
    def collection_name(self) -> str:
        """The collection's name: the `source` of every candidate."""
        return self._handle.name

    def share(self, shared: SharedResources) -> FileSource:
        """Return a copy that uses what the sources of an engine share."""
        bound = copy.copy(self)
        bound._shared = shared  # noqa: SLF001 - a copy of this very class
        shared.lexical.register(self._handle)
        return bound

    def prepare(self, *, progress: Told | None = None) -> None:
        """Read the collection into the index now, rather than with the first question.

        Args:
            progress: Told how many records are read and how many there are.

        Raises:
            SourceError: The collection could not be read.
        """
        self._shared.lexical.prepare(self._handle, progress)
        self.fetch(ContextRequest(query="prepare", limit=1))

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return what the finder finds after `offset`, best first, at most `limit` of both.

        Raises:
            SourceError: The collection could not be read.
        """
        # What is pinned must come in: only the scope and exclusions keep it out.
        where = read_where({} if self.is_pinned else request.where)
        wanted = all_of(Not(HIDDEN), read_scope(request.scope), where)
        limit = self.limit if request.limit is None else min(self.limit, request.limit)
        if limit == 0 or wanted == NOTHING or request.kinds == ():
            return []
        manager = self._shared.lexical
        index = manager.sync(self._handle)
        if index is None:
            told = manager.index_of(self._handle).told(self.name, is_scoped=bool(request.scope))
            return Offer(warnings=told)

        is_wanted, passes = matcher(wanted), filter_test(request)

        def admits(id_: str, metadata: Mapping[str, Any]) -> bool:
            found = self._candidate(id_, {"metadatas": metadata})
            return is_wanted(metadata) and found.kind not in self.without_kinds and passes(found)

        searched = Searched(
            handle=self._handle,
            manager=manager,
            snapshot=index.snapshot,
            wanted=wanted,
            within=all_of(Not(HIDDEN), read_scope(request.scope)),
            admits=admits,
        )
        nothing: Sequence[Hit] = ()
        hits = manager.guarded(index, lambda: self.find(searched, request, request.offset + limit), nothing)
        hits = hits[request.offset :]
        records = self._handle.read([hit.id for hit in hits], _FIELDS)
        asked = query_terms(request.query)
        return [
            self._shown(hit, records[hit.id], request, asked)
            for hit in hits
            if hit.id in records and admits(hit.id, records[hit.id].get("metadatas") or {})
        ]

    def get(self, ids: Sequence[str], request: ContextRequest) -> list[Candidate]:
        """Return the whole texts of these ids in their order; the missing and the out of scope are left out.

        Raises:
            SourceError: The collection could not be read.
        """
        scope = all_of(Not(HIDDEN), read_scope(request.scope))
        if not ids or scope == NOTHING:
            return []
        records, is_known = self._handle.read(ids, _FIELDS), matcher(scope)
        return [
            self._candidate(id_, records[id_])
            for id_ in dict.fromkeys(ids)
            if id_ in records and is_known(records[id_].get("metadatas") or {})
        ]

    def _candidate(self, id_: str, record: Mapping[str, Any]) -> Candidate:
        record = {**record, "metadatas": renamed(record.get("metadatas") or {}, self.fields)}
        found = to_candidate(id_, record, source=self._handle.name, kind=self.kind, is_pinned=self.is_pinned)
        if self.kind_always:
            found = replace(found, kind=self.kind_always)
        names = (found.metadata.get(key) for key in self.titled_by if not found.metadata.get("title"))
        title = next((str(name) for name in names if name), "")
        return replace(found, metadata={**found.metadata, "title": title}) if title else found

    def _shown(
        self, hit: Hit, record: Mapping[str, Any], request: ContextRequest, asked: Sequence[str]
    ) -> Candidate:
        """Return a hit with the excerpt that is shown of it."""
        found = self._candidate(hit.id, record)
        text = self._excerpt(found.text, request, asked)
        marked = mark_matches(text, asked)
        told: dict[str, Any] = {} if hit.rank is None else {"search_rank": hit.rank}
        if marked != text:
            told["excerpt"] = marked
        return replace(
            found,
            text=text,
            relevance=hit.relevance,
            claims=hit.claims,
            metadata={**found.metadata, **told},
        )

    def _excerpt(self, text: str, request: ContextRequest, asked: Sequence[str]) -> str:
        longest = self.excerpt_characters
        if longest is None:
            # More than the budget can hold would be weighed and cut for nothing.
            most = _CHARACTERS_PER_TOKEN * (request.budget or 0)
            return densest(text, asked, max(most, _LEAST_OF_WHOLE))
        if len(text) <= longest:
            return text
        extract = Extractive(request.query)(densest(text, asked, _READ_FOR_EXCERPT), longest, len)
        # Of a program the lines that read best are often its imports: what it has of the question goes first.
        best = max((extract, densest(text, asked, longest)), key=lambda piece: _terms_in(piece, asked))
        return best if _terms_in(best, asked) else keep_start(text, longest, len)


def _terms_in(text: str, asked: Sequence[str]) -> int:
    """Return how many words of the question a text has, each once."""
    return len({text[start:stop].lower() for start, stop in match_spans(text, asked)})
