"""Ways to find records without vectors: by full text, by keywords, by spelling, by date, by reference.

A finder is `(searched, request, needed) -> hits`, best first; a `FileSource` asks it and shows what it found.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.filters import (
    Condition,
    Filter,
    Matcher,
    all_of,
    matcher,
    read_scope,
    to_chroma,
)
from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.ranking.signals import Keyword
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.index_manager import IndexManager
from langchain_context_engine.search.scoring import LexicalQuery
from langchain_context_engine.search.segment import facet
from langchain_context_engine.search.snapshot import Snapshot
from langchain_context_engine.text.trigrams import TrigramIndex
from langchain_context_engine.text.words import STOP_WORDS, query_terms

KEYWORDS = Keyword(shortest=4, ignored=STOP_WORDS)
"""A question's keywords: its words of more than three letters that are no stop words."""

_KEYWORDS_TRIED, _FEW, _VIEWS_READ = 20, 30, 200
_SHORT_TERMS = 100


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
        manager: The indexes of the engine.
        snapshot: The collection's index, up to date.
        wanted: Scope, `deleted` and `where`.
        within: Scope and `deleted`: words are weighed there.
        admits: Tells of an id and its metadata whether the record may be offered.
    """

    handle: CollectionHandle
    manager: IndexManager
    snapshot: Snapshot
    wanted: Filter
    within: Filter
    admits: Callable[[str, Mapping[str, Any]], bool]

    def rows(self, wanted: Filter | None = None) -> Any:
        """Return the rows of the index that the request, or another filter, may admit."""
        return self.snapshot.chosen(self.snapshot.mask(wanted or self.wanted)[0])

    def admitted(
        self, rows: Iterable[int], needed: int, is_wanted: Matcher | None = None
    ) -> list[tuple[str, int]]:
        """Return (id, row) of the first so many that the request may see and a finder wants."""
        rest, found = iter(rows), list[tuple[str, int]]()
        while len(found) < needed and (some := list(itertools.islice(rest, max(_FEW, needed)))):
            ids = self.snapshot.ids_of(some)
            known = self.handle.metadata_of(ids)
            for id_, row in zip(ids, some, strict=True):
                metadata = known.get(id_)
                if (
                    metadata is not None
                    and self.admits(id_, metadata)
                    and (is_wanted is None or is_wanted(metadata))
                ):
                    found.append((id_, row))
        return found[:needed]


Finder = Callable[[Searched, ContextRequest, int], Sequence[Hit]]


def full_text(searched: Searched, request: ContextRequest, needed: int) -> list[Hit]:
    """Return the records that have words of the question, by BM25."""
    return _by_words(searched, request, LexicalQuery.of(request.query), needed)


def by_keywords(searched: Searched, request: ContextRequest, needed: int) -> list[Hit]:
    """Return the records that have every keyword of the question, by BM25; none without keywords."""
    keywords = sorted(KEYWORDS.keywords(request.query))
    terms = tuple(dict.fromkeys(term for word in keywords for term in query_terms(word)))
    return _by_words(searched, request, LexicalQuery(terms, needs_all=True), needed)


def _by_words(searched: Searched, request: ContextRequest, query: LexicalQuery, needed: int) -> list[Hit]:
    if not query.terms:
        return []
    snapshot, manager = searched.snapshot, searched.manager
    scores = manager.weighed(query, searched.within).scores(snapshot)
    asked = LexicalQuery.of(request.query)
    claims = scores if asked == query else manager.weighed(asked, searched.within).scores(snapshot)
    rows, _ = snapshot.best(scores, snapshot.mask(searched.wanted)[0], snapshot.size)
    return [
        Hit(
            id=id_,
            relevance=float(scores[row] / (1 + scores[row])),
            rank=float(scores[row]),
            claims={"lexical": float(claims[row])},
        )
        for id_, row in searched.admitted(rows.tolist(), needed)
    ]


@dataclass(slots=True)
class _Spelled:
    """How the paths and short texts of a collection are spelled, as a snapshot had them."""

    stamp: int = -1
    digests: dict[str, int] = field(default_factory=dict)
    paths: TrigramIndex = field(default_factory=TrigramIndex)
    texts: TrigramIndex = field(default_factory=TrigramIndex)

    def sync(self, snapshot: Snapshot, handle: CollectionHandle) -> None:
        """Read what has changed since."""
        rows = snapshot.chosen(None).tolist()
        ids = snapshot.ids_of(rows)
        now = snapshot.digests_of(ids)
        for id_ in self.digests.keys() - now.keys():
            self.paths.remove(id_)
            self.texts.remove(id_)
        row_of = {id_: row for id_, row in zip(ids, rows, strict=True) if self.digests.get(id_) != now[id_]}
        for id_, names in zip(row_of, snapshot.names_of(row_of.values()), strict=True):
            self.paths.put(id_, names["path"] or names["title"])
            self.texts.remove(id_)
        # A long text is never alike enough to a question.
        short = [id_ for id_, row in row_of.items() if snapshot.lengths[row] <= _SHORT_TERMS]
        for id_, fields in handle.read(short, ("documents",)).items():
            self.texts.put(id_, fields.get("documents") or "")
        self.digests, self.stamp = now, snapshot.stamp


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
        self._lock = ForkSafeLock()

    def __call__(self, searched: Searched, request: ContextRequest, needed: int) -> list[Hit]:
        """Return the records that are alike enough, the most alike first."""
        keywords = sorted(KEYWORDS.keywords(request.query))[:_KEYWORDS_TRIED]
        texts = {request.query, " ".join(keywords), *keywords}
        likeness: dict[str, float] = {}
        with self._lock:
            known = self._known.setdefault(searched.handle.id, _Spelled())
            if known.stamp != searched.snapshot.stamp:
                known.sync(searched.snapshot, searched.handle)
            for index, text in itertools.product((known.paths, known.texts), texts):
                for id_, alike in index.search(text, self.threshold):
                    likeness[id_] = max(alike, likeness.get(id_, 0.0))
        best_first = sorted(likeness, key=lambda id_: (-likeness[id_], id_))
        rows, mask = searched.snapshot.rows_of(best_first), searched.snapshot.mask(searched.wanted)[0]
        seen = (rows[id_] for id_ in best_first if id_ in rows and (mask is None or mask[rows[id_]]))
        found = searched.admitted(seen, needed)
        return [Hit(id=id_, relevance=likeness[id_], rank=likeness[id_]) for id_, _ in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentlyAccessed:
    """Finds what was opened last: by a date in the metadata, and by the user's views in a journal.

    Attributes:
        by: The metadata key, which ends with `_at` or holds ISO dates; records without it, and without a
            view, are not found.
        journal: A `Journal`, or None.
        user_key: The key of the request's scope that names the user.
    """

    by: str = "accessed_at"
    journal: Any = None
    user_key: str = "user_id"

    def __call__(self, searched: Searched, request: ContextRequest, needed: int) -> list[Hit]:
        """Return the records, latest first."""
        instants = searched.snapshot.instants(self.by).copy()
        views = self._views(searched.handle.name, request)
        for id_, row in searched.snapshot.rows_of(list(views)).items():
            instants[row] = np.fmax(instants[row], views[id_])
        rows = searched.rows()
        return _latest(searched, rows[~np.isnan(instants[rows])], instants, needed)

    def _views(self, collection: str, request: ContextRequest) -> dict[str, float]:
        user = request.scope.get(self.user_key)
        if self.journal is None or not isinstance(user, str):
            return {}
        seen = self.journal.recent(user, limit=_VIEWS_READ)
        return {view.key[1]: view.time.timestamp() for view in reversed(seen) if view.key[0] == collection}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfThread:
    """Finds the latest records of the thread that `request.focus["thread"]` names; none without one.

    Attributes:
        thread_key: The metadata key that holds the thread.
        by: The metadata key of the date; the undated count as oldest.
        lacking: A metadata key that a record must not have, or "".
    """

    thread_key: str = "thread_id"
    by: str = "created_at"
    lacking: str = ""

    def __call__(self, searched: Searched, request: ContextRequest, needed: int) -> list[Hit]:
        """Return the records, latest first."""
        thread = focused(request, "thread")
        if not isinstance(thread, str) or not thread:
            return []
        instants = np.nan_to_num(searched.snapshot.instants(self.by), nan=-np.inf)
        rows = searched.rows(all_of(Condition(self.thread_key, "$in", (thread,)), searched.wanted))
        return _latest(searched, rows, instants, needed, lambda told: told.get(self.lacking) is None)


def _latest(
    searched: Searched, rows: Any, instants: Any, needed: int, is_wanted: Matcher | None = None
) -> list[Hit]:
    order = np.lexsort((searched.snapshot.ids[rows], -instants[rows]))
    found = searched.admitted(rows[order].tolist(), needed, is_wanted)
    return [Hit(id=id_, relevance=1 / (1 + place)) for place, (id_, _) in enumerate(found)]


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
        snapshot = searched.snapshot
        by_id = snapshot.rows_of(list(wanted))
        mask = snapshot.mask(searched.wanted)[0]
        named: dict[int, None] = {}
        for name in wanted:
            rows = [by_id[name]] if name in by_id else snapshot.having([facet("path", name)]).tolist()
            named |= dict.fromkeys(row for row in rows if mask is None or mask[row])
        return [Hit(id=id_, relevance=1.0) for id_, _ in searched.admitted(named, needed)]

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
