"""A workspace's blocks as a tree: one Chroma collection, its places told by metadata.

Read are `parent_id`, `position` (among its siblings), `page_id`, `type`, `title` or `page_title`,
`updated_at` or else `created_at`. Every read is within the request's scope: a parent, a page or a link out of
scope looks like one that does not exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_context_engine.filters import (
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
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.signals import read_number
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.records import Rows, to_candidate

Record = Mapping[str, Any]

HIGHEST = 10
"""Steps up the tree that are looked at: beyond them, nothing is near."""

_FEW = 256
"""Records that are read before the scope is checked: in one request with a condition that most records
fulfil, as a scope is, Chroma looks at all of them, which takes ten times as long as reading a few."""
_FIELDS = ("documents", "metadatas")
_METADATA = ("metadatas",)
_NAME = "\0name"
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Focus:
    """Where and who the asker is, as `request.focus` says it.

    Attributes:
        block: The focused block's id.
        page: The page's id.
        database: The database's id.
        user: Whose activity counts.
        depth: How far from the focus anything may be taken; None is as far as each source goes.
    """

    block: str | None = None
    page: str | None = None
    database: str | None = None
    user: str | None = None
    depth: int | None = None

    @classmethod
    def of(cls, request: ContextRequest) -> Focus:
        """Read `request.focus`: a mapping of these names (others are ignored), a block's id, or None.

        Raises:
            ConfigError: It is something else.
        """
        given = {"block": request.focus} if isinstance(request.focus, str) else request.focus or {}
        if not isinstance(given, Mapping):
            raise ConfigError(f"focus is a mapping such as {{'block': id}}, got {type(given).__name__}")
        fields: dict[str, Any] = {name: given.get(name) for name in cls.__slots__}
        return cls(**fields)

    @property
    def target(self) -> str | None:
        """The id of what is focused most closely."""
        return self.block or self.page or self.database


class Blocks:
    """Reads the blocks of a collection within a request's scope.

    Args:
        collection: A chromadb Collection of any synchronous client, or a `langchain_chroma.Chroma`.

    Raises:
        ConfigError: It is neither.
    """

    def __init__(self, collection: Any) -> None:
        self.handle = CollectionHandle(getattr(collection, "_collection", collection))
        self.name = self.handle.name

    def read(self, ids: Iterable[str], request: ContextRequest) -> dict[str, Record]:
        """Return id → record of those that exist and may be known, in the order of the ids; one call."""
        allowed = _allowed(request)
        wanted = list(dict.fromkeys(ids))
        if not wanted or allowed == NOTHING:
            return {}
        found, is_allowed = self.handle.read(wanted, _FIELDS), matcher(allowed)
        return {
            id_: found[id_]
            for id_ in wanted
            if id_ in found and is_allowed(found[id_].get("metadatas") or {})
        }

    def find(self, condition: Filter, request: ContextRequest) -> dict[str, dict[str, Any]]:
        """Return id → metadata of all that fulfil a condition and may be known; a second call for many."""
        is_wanted = matcher(all_of(condition, _allowed(request)))
        found = {
            id_: row["metadatas"] or {} for id_, row in self._asked(condition, request, _METADATA).items()
        }
        return {id_: metadata for id_, metadata in found.items() if is_wanted(metadata)}

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
    ) -> Rows:
        """Return what the store finds; only where that is much is it asked for what is in the scope."""
        pushed = all_of(condition, _pushed(request))
        if pushed == NOTHING:
            return {}
        few = self.handle.few(_both(where, to_chroma(condition)), include, _FEW)
        return self.handle.rows(_both(where, to_chroma(pushed)), include) if few is None else few

    def children(self, parents: Sequence[str], request: ContextRequest) -> dict[str, list[str]]:
        """Return parent → ids of its children in reading order (`position`, then id)."""
        found = self.find(Condition("parent_id", "$in", tuple(parents)), request) if parents else {}
        children: dict[str, list[str]] = {parent: [] for parent in parents}
        for id_ in sorted(found, key=lambda id_: (_position(found[id_]), id_)):
            if id_ != found[id_]["parent_id"]:
                children[found[id_]["parent_id"]].append(id_)
        return children

    def line(self, id_: str, steps: int, request: ContextRequest) -> dict[str, Record]:
        """Return a block and its ancestors, nearest first, at most so many steps up; a cycle ends it."""
        found = self.read([id_], request)
        above = id_ if id_ in found else None
        for _ in range(steps):
            parent = (found[above].get("metadatas") or {}).get("parent_id") if above else None
            if not parent or parent in found:
                break
            found |= self.read([parent], request)
            above = parent if parent in found else None
        return found

    def candidates(
        self, relevance: Mapping[str, float], records: Mapping[str, Record], request: ContextRequest
    ) -> list[Candidate]:
        """Return records as candidates with these relevances, best first, placed in the tree."""
        found = [
            to_candidate(id_, records[id_], source=self.name, relevance=value)
            for id_, value in sorted(relevance.items(), key=lambda pair: -pair[1])
            if id_ in records
        ]
        return self.placed(found, request)

    def placed(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[Candidate]:
        """Return candidates with their place in the tree told.

        `title` becomes `[page] [type]`, `page_title` the page's title, `breadcrumb` the names from the
        top to it, `created_at` when it was last changed, and where something is focused `tree_distance`
        is the number of steps between it and the focus. What has no common ancestor meets at the
        workspace itself, one step above both tops.
        """
        target = Focus.of(request).target
        known = self._with_ancestors(candidates, target, request)
        near = _line_of(target, known) if target in known else []
        return [_told(candidate, known, near) for candidate in candidates]

    def _with_ancestors(
        self, candidates: Sequence[Candidate], target: str | None, request: ContextRequest
    ) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of candidates, the target, their ancestors and pages, read level by level."""
        known = {c.id: _with_name(c.metadata, c.text) for c in candidates}
        asked = set(known)
        pages = {str(page) for c in candidates if (page := c.metadata.get("page_id"))}
        level = {*pages, *([target] if target else [])}
        for _ in range(HIGHEST + 1):
            level |= {str(parent) for m in known.values() if (parent := m.get("parent_id"))}
            level -= asked
            if not level:
                break
            asked |= level
            records = self.read(sorted(level), request)
            known |= {
                id_: _with_name(record.get("metadatas") or {}, str(record.get("documents") or ""))
                for id_, record in records.items()
            }
            level = set()
        return known


