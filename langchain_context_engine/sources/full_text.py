"""Files in a Chroma collection, found without vectors and shown by the excerpt that the question asks for.

Found by full text, by keywords, by spelling, by date or by reference: a finder is
`(search, request, needed) -> hits`, best first; a `FileSource` asks it and shows what it found.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.filters import (
    HIDDEN,
    NOTHING,
    Condition,
    Filter,
    Matcher,
    Not,
    all_of,
    matcher,
    read_scope,
    read_where,
    to_chroma,
)
from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import Progress
from langchain_context_engine.models.types import Candidate, Offer
from langchain_context_engine.ranking.signals import Keyword
from langchain_context_engine.search.bm25 import LexicalQuery
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.hybrid_search import Search
from langchain_context_engine.search.segment import facet
from langchain_context_engine.search.snapshot import Snapshot
from langchain_context_engine.sources.chroma import CollectionSource
from langchain_context_engine.text.matches import densest, mark_matches, match_spans
from langchain_context_engine.text.truncate import Extractive, keep_start
from langchain_context_engine.text.words import STOP_WORDS, query_terms

EXCERPT_CHARACTERS = 500
"""Length of the excerpt that stands for a longer file."""

KEYWORDS = Keyword(shortest=4, ignored=STOP_WORDS)
"""A question's keywords: its words of more than three letters that are no stop words."""

_KEYWORDS_TRIED, _FEW, _VIEWS_READ = 20, 30, 200
_SHORT_TERMS = 100
_READ_FOR_EXCERPT = 12_000
"""Characters that an excerpt is chosen from: those around the matches, of a longer file."""
_CHARACTERS_PER_TOKEN, _LEAST_OF_WHOLE = 8, 24_000
"""What is offered of a whole text that no budget can hold: so much around the matches."""


_WORD = re.compile(r"[^\W_]+")


def trigrams(text: str, most: int | None = None) -> frozenset[str]:
    """Return the trigrams of a text: of each word, case folded, with two spaces before and one after.

    Args:
        text: Any text.
        most: More than so many are not looked for; then the result is empty.

    Example:
        >>> sorted(trigrams("cat"))
        ['  c', ' ca', 'at ', 'cat']
    """
    found: set[str] = set()
    folded = text if text.isascii() else unicodedata.normalize("NFKC", text)
    for word in _WORD.finditer(folded):
        padded = f"  {word[0].casefold()} "
        found.update(padded[i : i + 3] for i in range(len(padded) - 2))
        if most is not None and len(found) > most:
            return frozenset()
    return frozenset(found)


def similarity(a: Collection[str], b: Collection[str]) -> float:
    """Return the shared trigrams of two texts over all of them (Jaccard), 0–1; two empty ones are 0.

    Example:
        >>> round(similarity(trigrams("word"), trigrams("two words")), 4)
        0.3636
    """
    shared = len(set(a) & set(b))
    return shared / (len(a) + len(b) - shared) if shared else 0.0


class TrigramIndex:
    """Texts by key, searched by likeness. Not thread-safe.

    A text with more than `most` trigrams is left out: it cannot be alike enough to a question of less
    than `most` × threshold trigrams.

    Args:
        most: Trigrams of the longest text that is kept.

    Example:
        >>> index = TrigramIndex()
        >>> index.put("a", "billing.py")
        >>> [(key, round(likeness, 2)) for key, likeness in index.search("biling", 0.3)]
        [('a', 0.5)]
    """

    def __init__(self, most: int = 400) -> None:
        self._most = most
        self._texts: dict[str, frozenset[str]] = {}
        self._keys: defaultdict[str, set[str]] = defaultdict(set)

    def put(self, key: str, text: str) -> None:
        """Take a text in, in place of an older one of that key."""
        self.remove(key)
        if found := trigrams(text, self._most):
            self._texts[key] = found
            for trigram in found:
                self._keys[trigram].add(key)

    def remove(self, key: str) -> None:
        """Forget a text, if it is there."""
        for trigram in self._texts.pop(key, ()):
            self._keys[trigram].discard(key)
            if not self._keys[trigram]:
                del self._keys[trigram]

    def search(self, query: str, threshold: float) -> list[tuple[str, float]]:
        """Return (key, similarity) of the texts above the threshold, best first, ties by key."""
        asked = trigrams(query)
        shared: Counter[str] = Counter()
        for trigram in asked:
            shared.update(self._keys.get(trigram, ()))
        found = ((key, n / (len(asked) + len(self._texts[key]) - n)) for key, n in shared.items())
        return sorted((hit for hit in found if hit[1] > threshold), key=lambda hit: (-hit[1], hit[0]))


