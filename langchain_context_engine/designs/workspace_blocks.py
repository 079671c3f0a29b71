"""A workspace as a tree of blocks in a collection, and what collects from it: focus, relations, activity.

Read are `parent_id`, `position` (among its siblings), `page_id`, `type`, `title` or `page_title`,
`updated_at` or else `created_at`. Every read is within the request's scope: a parent, a page or a link out of
scope looks like one that does not exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from langchain_context_engine.filters import (
    EVERYTHING,
    HIDDEN,
    NOTHING,
    Condition,
    Filter,
    Not,
    all_of,
    matcher,
    read_scope,
    read_where,
    to_chroma,
)
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.metadata import checked_fields, read_list, renamed
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.pipeline.expand import LINK_DECAY
from langchain_context_engine.ranking.signals import read_number
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.records import to_candidate

Record = Mapping[str, Any]

_HIGHEST = 10
"""Steps up the tree that are looked at: beyond them, nothing is near."""

_FEW = 256
"""Records that are read before the scope is checked: in one request with a condition that most records
fulfil, as a scope is, Chroma looks at all of them, which takes ten times as long as reading a few."""

_MOST_READ_FOR_LINKS = 5_000
"""Blocks of a scope up to which the texts of all `links` are looked at; beyond, only lists are."""

_WINDOWS = (1 / 64, 1 / 8, 1.0)
"""Shares of the hours that count, in which the latest edits are sought: most of many are never read."""

_VIEWS_LOOKED_AT = 200
_NAME, _LONGEST_NAME = "\0name", 60


def focus_of(request: ContextRequest) -> Mapping[str, Any]:
    """Return where and who the asker is: of `block`, `page`, `database`, `user`, `depth` what is known."""
    return request.focus if isinstance(request.focus, Mapping) else {"block": request.focus}


def target_of(request: ContextRequest) -> str | None:
    """Return the id of what is focused most closely: a block, its page, a database."""
    focus = focus_of(request)
    return focus.get("block") or focus.get("page") or focus.get("database")


class Blocks:
    """Reads the blocks of a collection within a request's scope.

    `fields` says what is read → the metadata key that it is stored under.
    """

    def __init__(self, collection: Any, fields: Mapping[str, str] | None = None) -> None:
        self.handle = CollectionHandle(collection)
        self.name = self.handle.name
        self.fields = checked_fields(fields)

    def key(self, name: str) -> str:
        """Return the metadata key under which something is stored."""
        return self.fields.get(name, name)

    def read(self, ids: Iterable[str], request: ContextRequest) -> dict[str, Record]:
        """Return id → record of those that exist and may be known, in the order of the ids; one call."""
        allowed = all_of(Not(HIDDEN), _pushed(request))
        wanted = list(dict.fromkeys(ids))
        if not wanted or allowed == NOTHING:
            return {}
        found, is_allowed = self.handle.read(wanted, ("documents", "metadatas")), matcher(allowed)
        return {
            id_: {**found[id_], "metadatas": renamed(found[id_].get("metadatas") or {}, self.fields)}
            for id_ in wanted
            if id_ in found and is_allowed(found[id_].get("metadatas") or {})
        }

    def find(self, condition: Filter, request: ContextRequest) -> dict[str, Mapping[str, Any]]:
        """Return id → metadata of all that fulfil a condition and may be known; a second call for many."""
        is_wanted = matcher(all_of(condition, Not(HIDDEN), _pushed(request)))
        found = self._asked(condition, request, ("metadatas",))
        known = {id_: row["metadatas"] or {} for id_, row in found.items()}
        return {id_: renamed(m, self.fields) for id_, m in known.items() if is_wanted(m)}

    def ids(
        self, condition: Filter, request: ContextRequest, *, where: dict[str, Any] | None = None
    ) -> list[str]:
        """Return the ids that the store finds; `read` tells which of them may be known.

        Args:
            condition: What must hold.
            request: Its scope goes into a second call where many fulfil it.
            where: What only Chroma can check, for example of lists.
        """
        return list(self._asked(condition, request, (), where))

    def _asked(
        self,
        condition: Filter,
        request: ContextRequest,
        include: Sequence[str],
        where: dict[str, Any] | None = None,
    ) -> dict[str, dict[str, Any]]:
        """Return what the store finds; only where that is much is it asked for what is in the scope."""
        pushed = all_of(condition, _pushed(request))
        if pushed == NOTHING:
            return {}
        few = self.handle.few(_both(where, to_chroma(condition)), include, _FEW)
        return self.handle.rows(_both(where, to_chroma(pushed)), include) if few is None else few

    def linking(self, ids: Sequence[str], request: ContextRequest) -> list[str]:
        """Return the ids of blocks whose `links` name one of these: in a list, a JSON list, a text."""
        key = self.key("links")
        tests = [{key: test} for id_ in ids for test in ({"$contains": id_}, {"$eq": id_})]
        listed = self.ids(EVERYTHING, request, where={"$or": tests}) if tests else []
        # A store finds an id in a list; within a text it cannot look.
        texts = self.handle.few(to_chroma(_pushed(request)), ("metadatas",), _MOST_READ_FOR_LINKS) or {}
        links = {id_: (row["metadatas"] or {}).get(key) for id_, row in texts.items()}
        told = sorted(
            id_
            for id_, given in links.items()
            if isinstance(given, str) and not {*ids}.isdisjoint(map(str, read_list(given)))
        )
        return list(dict.fromkeys((*listed, *told)))

    def children(self, parents: Sequence[str], request: ContextRequest) -> dict[str, list[str]]:
        """Return parent → ids of its children in reading order (`position`, then id)."""
        condition = Condition(self.key("parent_id"), "$in", tuple(parents))
        found = self.find(condition, request) if parents else {}

        def place(id_: str) -> tuple[float, str]:
            stated = read_number(found[id_].get("position"))
            return (float("inf") if stated is None else stated, id_)

        children: dict[str, list[str]] = {parent: [] for parent in parents}
        for id_ in sorted(found, key=place):
            if id_ != found[id_]["parent_id"]:
                children[found[id_]["parent_id"]].append(id_)
        return children

    def line(self, id_: str, steps: int, request: ContextRequest) -> dict[str, Record]:
        """Return a block and its ancestors, nearest first, at most so many steps up; a cycle ends it."""
        found = self.read([id_], request)
        above = id_ if id_ in found else None
        for _ in range(steps):
            parent = found[above]["metadatas"].get("parent_id") if above else None
            if not parent or parent in found:
                break
            found |= self.read([parent], request)
            above = parent if parent in found else None
        return found

    def candidates(
        self, relevance: Mapping[str, float], records: Mapping[str, Record], request: ContextRequest
    ) -> list[Candidate]:
        """Return records as candidates, best first, placed in the tree, as `offset` and `limit` ask."""
        found = [
            to_candidate(id_, records[id_], source=self.name, relevance=value)
            for id_, value in sorted(relevance.items(), key=lambda pair: -pair[1])
            if id_ in records
        ]
        end = None if request.limit is None else request.offset + request.limit
        return self.placed(found[request.offset : end], request)

    def placed(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[Candidate]:
        """Return candidates with their place in the tree told.

        `title` becomes `[page] [type]`, `page_title` the page's title, `breadcrumb` the names from the
        top to it, `created_at` when it was last changed, and where something is focused `tree_distance`
        is the number of steps between it and the focus. What has no common ancestor meets at the
        workspace itself, one step above both tops.
        """
        target = target_of(request)
        known = self._with_ancestors(candidates, target, request)
        near = _line_of(target, known) if target in known else []
        return [_told(candidate, known, near) for candidate in candidates]

    def _with_ancestors(
        self, candidates: Sequence[Candidate], target: str | None, request: ContextRequest
    ) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of candidates, the target, their ancestors and pages, read level by level."""
        known = {c.id: _with_name(c.metadata, c.text) for c in candidates}
        asked = set(known)
        level = {str(page) for c in candidates if (page := c.metadata.get("page_id"))}
        level |= {target} if target else set()
        for _ in range(_HIGHEST + 1):
            level |= {str(parent) for m in known.values() if (parent := m.get("parent_id"))}
            level -= asked
            if not level:
                break
            asked |= level
            for id_, record in self.read(sorted(level), request).items():
                known[id_] = _with_name(record["metadatas"], str(record.get("documents") or ""))
        return known


