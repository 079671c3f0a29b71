"""What stands around the block or page that somebody is at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_context_engine.blocks.blocks import Blocks, Focus, page_of, summarised
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate


class FocusSource:
    """The focused block with its ancestors, siblings, children, and the summary of its page.

    Relevance: the block 1; ancestors 0.9 − 0.1·i, nearest first; children 0.85 − 0.05·i in reading
    order, a level further down 0.1 less; siblings 0.8 − 0.05·i, nearest first, the one before it first; the
    page's summary 0.9. What is several of these has the best. Without a block the page is focused, without
    a page the database.

    Args:
        collection: The blocks; see `Blocks` for the metadata that are read.
        name: How people know the source.
        ancestors: Levels up.
        siblings: Siblings on each side.
        children: Children of each block.
        levels: Levels down; `request.focus["depth"]` replaces it, and bounds the levels up.

    Raises:
        ConfigError: The collection is none.
    """

    def __init__(
        self,
        collection: Any,
        *,
        name: str = "focus",
        ancestors: int = 3,
        siblings: int = 2,
        children: int = 5,
        levels: int = 1,
    ) -> None:
        self._blocks = Blocks(collection)
        self.name = name
        self.ancestors = ancestors
        self.siblings = siblings
        self.children = children
        self.levels = levels

    @property
    def collection_name(self) -> str:
        """The collection's name: the `source` of every candidate."""
        return self._blocks.name

    def get(self, ids: Sequence[str], request: ContextRequest) -> list[Candidate]:
        """Return the blocks of these ids in their order; the missing and the out of scope are left out."""
        return self._blocks.candidates(dict.fromkeys(ids, 0.0), self._blocks.read(ids, request), request)

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return what is around the focus, best first; nothing where the request names none."""
        focus = Focus.of(request)
        target = focus.target
        if target is None or request.limit == 0:
            return []
        up = self.ancestors if focus.depth is None else min(self.ancestors, focus.depth)
        line = self._blocks.line(target, up, request)
        if target not in line:
            return []
        relevance = {id_: 1.0 if i == 0 else 0.9 - 0.1 * (i - 1) for i, id_ in enumerate(line)}
        down = self.levels if focus.depth is None else focus.depth
        for id_, value in (
            *self._below(target, down, request),
            *self._beside(target, line, request),
            *([(focus.page, 0.9)] if focus.page else []),
        ):
            relevance[id_] = max(value, relevance.get(id_, 0.0))
        records = {**line, **self._blocks.read([id_ for id_ in relevance if id_ not in line], request)}
        if focus.page in records:
            records[focus.page] = summarised(records[focus.page])
        return page_of(self._blocks.candidates(relevance, records, request), request)

    def _below(self, target: str, levels: int, request: ContextRequest) -> list[tuple[str, float]]:
        found: list[tuple[str, float]] = []
        parents = [target]
        seen = {target}
        for level in range(levels):
            children = self._blocks.children(parents, request)
            parents = []
            for ids in children.values():
                new = [id_ for id_ in ids if id_ not in seen][: self.children]
                seen.update(new)
                parents += new
                found += [(id_, 0.85 - 0.05 * i - 0.1 * level) for i, id_ in enumerate(new)]
            if not parents:
                break
        return [(id_, max(0.0, value)) for id_, value in found]

    def _beside(self, target: str, line: Any, request: ContextRequest) -> list[tuple[str, float]]:
        parent = (line[target].get("metadatas") or {}).get("parent_id")
        if not parent or not self.siblings:
            return []
        siblings = self._blocks.children([parent], request)[parent]
        if target not in siblings:
            return []
        place = siblings.index(target)
        before = siblings[max(0, place - self.siblings) : place][::-1]
        after = siblings[place + 1 : place + 1 + self.siblings]
        # Nearest first, the one before and the one after in turn.
        turns = max(len(before), len(after))
        nearest = [id_ for i in range(turns) for id_ in (*before[i : i + 1], *after[i : i + 1])]
        return [(id_, 0.8 - 0.05 * i) for i, id_ in enumerate(nearest)]