class Hit(NamedTuple):
    """A record that was found, with the finder's claim, 0–1, and the raw measure that it sorts by, if any.

    `claims` compare with those of other searches, see `Candidate.claims`.
    """

    id: str
    relevance: float
    rank: float | None = None
    claims: Mapping[str, float] = MappingProxyType({})


Finder = Callable[[Search, ContextRequest, int], Sequence[Hit]]
"""Is given the collection as the request may see it, the request, and how many are needed."""


def _mask(search: Search) -> Any:
    """Return which rows of the index the request may see; None is all."""
    return search.snapshot.mask(search.pushed)[0]


def _admitted(
    search: Search, rows: Iterable[int], needed: int, is_wanted: Matcher | None = None
) -> list[tuple[str, int]]:
    """Return (id, row) of the first so many that the request may see and a finder wants."""
    rest, found = iter(rows), list[tuple[str, int]]()
    while len(found) < needed and (some := list(itertools.islice(rest, max(_FEW, needed)))):
        ids = search.snapshot.ids_of(some)
        known = search.handle.metadata_of(ids)
        found += [
            (id_, row)
            for id_, row in zip(ids, some, strict=True)
            if id_ in known
            and search.admits(id_, known[id_])
            and (is_wanted is None or is_wanted(known[id_]))
        ]
    return found[:needed]


def full_text(search: Search, request: ContextRequest, needed: int) -> list[Hit]:
    """Return the records that have words of the question, by BM25."""
    return _by_words(search, request, LexicalQuery.of(request.query), needed)


def by_keywords(search: Search, request: ContextRequest, needed: int) -> list[Hit]:
    """Return the records that have every keyword of the question, by BM25; none without keywords."""
    keywords = sorted(KEYWORDS.keywords(request.query))
    terms = tuple(dict.fromkeys(term for word in keywords for term in query_terms(word)))
    return _by_words(search, request, LexicalQuery(terms, needs_all=True), needed)


