"""A workspace as a tree of blocks in a collection, and what collects from it: focus, relations, activity.

Read are `parent_id`, `position` (among its siblings), `page_id`, `type`, `title` or `page_title`,
`updated_at` or else `created_at`. Every read is within the request's scope: a parent, a page or a link out of
scope looks like one that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import Field

from langchain_context_engine.designs.arguments import Checked
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
from langchain_context_engine.search.records import Rows, to_candidate

Record = Mapping[str, Any]
Number = Annotated[int, Field(ge=0, strict=True)]

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


class FocusSettings(Checked):
    """What is taken around the focus: levels up, siblings on each side, children of each block.

    Relevance: the block 1; ancestors 0.9 − 0.1·i, nearest first; children 0.85 − 0.05·i in reading
    order, a level further down 0.1 less; siblings 0.8 − 0.05·i, nearest first, the one before it first; the
    page's summary 0.9. What is several of these has the best. Without a block the page is focused, without
    a page the database. One level of children is taken, or as many as `ContextHints.max_depth` says.
    """

    enabled: bool = True
    ancestor_depth: Number = 3
    sibling_count: Number = 2
    children_limit: Number = 5


class RelationSettings(Checked):
    """Steps from the focus, and blocks at most; breadth-first, each once at its shortest distance.

    Related rows are those that the block's `relations` name, and the rows (`database_id`) of the focused
    database: relevance 0.75. Links are its `links`, 0.7: a list, a JSON list, or split at commas. Backlinks,
    0.65, are the blocks whose `links` have it, and those that its own `backlinks` name. A step further,
    relevance is 0.8 of that. Each step asks the store a few times, however many edges there are.
    """

    enabled: bool = True
    max_depth: Number = 2
    max_items: Number = 10


class ActivitySettings(Checked):
    """The user's latest edits and views at most, and hours after which they are no longer recent.

    Edits are told by the metadata `updated_by` and `updated_at`: relevance 0.6 − 0.02·i. Views are told by
    the journal: 0.5 − 0.02·i, with a page's `summary` for its text. What is both has the better. By epoch
    numbers in `updated_at` the store finds the latest edits; of dates as texts the metadata of all are read.
    """

    enabled: bool = True
    recent_edit_count: Number = 10
    recent_view_count: Number = 5
    max_age_hours: float = Field(default=72, ge=0, allow_inf_nan=False)


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

    def has(self, name: str, operator: str, *values: Any) -> Condition:
        """Return a condition on what is read, under the metadata key that it is stored under."""
        return Condition(self.fields.get(name, name), operator, values)

    def within_time(self, request: ContextRequest) -> ContextRequest:
        """Return the request with the time range of its focus as a filter on when a block was changed."""
        focus = focus_of(request)
        bounds = {"$gte": focus.get("since"), "$lte": focus.get("until")}
        told = {operator: bound for operator, bound in bounds.items() if bound is not None}
        if not told:
            return request
        updated, created = (self.fields.get(name, name) for name in ("updated_at", "created_at"))
        is_unchanged = {updated: {"$exists": False}, created: told}
        return replace(request, where={"$and": [request.where, {"$or": [{updated: told}, is_unchanged]}]})

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
        found = self._rows(condition, request, ("metadatas",))
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
        return list(self._rows(condition, request, (), where))

    def _rows(
        self,
        condition: Filter,
        request: ContextRequest,
        include: Sequence[str],
        where: dict[str, Any] | None = None,
    ) -> Rows:
        """Return what the store finds; only where that is much is it asked for what is in the scope."""
        pushed = all_of(condition, _pushed(request))
        if pushed == NOTHING:
            return {}
        few = self.handle.few(_both(where, to_chroma(condition)), include, _FEW)
        return self.handle.rows(_both(where, to_chroma(pushed)), include) if few is None else few

    def linking(self, ids: Sequence[str], request: ContextRequest) -> list[str]:
        """Return the ids of blocks whose `links` name one of these: in a list, a JSON list, a text."""
        key = self.fields.get("links", "links")
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
        found = self.find(self.has("parent_id", "$in", *parents), request) if parents else {}

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
        above: str | None = id_
        for _ in range(steps):
            parent = found[above]["metadatas"].get("parent_id") if above in found else None
            if not parent or parent in found:
                break
            found |= self.read([parent], request)
            above = parent
        return found

    def candidates(self, relevance: Mapping[str, float], records: Mapping[str, Record]) -> list[Candidate]:
        """Return records as candidates, best first."""
        return [
            to_candidate(id_, records[id_], source=self.name, relevance=max(0.0, value))
            for id_, value in sorted(relevance.items(), key=lambda pair: -pair[1])
            if id_ in records
        ]

    def placed(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[Candidate]:
        """Return candidates with their place in the tree told.

        `title` becomes `[page] [type]`, `page_title` the page's title, `breadcrumb` the names from the
        top to it, `created_at` when it was last changed, and where something is focused `tree_distance`
        is the number of steps between it and the focus. What has no common ancestor meets at the
        workspace itself, one step above both tops.
        """
        target = target_of(request)
        known = self._with_ancestors(candidates, target, request)
        near = _line_of(target, known)
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
class BlockSource:
    """A collector as a source of blocks, best first, placed in the tree."""

    name: str
    blocks: Blocks
    collect: Callable[[Blocks, ContextRequest], Sequence[Candidate]]

    @property
    def collection_name(self) -> str:
        """The collection's name: the `source` of every candidate."""
        return self.blocks.name

    def get(self, ids: Sequence[str], request: ContextRequest) -> Sequence[Candidate]:
        """Return the blocks of these ids in their order; the missing and the out of scope are left out."""
        records = self.blocks.read(ids, request)
        return self.blocks.placed(self.blocks.candidates(dict.fromkeys(records, 0.0), records), request)

    def fetch(self, request: ContextRequest) -> Sequence[Candidate]:
        """Return what is collected for a request, at most its `limit`."""
        found = self.collect(self.blocks, request) if request.limit != 0 else ()
        return self.blocks.placed(found[: request.limit], request)


