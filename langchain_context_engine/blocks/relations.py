"""What is connected to the focused block: rows of its database, links, and what links to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_context_engine.blocks.blocks import Blocks, Focus, Record, page_of
from langchain_context_engine.blocks.linking import StatedLinks
from langchain_context_engine.filters import EVERYTHING, Condition
from langchain_context_engine.models.metadata import read_list
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.pipeline.expand import LINK_DECAY
from langchain_context_engine.ranking.links import links_of
from langchain_context_engine.search.records import to_candidate

ROW, LINK, BACKLINK = 0.75, 0.7, 0.65
"""Relevance of a related row, of what is linked to, and of what links here."""


class RelationsSource:
    """Rows, links and backlinks of the focused block, breadth-first, each once at its shortest distance.

    Related rows are those that the block's `relations` name, and the rows (`database_id`) of the focused
    database. Links are its `links`: a list, a JSON list, or split at commas. Backlinks are the blocks whose
    `links` have it in one of these forms, and those that its own `backlinks` name. A step further,
    relevance is 0.8 of that. Each step asks the store twice, however many edges there are.

    Args:
        collection: The blocks; see `Blocks`.
        name: How people know the source.
        depth: Steps; `request.focus["depth"]` bounds it.
        most: Blocks at most.

    Raises:
        ConfigError: The collection is none.
    """

    def __init__(self, collection: Any, *, name: str = "relations", depth: int = 2, most: int = 10) -> None:
        self._blocks = Blocks(collection)
        self._stated = StatedLinks(self._blocks.handle)
        self.name = name
        self.depth = depth
        self.most = most

    @property
    def collection_name(self) -> str:
        """The collection's name: the `source` of every candidate."""
        return self._blocks.name

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return what is connected, best first; nothing where the request names no focus."""
        focus = Focus.of(request)
        depth = self.depth if focus.depth is None else min(self.depth, focus.depth)
        most = self.most if request.limit is None else min(self.most, request.offset + request.limit)
        if focus.target is None or not depth or not most:
            return []
        relevance: dict[str, float] = {}
        records: dict[str, Record] = {}
        level = self._blocks.read([focus.target], request)
        seen = {focus.target}
        rows = self._rows(focus, request)
        for step in range(depth):
            wanted = {**self._connected(level, request), **(rows if step == 0 else {})}
            best = sorted(wanted, key=lambda id_: -wanted[id_])
            new = [id_ for id_ in best if id_ not in seen][: 2 * most]
            seen.update(new)
            level = dict(list(self._blocks.read(new, request).items())[: most - len(records)])
            records |= level
            relevance |= {id_: wanted[id_] * LINK_DECAY**step for id_ in level}
            if not level or len(records) >= most:
                break
        return page_of(self._blocks.candidates(relevance, records, request), request)

    def _rows(self, focus: Focus, request: ContextRequest) -> dict[str, float]:
        if focus.database is None:
            return {}
        found = self._blocks.ids(Condition("database_id", "$in", (focus.database,)), request)
        return dict.fromkeys(found[: 2 * self.most], ROW)

    def _connected(self, level: dict[str, Record], request: ContextRequest) -> dict[str, float]:
        """Return id → relevance of what a level's blocks lead to, the best first."""
        blocks = [to_candidate(id_, record, source=self.name) for id_, record in level.items()]
        found: dict[str, float] = {}
        for value, ids in (
            (ROW, _named(blocks, "relations")),
            (LINK, [id_ for block in blocks for id_ in links_of(block)]),
            (BACKLINK, [*_named(blocks, "backlinks"), *self._linking(list(level), request)]),
        ):
            for id_ in ids:
                found.setdefault(id_, value)
        return found

    def _linking(self, ids: Sequence[str], request: ContextRequest) -> list[str]:
        tests = [{"links": test} for id_ in ids for test in ({"$contains": id_}, {"$eq": id_})]
        listed = self._blocks.ids(EVERYTHING, request, where={"$or": tests}) if tests else []
        return list(dict.fromkeys((*listed, *self._stated.to(ids))))


def _named(blocks: Sequence[Candidate], key: str) -> list[str]:
    return [str(id_) for block in blocks for id_ in read_list(block.metadata.get(key))]