def page_of(candidates: Sequence[Candidate], request: ContextRequest) -> list[Candidate]:
    """Return the candidates that a request asks for by `offset` and `limit`."""
    end = None if request.limit is None else request.offset + request.limit
    return list(candidates[request.offset : end])


def summarised(record: Record) -> Record:
    """Return a page's record with its `summary` for a text, where it states one."""
    summary = (record.get("metadatas") or {}).get("summary")
    return {**record, "documents": summary} if isinstance(summary, str) and summary.strip() else record


def _allowed(request: ContextRequest) -> Filter:
    return all_of(Not(HIDDEN), _pushed(request))


def _pushed(request: ContextRequest) -> Filter:
    """Return what a store is asked to check; `deleted` is not, for it would look at every record."""
    return all_of(read_scope(request.scope), read_where(request.where))


def _both(*tests: dict[str, Any] | None) -> dict[str, Any] | None:
    given = [test for test in tests if test]
    return {"$and": given} if len(given) > 1 else next(iter(given), None)


def _position(metadata: Mapping[str, Any]) -> float:
    stated = read_number(metadata.get("position"))
    return float("inf") if stated is None else stated


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
    metadata: dict[str, Any] = {"title": f"[{name}] [{candidate.kind}]" if name else f"[{candidate.kind}]"}
    if name:
        metadata["page_title"] = str(name)
    line = _line_of(candidate.id, known)
    metadata["breadcrumb"] = [known[id_][_NAME] for id_ in reversed(line) if known[id_][_NAME]]
    if near:
        metadata["tree_distance"] = _steps(near, line)
    changed = read_instant(own.get("updated_at")) or candidate.created_at
    return replace(candidate, created_at=changed, metadata={**own, **metadata})


def _with_name(metadata: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """Return metadata with what a block is called: its title, else the beginning of its first line."""
    stated = " ".join(str(metadata.get("title") or "").split())
    first = " ".join(text.strip().partition("\n")[0].split())
    short = first if len(first) <= _LONGEST_NAME else f"{first[: _LONGEST_NAME - 1].rstrip()}…"
    return {**metadata, _NAME: stated or short}


def _steps(a: Sequence[str], b: Sequence[str]) -> int:
    shared = [i + b.index(id_) for i, id_ in enumerate(a) if id_ in b]
    return min(shared, default=len(a) + len(b))