def around_focus(settings: FocusSettings, blocks: Blocks, request: ContextRequest) -> list[Candidate]:
    """Return what is around the focus; nothing where the request names none."""
    focus, target = focus_of(request), target_of(request)
    depth, page = focus.get("depth"), focus.get("page")
    up = settings.ancestor_depth if depth is None else min(settings.ancestor_depth, depth)
    line = blocks.line(target, up, request) if target else {}
    if target is None or target not in line:
        return []
    relevance = {id_: 1.0 if i == 0 else 0.9 - 0.1 * (i - 1) for i, id_ in enumerate(line)}
    parents, seen = [target], {target}
    offered = [(page, 0.9)] if page else []
    for level in range(1 if depth is None else depth):
        children, parents = blocks.children(parents, request), []
        for ids in children.values():
            new = [id_ for id_ in ids if id_ not in seen][: settings.children_limit]
            seen.update(new)
            parents += new
            offered += [(id_, 0.85 - 0.05 * i - 0.1 * level) for i, id_ in enumerate(new)]
    above = line[target]["metadatas"].get("parent_id")
    siblings = blocks.children([above], request)[above] if above and settings.sibling_count else []
    place = siblings.index(target) if target in siblings else 0
    sides = siblings[:place][::-1], siblings[place + 1 :] if target in siblings else []
    # Nearest first, the one before and the one after in turn.
    nearest = [id_ for i in range(settings.sibling_count) for side in sides for id_ in side[i : i + 1]]
    offered += [(id_, 0.8 - 0.05 * i) for i, id_ in enumerate(nearest)]
    for id_, value in offered:
        relevance[id_] = max(value, relevance.get(id_, 0.0))
    records = {**line, **blocks.read([id_ for id_ in relevance if id_ not in line], request)}
    if page in records:
        records[page] = _summarised(records[page])
    return blocks.candidates(relevance, records)


