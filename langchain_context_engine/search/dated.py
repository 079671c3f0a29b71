"""Finders that go by dates: what was opened last, and what was said last in a thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langchain_context_engine.filtering.filters import Condition, Filter, Matcher, all_of, matcher
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.search.finders import Hit, Searched, first, focused
from langchain_context_engine.search.view import View

_NEVER = datetime.min.replace(tzinfo=UTC)
_VIEWS_READ, _CHOSEN_AT_ONCE = 200, 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentlyAccessed:
    """Finds what was opened last: by a date in the metadata, and by the user's views in a journal.

    Attributes:
        by: The metadata key; records without it, and without a view, are not found.
        journal: A `Journal`, or None.
        user_key: The key of the request's scope that names the user.
    """

    by: str = "accessed_at"
    journal: Any = None
    user_key: str = "user_id"

    def __call__(self, searched: Searched, request: ContextRequest, needed: int) -> list[Hit]:
        """Return the records, latest first."""
        dated = _dated(searched, searched.wanted, self.by)
        for id_, at in self._views(searched.handle.name, request).items():
            dated[id_] = max(at, dated.get(id_, at))
        return _newest(searched, dated, needed)

    def _views(self, collection: str, request: ContextRequest) -> dict[str, datetime]:
        user = request.scope.get(self.user_key)
        if self.journal is None or not isinstance(user, str):
            return {}
        seen = self.journal.recent(user, limit=_VIEWS_READ)
        return {view.key[1]: view.time for view in reversed(seen) if view.key[0] == collection}


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
        wanted = all_of(Condition(self.thread_key, "$in", (thread,)), searched.wanted)
        is_of_thread = matcher(wanted)

        def is_wanted(metadata: Mapping[str, Any]) -> bool:
            return is_of_thread(metadata) and not (self.lacking and metadata.get(self.lacking) is not None)

        return _newest(searched, _dated(searched, wanted, self.by, undated=_NEVER), needed, is_wanted)


def _dated(
    searched: Searched, wanted: Filter, key: str, *, undated: datetime | None = None
) -> dict[str, datetime]:
    """Return id → date of at least the records that a filter admits; the undated get one, or are out."""
    view = searched.view
    dates, ids = _dates_of(view, key), view.chosen(wanted, _CHOSEN_AT_ONCE)
    if undated is None:
        return dict(dates) if ids is None else {id_: dates[id_] for id_ in ids if id_ in dates}
    return {id_: dates.get(id_, undated) for id_ in (view.all_ids() if ids is None else ids)}


def _dates_of(view: View, key: str) -> Mapping[str, datetime]:
    """Return id → the instant that a metadata key names, of the records where it names one."""
    known = view.memo.dates.get(key)
    if known is None:
        known = view.memo.dates[key] = _instants(view.rows.having(key), key)
    if not len(view.since):
        return known
    news = _instants(((new.id, new.metadata) for new in view.since.news()), key)
    return {id_: at for id_, at in known.items() if not view.since.has(id_)} | news


def _instants(records: Iterable[tuple[str, Mapping[str, Any]]], key: str) -> dict[str, datetime]:
    read = ((id_, read_instant(metadata.get(key))) for id_, metadata in records)
    return {id_: at for id_, at in read if at is not None}


def _newest(
    searched: Searched, dated: Mapping[str, datetime], needed: int, is_wanted: Matcher | None = None
) -> list[Hit]:
    latest_first = sorted(sorted(dated), key=dated.__getitem__, reverse=True)
    found = first(searched.admitted(latest_first, is_wanted), needed)
    return [Hit(id=id_, relevance=1 / (1 + place)) for place, id_ in enumerate(found)]