@dataclass(frozen=True, slots=True, kw_only=True)
class FocusSource:
    """The focused block with its ancestors, siblings, children, and the summary of its page.

    Relevance: the block 1; ancestors 0.9 − 0.1·i, nearest first; children 0.85 − 0.05·i in reading
    order, a level further down 0.1 less; siblings 0.8 − 0.05·i, nearest first, the one before it first; the
    page's summary 0.9. What is several of these has the best. Without a block the page is focused, without
    a page the database. Of `children`, `request.focus["depth"]` levels down are offered, else one.
    """

    blocks: Blocks
    name: str = "focus"
    ancestors: int = 3
    siblings: int = 2
    children: int = 5

    @property
    def collection_name(self) -> str:
        """The collection's name: the `source` of every candidate."""
        return self.blocks.name

    def get(self, ids: Sequence[str], request: ContextRequest) -> list[Candidate]:
        """Return the blocks of these ids in their order; the missing and the out of scope are left out."""
        records = self.blocks.read(ids, request)
        found = [to_candidate(id_, record, source=self.blocks.name) for id_, record in records.items()]
        return self.blocks.placed(found, request)

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return what is around the focus, best first; nothing where the request names none."""
        focus, target = focus_of(request), target_of(request)
        if target is None or request.limit == 0:
            return []
        depth, page = focus.get("depth"), focus.get("page")
        up = self.ancestors if depth is None else min(self.ancestors, depth)
        line = self.blocks.line(target, up, request)
        if target not in line:
            return []
        relevance = {id_: 1.0 if i == 0 else 0.9 - 0.1 * (i - 1) for i, id_ in enumerate(line)}
        for id_, value in (
            *self._below(target, 1 if depth is None else depth, request),
            *self._beside(target, line, request),
            *([(page, 0.9)] if page else []),
        ):
            relevance[id_] = max(value, relevance.get(id_, 0.0))
        records = {**line, **self.blocks.read([id_ for id_ in relevance if id_ not in line], request)}
        if page in records:
            records[page] = _summarised(records[page])
        return self.blocks.candidates(relevance, records, request)

    def _below(self, target: str, levels: int, request: ContextRequest) -> list[tuple[str, float]]:
        found: list[tuple[str, float]] = []
        parents, seen = [target], {target}
        for level in range(levels):
            children = self.blocks.children(parents, request)
            parents = []
            for ids in children.values():
                new = [id_ for id_ in ids if id_ not in seen][: self.children]
                seen.update(new)
                parents += new
                found += [(id_, max(0.0, 0.85 - 0.05 * i - 0.1 * level)) for i, id_ in enumerate(new)]
            if not parents:
                break
        return found

    def _beside(
        self, target: str, line: Mapping[str, Record], request: ContextRequest
    ) -> list[tuple[str, float]]:
        parent = line[target]["metadatas"].get("parent_id")
        siblings = self.blocks.children([parent], request)[parent] if parent and self.siblings else []
        if target not in siblings:
            return []
        place = siblings.index(target)
        before = siblings[max(0, place - self.siblings) : place][::-1]
        after = siblings[place + 1 : place + 1 + self.siblings]
        # Nearest first, the one before and the one after in turn.
        nearest = [id_ for i in range(self.siblings) for id_ in (*before[i : i + 1], *after[i : i + 1])]
        return [(id_, 0.8 - 0.05 * i) for i, id_ in enumerate(nearest)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationsSource:
    """Rows, links and backlinks of the focused block, breadth-first, each once at its shortest distance.

    Related rows are those that the block's `relations` name, and the rows (`database_id`) of the focused
    database: relevance 0.75. Links are its `links`, 0.7: a list, a JSON list, or split at commas. Backlinks,
    0.65, are the blocks whose `links` have it, and those that its own `backlinks` name. A step further,
    relevance is 0.8 of that. Each step asks the store a few times, however many edges there are;
    `request.focus["depth"]` bounds the steps.
    """

    blocks: Blocks
    name: str = "relations"
    depth: int = 2
    most: int = 10

    @property
    def collection_name(self) -> str:
        """The collection's name: the `source` of every candidate."""
        return self.blocks.name

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return what is connected, best first; nothing where the request names no focus."""
        focus, target = focus_of(request), target_of(request)
        bound = focus.get("depth")
        depth = self.depth if bound is None else min(self.depth, bound)
        most = self.most if request.limit is None else min(self.most, request.offset + request.limit)
        if target is None or not depth or not most:
            return []
        relevance: dict[str, float] = {}
        records: dict[str, Record] = {}
        level, seen = self.blocks.read([target], request), {target}
        for step in range(depth):
            wanted = self._connected(level, request)
            if step == 0 and focus.get("database") is not None:
                condition = Condition(self.blocks.key("database_id"), "$in", (focus["database"],))
                wanted |= dict.fromkeys(self.blocks.ids(condition, request)[: 2 * self.most], 0.75)
            best = sorted(wanted, key=lambda id_: -wanted[id_])
            new = [id_ for id_ in best if id_ not in seen][: 2 * most]
            seen.update(new)
            level = dict(list(self.blocks.read(new, request).items())[: most - len(records)])
            records |= level
            relevance |= {id_: wanted[id_] * LINK_DECAY**step for id_ in level}
            if not level or len(records) >= most:
                break
        return self.blocks.candidates(relevance, records, request)

    def _connected(self, level: Mapping[str, Record], request: ContextRequest) -> dict[str, float]:
        """Return id → relevance of what a level's blocks lead to, the best first."""

        def named(key: str) -> list[str]:
            return [str(id_) for record in level.values() for id_ in read_list(record["metadatas"].get(key))]

        found: dict[str, float] = {}
        for value, ids in (
            (0.75, named("relations")),
            (0.7, named("links")),
            (0.65, [*named("backlinks"), *self.blocks.linking(list(level), request)]),
        ):
            for id_ in ids:
                found.setdefault(id_, value)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivitySource:
    """The blocks that `request.focus["user"]` edited lately, and those viewed, latest first.

    Edits are told by the metadata `updated_by` and `updated_at`: relevance 0.6 − 0.02·i. Views are told by
    the journal (`Journal.view`): 0.5 − 0.02·i, with a page's `summary` for its text. What is both has the
    better. By epoch numbers in `updated_at` the store finds the latest edits; of dates as texts the metadata
    of all are read. What is older than so many hours is left out; without a journal there are no views.
    """

    blocks: Blocks
    journal: Any = None
    name: str = "activity"
    edits: int = 10
    views: int = 5
    hours: float = 72

    @property
    def collection_name(self) -> str:
        """The collection's name: the `source` of every candidate."""
        return self.blocks.name

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return what the user did lately, best first; nothing where the request names no user."""
        user = focus_of(request).get("user")
        if not user or request.limit == 0:
            return []
        now = request.now or datetime.now(UTC)
        edited = self.blocks.read(self._edited(user, now, request), request) if self.edits else {}
        viewed = self._viewed(user, now, request)
        relevance = {id_: max(0.0, 0.5 - 0.02 * i) for i, id_ in enumerate(viewed)}
        relevance |= {id_: max(0.0, 0.6 - 0.02 * i) for i, id_ in enumerate(edited)}
        return self.blocks.candidates(relevance, {**viewed, **edited}, request)

    def _edited(self, user: str, now: datetime, request: ContextRequest) -> list[str]:
        """Return the ids of the latest edits."""
        since = now - timedelta(hours=self.hours)
        by_user = Condition(self.blocks.key("updated_by"), "$in", (user,))
        key = self.blocks.key("updated_at")
        is_number = all_of(by_user, Condition(key, "$gte", (-(2**53),)))
        texts = set(self.blocks.ids(by_user, request)) - set(self.blocks.ids(is_number, request))
        dated: dict[str, Mapping[str, Any]] = {}
        for share in _WINDOWS:
            start = int((now - share * (now - since)).timestamp())
            dated = self.blocks.find(all_of(by_user, Condition(key, "$gte", (start,))), request)
            if len(dated) >= self.edits:
                break
        dated |= self.blocks.find(by_user, request) if texts else {}
        times = {
            id_: min(at, now)
            for id_, metadata in dated.items()
            if (at := read_instant(metadata.get("updated_at"))) and since <= at
        }
        return sorted(times, key=lambda id_: (-times[id_].timestamp(), id_))[: self.edits]

    def _viewed(self, user: str, now: datetime, request: ContextRequest) -> dict[str, Record]:
        if self.journal is None or not self.views:
            return {}
        since = now - timedelta(hours=self.hours)
        recent = self.journal.recent(user, kind="view", since=since, limit=_VIEWS_LOOKED_AT)
        ids = [activity.key[1] for activity in recent if activity.key[0] == self.blocks.name]
        found = list(self.blocks.read(ids, request).items())[: self.views]
        return {id_: _summarised(record) for id_, record in found}


def _summarised(record: Record) -> Record:
    """Return a page's record with its `summary` for a text, where it states one."""
    summary = record["metadatas"].get("summary")
    return {**record, "documents": summary} if isinstance(summary, str) and summary.strip() else record