def _by_words(search: Search, request: ContextRequest, query: LexicalQuery, needed: int) -> list[Hit]:
    if not query.terms:
        return []
    snapshot, asked = search.snapshot, LexicalQuery.of(request.query)
    scores = search.weighed(query).scores(snapshot)
    claims = scores if asked == query else search.weighed(asked).scores(snapshot)
    rows, _ = snapshot.best(scores, _mask(search), snapshot.size)
    found = _admitted(search, rows.tolist(), needed)
    ranked = [(id_, float(scores[row]), float(claims[row])) for id_, row in found]
    return [Hit(id_, score / (1 + score), score, {"lexical": claim}) for id_, score, claim in ranked]


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
            raise ConfigError(f"a fuzzy threshold is a number from 0 to 1, got {threshold!r}")
        self.threshold = threshold
        self._known: dict[str, _Spelled] = {}
        self._lock = ForkSafeLock()

    def __call__(self, search: Search, request: ContextRequest, needed: int) -> list[Hit]:
        """Return the records that are alike enough, the most alike first."""
        keywords = sorted(KEYWORDS.keywords(request.query))[:_KEYWORDS_TRIED]
        texts = {request.query, " ".join(keywords), *keywords}
        likeness: dict[str, float] = {}
        with self._lock:
            known = self._known.setdefault(search.handle.id, _Spelled())
            if known.stamp != search.snapshot.stamp:
                known.sync(search.snapshot, search.handle)
            for index, text in itertools.product((known.paths, known.texts), texts):
                for id_, alike in index.search(text, self.threshold):
                    likeness[id_] = max(alike, likeness.get(id_, 0.0))
        best_first = sorted(likeness, key=lambda id_: (-likeness[id_], id_))
        rows, mask = search.snapshot.rows_of(best_first), _mask(search)
        seen = (rows[id_] for id_ in best_first if id_ in rows and (mask is None or mask[rows[id_]]))
        return [Hit(id_, likeness[id_], likeness[id_]) for id_, _ in _admitted(search, seen, needed)]


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

    def __call__(self, search: Search, request: ContextRequest, needed: int) -> list[Hit]:
        """Return the records, latest first."""
        snapshot, user = search.snapshot, request.scope.get(self.user_key)
        instants = snapshot.instants(self.by).copy()
        seen = self.journal.recent(user, limit=_VIEWS_READ) if self.journal and isinstance(user, str) else ()
        views = {
            view.key[1]: view.time.timestamp() for view in reversed(seen) if view.key[0] == search.handle.name
        }
        for id_, row in snapshot.rows_of(list(views)).items():
            instants[row] = np.fmax(instants[row], views[id_])
        rows = snapshot.chosen(_mask(search))
        return _latest(search, rows[~np.isnan(instants[rows])], instants, needed)


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

    def __call__(self, search: Search, request: ContextRequest, needed: int) -> list[Hit]:
        """Return the records, latest first."""
        thread = _thread(request)
        if not thread:
            return []
        snapshot = search.snapshot
        instants = np.nan_to_num(snapshot.instants(self.by), nan=-np.inf)
        wanted = all_of(Condition(self.thread_key, "$in", (thread,)), search.pushed)
        rows = snapshot.chosen(snapshot.mask(wanted)[0])
        return _latest(search, rows, instants, needed, lambda told: told.get(self.lacking) is None)


