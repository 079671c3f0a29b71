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
    NOTHING,
    Condition,
    Filter,
    all_of,
    matcher,
    read_scope,
    read_where,
    to_chroma,
)
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.metadata import read_list
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.pipeline.expand import LINK_DECAY
from langchain_context_engine.ranking.signals import read_number
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.sources.chroma import ChromaSource

Found = dict[str, Candidate]
Number = Annotated[int, Field(ge=0, strict=True)]

_HIGHEST = 10
"""Steps up the tree that are looked at: beyond them, nothing is near."""

_FEW = 256
"""Records that are read before the scope is checked: in one request with a condition that most records
fulfil, as a scope is, Chroma looks at all of them, which takes ten times as long as reading a few."""

_MOST_READ_FOR_LINKS = 5_000
"""Blocks of a scope up to which the texts of all `links` are looked at; beyond, only lists are."""

_VIEWS_LOOKED_AT = 200


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

    def __init__(
        self, collection: Any, fields: Mapping[str, str] | None = None, embeddings: Any = None
    ) -> None:
        self.source = ChromaSource(collection, embeddings=embeddings, hybrid=False, fields=fields)
        self.handle = CollectionHandle(collection)
        self.name, self.fields = self.handle.name, self.source.fields

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

    def read(self, ids: Iterable[str], request: ContextRequest) -> Found:
        """Return id → block of those that exist and may be known, in the order of the ids; one call."""
        found = self.source.get(list(ids), replace(request, query="", vector=None))
        is_wanted = matcher(read_where(request.where))
        return {block.id: block for block in found if is_wanted(block.metadata)}

    def find(self, condition: Filter, request: ContextRequest) -> Found:
        """Return id → block of all that fulfil a condition and may be known."""
        return self.read(self.ids(condition, request), request)

    def ids(self, condition: Filter, request: ContextRequest) -> list[str]:
        """Return the ids that the store finds; `read` tells which of them may be known.

        Only where that is much is the store asked for what is in the scope.
        """
        # `deleted` is not asked for: the store would look at every record.
        scope = all_of(read_scope(request.scope), read_where(request.where))
        if scope == NOTHING:
            return []
        few = self.handle.few(to_chroma(condition), (), _FEW)
        return list(self.handle.rows(to_chroma(all_of(condition, scope))) if few is None else few)

    def links(self, request: ContextRequest) -> dict[str, Any] | None:
        """Return id → `links` of all blocks of the scope; None where those are too many to be read."""
        scope, key = to_chroma(read_scope(request.scope)), self.fields.get("links", "links")
        rows = self.handle.few(scope, ("metadatas",), _MOST_READ_FOR_LINKS)
        return None if rows is None else {id_: (r["metadatas"] or {}).get(key) for id_, r in rows.items()}

    def linking(
        self, ids: Sequence[str], links: Mapping[str, Any] | None, request: ContextRequest
    ) -> list[str]:
        """Return the ids of blocks whose `links` name one of these: in a list, a JSON list, a text."""
        if links is not None:
            return [id_ for id_, given in links.items() if not {*ids}.isdisjoint(map(str, read_list(given)))]
        # A store finds an id in a list; within a text it cannot look.
        key, scope = self.fields.get("links", "links"), to_chroma(read_scope(request.scope))
        tests = [{key: test} for id_ in ids for test in ({"$contains": id_}, {"$eq": id_})]
        return list(self.handle.rows({"$and": [{"$or": tests}, scope]} if scope else {"$or": tests}))

    def children(self, parents: Sequence[str], request: ContextRequest) -> dict[str, list[Candidate]]:
        """Return parent → its children in reading order (`position`, then id)."""
        found = self.find(self.has("parent_id", "$in", *parents), request) if parents else {}

        def place(block: Candidate) -> tuple[float, str]:
            stated = read_number(block.metadata.get("position"))
            return (float("inf") if stated is None else stated, block.id)

        children: dict[str, list[Candidate]] = {parent: [] for parent in parents}
        for block in sorted(found.values(), key=place):
            if block.id != (parent := block.metadata["parent_id"]):
                children[parent].append(block)
        return children

    def line(self, id_: str, steps: int, request: ContextRequest) -> Found:
        """Return a block and its ancestors, nearest first, at most so many steps up; a cycle ends it."""
        found = self.read([id_], request)
        above: str | None = id_
        for _ in range(steps):
            parent = found[above].metadata.get("parent_id") if above in found else None
            if not parent or parent in found:
                break
            found |= self.read([parent], request)
            above = parent
        return found

    def placed(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[Candidate]:
        """Return candidates with their place in the tree told.

        `title` becomes `[page] [type]`, `page_title` the page's title, `breadcrumb` the titles from the
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
        known = {c.id: c.metadata for c in candidates}
        asked = set(known)
        level = {str(page) for c in candidates if (page := c.metadata.get("page_id"))}
        level |= {target} if target else set()
        for _ in range(_HIGHEST + 1):
            level |= {str(parent) for m in known.values() if (parent := m.get("parent_id"))}
            level -= asked
            if not level:
                break
            asked |= level
            known |= {id_: block.metadata for id_, block in self.read(sorted(level), request).items()}
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
        return self.blocks.placed(list(self.blocks.read(ids, request).values()), request)

    def fetch(self, request: ContextRequest) -> Sequence[Candidate]:
        """Return what is collected for a request, at most its `limit`."""
        found = self.collect(self.blocks, request) if request.limit != 0 else ()
        return self.blocks.placed(found[: request.limit], request)


def around_focus(settings: FocusSettings, blocks: Blocks, request: ContextRequest) -> list[Candidate]:
    """Return what is around the focus; nothing where the request names none."""
    focus, target = focus_of(request), target_of(request)
    depth, page = focus.get("depth"), focus.get("page")
    up = settings.ancestor_depth if depth is None else min(settings.ancestor_depth, depth)
    found = blocks.line(target, up, request) if target else {}
    if target is None or target not in found:
        return []
    offered = [(id_, 1.0 if i == 0 else 0.9 - 0.1 * (i - 1)) for i, id_ in enumerate(found)]
    if page:
        offered.append((page, 0.9))
        found |= blocks.read([page], request)
    parents, seen = [target], {target}
    for level in range(1 if depth is None else depth):
        children, parents = blocks.children(parents, request), []
        for own in children.values():
            new = [block for block in own if block.id not in seen][: settings.children_limit]
            found |= {block.id: block for block in new}
            parents += [block.id for block in new]
            offered += [(block.id, 0.85 - 0.05 * i - 0.1 * level) for i, block in enumerate(new)]
        seen.update(parents)
    above = found[target].metadata.get("parent_id")
    siblings = blocks.children([above], request)[above] if above and settings.sibling_count else []
    place = next((i for i, block in enumerate(siblings) if block.id == target), len(siblings))
    sides = siblings[:place][::-1] if place < len(siblings) else [], siblings[place + 1 :]
    # Nearest first, the one before and the one after in turn.
    nearest = [block for i in range(settings.sibling_count) for side in sides for block in side[i : i + 1]]
    found |= {block.id: block for block in nearest}
    offered += [(block.id, 0.8 - 0.05 * i) for i, block in enumerate(nearest)]
    if page in found:
        found[page] = _summarised(found[page])
    return _weighed(offered, found)


def connected(settings: RelationSettings, blocks: Blocks, request: ContextRequest) -> list[Candidate]:
    """Return the rows, links and backlinks of the focused block; nothing where the request names none."""
    focus, target = focus_of(request), target_of(request)
    depth = settings.max_depth if focus.get("depth") is None else min(settings.max_depth, focus["depth"])
    most = settings.max_items
    relevance: dict[str, float] = {}
    found: Found = {}
    level, seen = blocks.read([target], request) if target else {}, {target}
    within, links = blocks.within_time(request), blocks.links(request) if level and depth else {}
    for step in range(depth if target else 0):
        wanted = _led_to(level, blocks.linking(list(level), links, within))
        if step == 0 and focus.get("database") is not None:
            rows = blocks.ids(blocks.has("database_id", "$in", focus["database"]), within)
            wanted |= dict.fromkeys(rows[: 2 * most], 0.75)
        new = [id_ for id_ in sorted(wanted, key=lambda id_: -wanted[id_]) if id_ not in seen][: 2 * most]
        seen.update(new)
        level = dict(list(blocks.read(new, within).items())[: most - len(found)])
        found |= level
        relevance |= {id_: wanted[id_] * LINK_DECAY**step for id_ in level}
        if not level or len(found) >= most:
            break
    return _weighed(relevance.items(), found)


def _led_to(level: Found, linking: Sequence[str]) -> dict[str, float]:
    """Return id → relevance of what a level's blocks lead to, the best first."""

    def named(key: str) -> list[str]:
        return [str(id_) for block in level.values() for id_ in read_list(block.metadata.get(key))]

    backlinks = dict.fromkeys((*named("backlinks"), *linking), 0.65)
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
    viewed: list[Candidate] = []
    if journal is not None and settings.recent_view_count:
        recent = journal.recent(user, kind="view", since=since, limit=_VIEWS_LOOKED_AT)
        ids = [activity.key[1] for activity in recent if activity.key[0] == blocks.name]
        viewed = [_summarised(block) for block in blocks.read(ids, request).values()]
    most = settings.recent_edit_count
    edited = _edited(user, (since, now), most, blocks, request) if most else []
    offered = [(block.id, 0.6 - 0.02 * i) for i, block in enumerate(edited)]
    viewed = viewed[: settings.recent_view_count]
    offered += [(block.id, 0.5 - 0.02 * i) for i, block in enumerate(viewed)]
    return _weighed(offered, {block.id: block for block in (*viewed, *edited)})


def _edited(
    user: str, span: tuple[datetime, datetime], most: int, blocks: Blocks, request: ContextRequest
) -> list[Candidate]:
    """Return a user's latest edits within a span of time."""
    since, now = span
    by_user = blocks.has("updated_by", "$in", user)
    is_number = all_of(by_user, blocks.has("updated_at", "$gte", -(2**53)))
    texts = set(blocks.ids(by_user, request)) - set(blocks.ids(is_number, request))
    recent = all_of(by_user, blocks.has("updated_at", "$gte", int(since.timestamp())))
    found = blocks.find(recent, request) | blocks.read(sorted(texts), request)
    times = {
        id_: min(at, now)
        for id_, block in found.items()
        if (at := read_instant(block.metadata.get("updated_at"))) and since <= at
    }
    return [found[id_] for id_ in sorted(times, key=lambda id_: (-times[id_].timestamp(), id_))[:most]]


def _weighed(offered: Iterable[tuple[str, float]], found: Found) -> list[Candidate]:
    """Return the blocks that were found, each by the best that it was offered with, best first."""
    relevance: dict[str, float] = {}
    for id_, value in offered:
        relevance[id_] = max(value, relevance.get(id_, 0.0))
    best_first = sorted(relevance.items(), key=lambda pair: -pair[1])
    return [replace(found[id_], relevance=value) for id_, value in best_first if id_ in found]


def _summarised(block: Candidate) -> Candidate:
    """Return a page with its `summary` for a text, where it states one."""
    summary = block.metadata.get("summary")
    return replace(block, text=summary) if isinstance(summary, str) and summary.strip() else block


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
    titles = (known[id_].get("title") for id_ in reversed(line))
    metadata: dict[str, Any] = {
        "title": f"[{name}] [{candidate.kind}]" if name else f"[{candidate.kind}]",
        "breadcrumb": [" ".join(str(title).split()) for title in titles if title],
    }
    if name:
        metadata["page_title"] = str(name)
    if near:
        shared = [i + line.index(id_) for i, id_ in enumerate(near) if id_ in line]
        metadata["tree_distance"] = min(shared, default=len(near) + len(line))
    changed = read_instant(own.get("updated_at")) or candidate.created_at
    return replace(candidate, created_at=changed, metadata={**own, **metadata})
