"""What a user edited and viewed lately."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from langchain_context_engine.blocks.blocks import Blocks, Focus, Record, page_of, summarised
from langchain_context_engine.filters import Condition, all_of
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate

_VIEWS_LOOKED_AT = 200
"""Views of all collections among which those of this one are found."""


class ActivitySource:
    """The blocks that `request.focus["user"]` edited lately, and those viewed, latest first.

    Edits are told by the metadata `updated_by` and `updated_at`: relevance 0.6 − 0.02·i. Views are told by
    the journal (`Journal.view`): 0.5 − 0.02·i, with a page's `summary` for its text. What is both has the
    better. Epoch numbers in `updated_at` let the store leave old edits out; of ISO strings all are read.

    Args:
        collection: The blocks; see `Blocks`.
        journal: Where views are remembered; None: there are none.
        name: How people know the source.
        edits: Edits at most.
        views: Views at most.
        hours: Older ones are left out.

    Raises:
        ConfigError: The collection is none.
    """

    def __init__(
        self,
        collection: Any,
        *,
        journal: Any = None,
        name: str = "activity",
        edits: int = 10,
        views: int = 5,
        hours: float = 72,
    ) -> None:
        self._blocks = Blocks(collection)
        self._journal = journal
        self.name = name
        self.edits = edits
        self.views = views
        self.hours = hours

    @property
    def collection_name(self) -> str:
        """The collection's name: the `source` of every candidate."""
        return self._blocks.name

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return what the user did lately, best first; nothing where the request names no user."""
        user = Focus.of(request).user
        if not user or request.limit == 0:
            return []
        now = request.now or datetime.now(UTC)
        since = now - timedelta(hours=self.hours)
        edited = self._edited(user, since, now, request)
        viewed = self._viewed(user, since, request)
        relevance = {id_: max(0.0, 0.5 - 0.02 * i) for i, id_ in enumerate(viewed)}
        relevance |= {id_: max(0.0, 0.6 - 0.02 * i) for i, id_ in enumerate(edited)}
        found = self._blocks.candidates(relevance, {**viewed, **edited}, request)
        return page_of(found, request)

    def _edited(
        self, user: str, since: datetime, now: datetime, request: ContextRequest
    ) -> dict[str, Record]:
        if not self.edits:
            return {}
        by_user = Condition("updated_by", "$in", (user,))
        all_ids = self._blocks.ids(by_user, request)
        # Two cheap calls spare reading every edit ever made: a number of seconds that is too small is old.
        is_old = Condition("updated_at", "$lt", (int(since.timestamp()),))
        old = set(self._blocks.ids(all_of(by_user, is_old), request)) if all_ids else set()
        records = self._blocks.read([id_ for id_ in all_ids if id_ not in old], request)
        times = {
            id_: at
            for id_, record in records.items()
            if (at := read_instant((record.get("metadatas") or {}).get("updated_at"))) and since <= at
        }
        latest = sorted(times, key=lambda id_: (-min(times[id_], now).timestamp(), id_))[: self.edits]
        return {id_: records[id_] for id_ in latest}

    def _viewed(self, user: str, since: datetime, request: ContextRequest) -> dict[str, Record]:
        if self._journal is None or not self.views:
            return {}
        recent = self._journal.recent(user, kind="view", since=since, limit=_VIEWS_LOOKED_AT)
        ids = [activity.key[1] for activity in recent if activity.key[0] == self._blocks.name]
        found = self._blocks.read(ids, request)
        return {id_: summarised(record) for id_, record in list(found.items())[: self.views]}