def _latest(
    search: Search, rows: Any, instants: Any, needed: int, is_wanted: Matcher | None = None
) -> list[Hit]:
    order = np.lexsort((search.snapshot.ids[rows], -instants[rows]))
    found = _admitted(search, rows[order].tolist(), needed, is_wanted)
    return [Hit(id_, 1 / (1 + place)) for place, (id_, _) in enumerate(found)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Referenced:
    """Finds the records that the user named: `request.focus["references"]`, and those kept for the thread.

    Attributes:
        kept: A collection whose records name a thread and, under `file_key`, a file's id or path; or None.
        thread_key: The metadata key that holds the thread.
        file_key: The metadata key that holds the id or path.
        path_key: The metadata key of the files' own paths.
    """

    kept: CollectionHandle | None = None
    thread_key: str = "thread_id"
    file_key: str = "file_id"
    path_key: str = "path"

    def __call__(self, search: Search, request: ContextRequest, needed: int) -> list[Hit]:
        """Return the records in the order in which they are named; an unknown name finds nothing."""
        given = _focused(request, "references")
        names = [str(name) for name in given] if isinstance(given, (list, tuple)) else []
        wanted = dict.fromkeys([*names, *self._kept(request)])
        snapshot, mask = search.snapshot, _mask(search)
        by_id = snapshot.rows_of(list(wanted))
        named: dict[int, None] = {}
        for name in wanted:
            rows = (
                [by_id[name]] if name in by_id else snapshot.rows_with([facet(self.path_key, name)]).tolist()
            )
            named |= dict.fromkeys(row for row in rows if mask is None or mask[row])
        return [Hit(id_, 1.0) for id_, _ in _admitted(search, named, needed)]

    def _kept(self, request: ContextRequest) -> list[str]:
        thread = _thread(request)
        if self.kept is None or not thread:
            return []
        wanted = all_of(Condition(self.thread_key, "$in", (thread,)), read_scope(request.scope))
        found = filter(matcher(wanted), self.kept.metadata_of(self.kept.find(to_chroma(wanted))).values())
        return [str(told[self.file_key]) for told in found if told.get(self.file_key) is not None]


def _focused(request: ContextRequest, name: str) -> Any:
    return request.focus.get(name) if isinstance(request.focus, Mapping) else None


def _thread(request: ContextRequest) -> str:
    thread = _focused(request, "thread")
    return thread if isinstance(thread, str) else ""


class FileSource(CollectionSource):
    """A collection of files that one finder searches. No embeddings are needed.

    What is offered of a file is an excerpt: the sentences that answer the question best, else its
    beginning, at most `excerpt_characters` long. Where words of the question stand in it, metadata
    `excerpt` is the excerpt with `<<<` and `>>>` around them, and `search_rank` is the finder's measure.

    Args:
        collection: A chromadb Collection of any synchronous client, or a `langchain_chroma.Chroma`.
        find: The finder: `full_text`, `by_keywords`, `Fuzzy()`, `RecentlyAccessed()`, …
        name: How people know the source.
        limit: The most that it offers, whatever a request allows.
        kind_always: The kind of all, whatever they name; "" leaves them their own, else `file`.
        without_kinds: Records of these kinds are not offered.
        excerpt_characters: None offers whole texts; of one far longer than the budget, what is around the
            matches.
        is_pinned: What it finds is packed before everything else.
        titled_by: Metadata keys of which the first that says something is the title of what states none,
            for example who wrote a message.
        fields: What is read → the metadata key that it is stored under.
    """

    def __init__(
        self,
        collection: Any,
        find: Finder,
        *,
        name: str,
        limit: int = 10,
        kind_always: str = "",
        without_kinds: Sequence[str] = (),
        excerpt_characters: int | None = EXCERPT_CHARACTERS,
        is_pinned: bool = False,
        titled_by: Sequence[str] = (),
        fields: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(collection, name, "file", fields)
        self.find = find
        self.limit = limit
        self.kind_always = kind_always
        self.without_kinds = frozenset(without_kinds)
        self.excerpt_characters = excerpt_characters
        self.is_pinned = is_pinned
        self.titled_by = tuple(titled_by)

    def prepare(self, *, progress: Progress | None = None) -> None:
        """Read the collection into the index now, and what its finder needs beside."""
        super().prepare(progress=progress)
        self.fetch(ContextRequest(query="prepare", limit=1))

    def _fetched(self, request: ContextRequest) -> Offer:
        # What is pinned must come in: only the scope and exclusions keep it out.
        scope, where = read_scope(request.scope), read_where({} if self.is_pinned else request.where)
        limit = self.limit if request.limit is None else min(self.limit, request.limit)
        if limit == 0 or all_of(scope, where) == NOTHING or request.kinds == ():
            return Offer()
        search = self._search(request, scope, all_of(scope, where))
        if search.lexical is None:
            return Offer(warnings=self._notices(request))
        hits = self.find(search, request, request.offset + limit)[request.offset :]
        search.load([hit.id for hit in hits])
        asked = query_terms(request.query)
        return Offer(
            self._shown(hit, record, request, asked)
            for hit in hits
            if (record := search.records.get(hit.id)) and search.admits(hit.id, record.get("metadatas") or {})
        )

    def _search(
        self, request: ContextRequest, scope: Filter, pushed: Filter, *, is_asked: bool = True
    ) -> Search:
        return Search(
            handle=self._handle,
            request=request,
            vector=(),
            scope=scope,
            pushed=all_of(Not(HIDDEN), pushed),
            to_candidate=self._candidate,
            lexical=self._lexical() if is_asked else None,
            is_offered=lambda found: found.kind not in self.without_kinds,
        )

    def _candidate(self, id_: str, record: Mapping[str, Any], **measures: Any) -> Candidate:
        found = super()._candidate(id_, record, is_pinned=self.is_pinned, **measures)
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
        metadata = {**found.metadata, **({} if hit.rank is None else {"search_rank": hit.rank})}
        if (marked := mark_matches(text, asked)) != text:
            metadata["excerpt"] = marked
        return replace(found, text=text, relevance=hit.relevance, claims=hit.claims, metadata=metadata)

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
