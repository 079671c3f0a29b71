"""Ways to find records without vectors: by full text, by keywords, by spelling, by date, by reference.

A finder is `(shelf, request, needed) -> hits`, best first; a `FileSource` asks it and shows what it found.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.filtering.filters import (
    EVERYTHING,
    Condition,
    Filter,
    Matcher,
    all_of,
    matcher,
    read_scope,
    to_chroma,
)
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.ranking.signals import Keyword
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.lexical import LexicalIndex
from langchain_context_engine.search.postings import LexicalQuery
from langchain_context_engine.search.shelf import Shelf
from langchain_context_engine.search.view import Admits, View
from langchain_context_engine.text.trigrams import TrigramIndex
from langchain_context_engine.text.words import STOP_WORDS, query_terms

KEYWORDS = Keyword(shortest=4, ignored=STOP_WORDS)
"""A question's keywords: its words of more than three letters that are no stop words."""

_KEYWORDS_TRIED, _LOOKED_AT_ONCE = 20, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A record that was found.

    Attributes:
        id: Its id.
        relevance: The finder's own claim, 0–1.
        rank: The raw measure that the finder sorts by, or None where it has none.
        claims: Measures that compare with those of other searches, see `Candidate.claims`.
    """

    id: str
    relevance: float
    rank: float | None = None
    claims: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """One collection as one request may see it.

    Attributes:
        handle: The collection.
        index: The index of words.
        shelf: The collection's shelf in it, up to date.
        wanted: Scope, `deleted` and `where`.
        admits: Tells of an id and its metadata whether the record may be offered.
        within: Scope and `deleted`: words are counted there.
    """

    handle: CollectionHandle
    index: LexicalIndex
    shelf: Shelf
    wanted: Filter
    admits: Admits

    within: Filter = EVERYTHING

    @property
    def view(self) -> View:
        """The records, of every scope."""
        return self.shelf.view

    def admitted(self, ids: Iterable[str], is_wanted: Matcher | None = None) -> Iterator[str]:
        """Yield those ids that the request may see, and that a finder wants for what their metadata say."""
        rest = iter(ids)
        while some := list(itertools.islice(rest, _LOOKED_AT_ONCE)):
            known = self.view.metadata(some)
            seen = (id_ for id_ in some if id_ in known and self.admits(id_, known[id_]))
            yield from (id_ for id_ in seen if is_wanted is None or is_wanted(known[id_]))


Finder = Callable[[Searched, ContextRequest, int], Sequence[Hit]]


def full_text(searched: Searched, request: ContextRequest, needed: int) -> list[Hit]:
    """Return the records that have words of the question, by BM25."""
    return _by_words(searched, request, LexicalQuery.of(request.query), needed)


def by_keywords(searched: Searched, request: ContextRequest, needed: int) -> list[Hit]:
    """Return the records that have every keyword of the question, by BM25; none without keywords."""
    keywords = sorted(KEYWORDS.keywords(request.query))
    terms = tuple(dict.fromkeys(term for word in keywords for term in query_terms(word)))
    return _by_words(searched, request, LexicalQuery(terms, (), needs_all=True), needed)


def _by_words(searched: Searched, request: ContextRequest, query: LexicalQuery, needed: int) -> list[Hit]:
    if not query.terms:
        return []
    index, shelf = searched.index, searched.shelf
    found = index.search(query, shelf, searched.wanted, searched.admits, needed, searched.within)
    ids = [id_ for id_, _ in found]
    claims = index.scores(LexicalQuery.of(request.query), shelf, ids, searched.within)
    return [
        Hit(
            id=id_,
            relevance=score / (1 + score),
            rank=score,
            claims={"lexical": claims[id_][0], "phrase": claims[id_][1]},
        )
        for id_, score in found
    ]


@dataclass(slots=True)
class _Spelled:
    """How the paths and texts of a collection are spelled, as a view had them."""

    stamp: int = -1
    digests: dict[str, bytes] = field(default_factory=dict)
    paths: TrigramIndex = field(default_factory=TrigramIndex)
    texts: TrigramIndex = field(default_factory=TrigramIndex)

    def sync(self, view: View) -> None:
        """Read what has changed since."""
        since = view.since
        now = {id_: digest for id_, digest in view.rows.all_digests() if not since.has(id_)}
        now |= {new.id: new.digest for new in since.news()}
        for id_ in self.digests.keys() - now.keys():
            self.paths.remove(id_)
            self.texts.remove(id_)
        changed = [id_ for id_, digest in now.items() if self.digests.get(id_) != digest]
        for start in range(0, len(changed), _LOOKED_AT_ONCE):
            for id_, record in view.records(changed[start : start + _LOOKED_AT_ONCE]).items():
                metadata = record.metadata
                self.paths.put(id_, str(metadata.get("path") or metadata.get("title") or ""))
                self.texts.put(id_, record.document or "")
        self.digests, self.stamp = now, view.stamp


class Fuzzy:
    """Finds records whose path, or short text, is spelled like the question, its keywords or one of them.

    Likeness is pg_trgm's, the best one of all these. A long text is never that alike to a question.

    Args:
        threshold: Records must be more alike than this, 0–1.

    Raises:
        ConfigError: It is no number from 0 to 1.
    """

    def __init__(self, threshold: float = 0.3) -> None:
        is_number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
        if not is_number or not 0 <= threshold <= 1:
            msg = f"a fuzzy threshold is a number from 0 to 1, got {threshold!r}"
            raise ConfigError(msg)
        self.threshold = threshold
        self._known: dict[str, _Spelled] = {}
        self._lock = threading.Lock()

    def __call__(self, searched: Searched, request: ContextRequest, needed: int) -> list[Hit]:
        """Return the records that are alike enough, the most alike first."""
        keywords = sorted(KEYWORDS.keywords(request.query))[:_KEYWORDS_TRIED]
        texts = {request.query, " ".join(keywords), *keywords}
        likeness: dict[str, float] = {}
        with self._lock:
            for index in self._synced(searched):
                for text in texts:
                    for id_, alike in index.search(text, self.threshold):
                        likeness[id_] = max(alike, likeness.get(id_, 0.0))
        best_first = sorted(likeness, key=lambda id_: (-likeness[id_], id_))
        found = first(searched.admitted(best_first), needed)
        return [Hit(id=id_, relevance=likeness[id_], rank=likeness[id_]) for id_ in found]

    def _synced(self, searched: Searched) -> tuple[TrigramIndex, TrigramIndex]:
        """Return the indexes of paths and of texts, brought up to date with the catalogue."""
        known = self._known.setdefault(searched.shelf.collection, _Spelled())
        if known.stamp != searched.view.stamp:
            known.sync(searched.view)
        return known.paths, known.texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Referenced:
    """Finds the records that the user named: `request.focus["references"]`, and those kept for the thread.

    Attributes:
        kept: A collection whose records name a thread and, under `file_key`, a file's id or path; or None.
        thread_key: The metadata key that holds the thread.
        file_key: The metadata key that holds the id or path.
    """

    kept: CollectionHandle | None = None
    thread_key: str = "thread_id"
    file_key: str = "file_id"

    def __call__(self, searched: Searched, request: ContextRequest, needed: int) -> list[Hit]:
        """Return the records in the order in which they are named; an unknown name finds nothing."""
        given = focused(request, "references")
        names = [str(name) for name in given] if isinstance(given, (list, tuple)) else []
        wanted = dict.fromkeys([*names, *self._kept(request)])
        known = searched.view.metadata(list(wanted))
        paths = tuple(name for name in wanted if name not in known)
        by_path: dict[str, list[str]] = {}
        for record in searched.view.selected(Condition("path", "$in", paths)) if paths else ():
            by_path.setdefault(str(record.metadata.get("path")), []).append(record.id)
        named = (id_ for name in wanted for id_ in ([name] if name in known else by_path.get(name, ())))
        return [Hit(id=id_, relevance=1.0) for id_ in first(searched.admitted(dict.fromkeys(named)), needed)]

    def _kept(self, request: ContextRequest) -> list[str]:
        thread = focused(request, "thread")
        if self.kept is None or not isinstance(thread, str) or not thread:
            return []
        wanted = all_of(Condition(self.thread_key, "$in", (thread,)), read_scope(request.scope))
        found = self.kept.read(self.kept.find(to_chroma(wanted)), ("metadatas",))
        records, is_wanted = [record.get("metadatas") or {} for record in found.values()], matcher(wanted)
        return [
            str(metadata[self.file_key])
            for metadata in records
            if metadata.get(self.file_key) is not None and is_wanted(metadata)
        ]


def focused(request: ContextRequest, name: str) -> Any:
    """Return what a request's focus says under a name, or None."""
    return request.focus.get(name) if isinstance(request.focus, Mapping) else None


def first(ids: Iterable[str], needed: int) -> list[str]:
    """Return the first so many ids; no more than those are looked at."""
    return [id_ for id_, _ in zip(ids, range(needed), strict=False)]