def _pushed(request: ContextRequest) -> Filter:
    """Return what a store is asked to check; `deleted` is not, for it would look at every record."""
    return all_of(read_scope(request.scope), read_where(request.where))


def _both(*tests: dict[str, Any] | None) -> dict[str, Any] | None:
    given = [test for test in tests if test]
    return {"$and": given} if len(given) > 1 else next(iter(given), None)


def _line_of(id_: str | None, known: Mapping[str, Mapping[str, Any]]) -> list[str]:
    line: list[str] = []
    while id_ is not None and id_ in known and id_ not in line:
        line.append(id_)
        parent = known[id_].get("parent_id")
        id_ = None if parent is None else str(parent)
    return line


def _told(candidate: Candidate, known: Mapping[str, Mapping[str, Any]], near: Sequence[str]) -> Candidate:
    own = candidate.metadata
    page = known.get(str(own.get("page_id")), own if candidate.kind == "page" else {})
    name = own.get("page_title") or page.get("title")
    line = _line_of(candidate.id, known)
    metadata: dict[str, Any] = {
        "title": f"[{name}] [{candidate.kind}]" if name else f"[{candidate.kind}]",
        "breadcrumb": [known[id_][_NAME] for id_ in reversed(line) if known[id_][_NAME]],
    }
    if name:
        metadata["page_title"] = str(name)
    if near:
        shared = [i + line.index(id_) for i, id_ in enumerate(near) if id_ in line]
        metadata["tree_distance"] = min(shared, default=len(near) + len(line))
    changed = read_instant(own.get("updated_at")) or candidate.created_at
    return replace(candidate, created_at=changed, metadata={**own, **metadata})


def _with_name(metadata: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """Return metadata with what a block is called: its title, else the beginning of its first line."""
    stated = " ".join(str(metadata.get("title") or "").split())
    first = " ".join(text.strip().partition("\n")[0].split())
    short = first if len(first) <= _LONGEST_NAME else f"{first[: _LONGEST_NAME - 1].rstrip()}…"
    return {**metadata, _NAME: stated or short}
