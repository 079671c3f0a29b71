"""The journal within one scope: what the inspector shows where it was started for one tenant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_context_engine import ConfigError, Context, Journal
from langchain_context_engine.journal import Answer, Judgment, TraceRow

__all__ = ["JournalWithin"]


class JournalWithin(Journal):
    """A journal that shows only traces whose question had exactly this scope, and what was said of those.

    Args:
        path: The journal's file.
        scope: Metadata that the questions were asked with.
        **options: Those of `Journal`.
    """

    def __init__(self, path: Any, scope: Mapping[str, Any], **options: Any) -> None:
        super().__init__(path, **options)
        self._digest = self.scope_digest(dict(scope))

    def traces(self, limit: int = 50, offset: int = 0, search: str = "", **conditions: Any) -> list[TraceRow]:
        """Return a page of the scope's traces."""
        return super().traces(limit, offset, search, **{**conditions, "scope": self._digest})

    def count(self, search: str = "", **conditions: Any) -> int:
        """Return how many of the scope's traces there are."""
        return super().count(search, **{**conditions, "scope": self._digest})

    def trace(self, trace_id: str) -> Context:
        """Return a trace of the scope.

        Raises:
            ConfigError: There is none of that name in it, or it cannot be read.
        """
        context = super().trace(trace_id)
        if self.scope_digest(context.request.scope) != self._digest:
            raise ConfigError(f"journal {self.path} has no trace {trace_id!r} in the scope that is shown")
        return context

    def answers(self, trace_id: str | None = None) -> list[Answer]:
        """Return the models' answers to traces of the scope."""
        mine = {row.id for row in self.traces(1_000_000)}
        return [answer for answer in super().answers(trace_id) if answer.trace_id in mine]

    def judgments(self, query: str | None = None) -> list[Judgment]:
        """Return the judgments of questions that were asked within the scope."""
        found = super().judgments(query)
        asked = {question: bool(self.count(query=question)) for question in {one.query for one in found}}
        return [one for one in found if asked[one.query]]

    def sets(self) -> Mapping[str, Mapping[str, str]]:
        """Return the named sets that hold a trace of the scope, with those alone."""
        mine = {row.id for row in self.traces(1_000_000)}
        kept = {
            name: {query: trace for query, trace in questions.items() if trace in mine}
            for name, questions in super().sets().items()
        }
        return {name: questions for name, questions in kept.items() if questions}