def connected(settings: RelationSettings, blocks: Blocks, request: ContextRequest) -> list[Candidate]:
    """Return the rows, links and backlinks of the focused block; nothing where the request names none."""
    focus, target = focus_of(request), target_of(request)
    depth = settings.max_depth if focus.get("depth") is None else min(settings.max_depth, focus["depth"])
    most = settings.max_items
    relevance: dict[str, float] = {}
    records: dict[str, Record] = {}
    level, seen = blocks.read([target], request) if target else {}, {target}
    within = blocks.within_time(request)
    for step in range(depth if target else 0):
        wanted = _led_to(level, blocks, within)
        if step == 0 and focus.get("database") is not None:
            rows = blocks.ids(blocks.has("database_id", "$in", focus["database"]), within)
            wanted |= dict.fromkeys(rows[: 2 * most], 0.75)
        new = [id_ for id_ in sorted(wanted, key=lambda id_: -wanted[id_]) if id_ not in seen][: 2 * most]
        seen.update(new)
        level = dict(list(blocks.read(new, within).items())[: most - len(records)])
        records |= level
        relevance |= {id_: wanted[id_] * LINK_DECAY**step for id_ in level}
        if not level or len(records) >= most:
            break
    return blocks.candidates(relevance, records)


def _led_to(level: Mapping[str, Record], blocks: Blocks, request: ContextRequest) -> dict[str, float]:
    """Return id → relevance of what a level's blocks lead to, the best first."""

    def named(key: str) -> list[str]:
        return [str(id_) for record in level.values() for id_ in read_list(record["metadatas"].get(key))]

    backlinks = dict.fromkeys((*named("backlinks"), *blocks.linking(list(level), request)), 0.65)
    return {**backlinks, **dict.fromkeys(named("links"), 0.7), **dict.fromkeys(named("relations"), 0.75)}


def lately(
    settings: ActivitySettings, journal: Any, blocks: Blocks, request: ContextRequest
) -> list[Candidate]:
    """Return what the user edited and viewed lately, latest first; nothing where nobody asks."""
    user = focus_of(request).get("user")
    if not user:
        return []
    now = request.now or datetime.now(UTC)
    since, request = now - timedelta(hours=settings.max_age_hours), blocks.within_time(request)
    most = settings.recent_edit_count
    edited = blocks.read(_edited(user, (since, now), most, blocks, request) if most else (), request)
    viewed: dict[str, Record] = {}
    if journal is not None and settings.recent_view_count:
        recent = journal.recent(user, kind="view", since=since, limit=_VIEWS_LOOKED_AT)
        ids = [activity.key[1] for activity in recent if activity.key[0] == blocks.name]
        found = list(blocks.read(ids, request).items())[: settings.recent_view_count]
        viewed = {id_: _summarised(record) for id_, record in found}
    relevance = {id_: 0.5 - 0.02 * i for i, id_ in enumerate(viewed)}
    relevance |= {id_: 0.6 - 0.02 * i for i, id_ in enumerate(edited)}
    return blocks.candidates(relevance, {**viewed, **edited})


def _edited(
    user: str, span: tuple[datetime, datetime], most: int, blocks: Blocks, request: ContextRequest
) -> list[str]:
    """Return the ids of a user's latest edits within a span of time."""
    since, now = span
    by_user = blocks.has("updated_by", "$in", user)
    is_number = all_of(by_user, blocks.has("updated_at", "$gte", -(2**53)))
    texts = set(blocks.ids(by_user, request)) - set(blocks.ids(is_number, request))
    dated: dict[str, Mapping[str, Any]] = {}
    for share in _WINDOWS:
        start = int((now - share * (now - since)).timestamp())
        dated = blocks.find(all_of(by_user, blocks.has("updated_at", "$gte", start)), request)
        if len(dated) >= most:
            break
    dated |= blocks.find(by_user, request) if texts else {}
    times = {
        id_: min(at, now)
        for id_, metadata in dated.items()
        if (at := read_instant(metadata.get("updated_at"))) and since <= at
    }
    return sorted(times, key=lambda id_: (-times[id_].timestamp(), id_))[:most]


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
    name = " ".join(str(metadata.get("title") or text.strip().partition("\n")[0]).split())
    is_long = len(name) > _LONGEST_NAME and not metadata.get("title")
    return {**metadata, _NAME: f"{name[: _LONGEST_NAME - 1].rstrip()}…" if is_long else name}
