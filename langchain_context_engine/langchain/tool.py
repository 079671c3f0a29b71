"""`as_tool`: an engine as a tool that a model may call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field

from langchain_context_engine.langchain.calls import NOT_ASKED, Builder, check_failure_option, text_or
from langchain_context_engine.langchain.runnable import ContextRunnable
from langchain_context_engine.trace.context import Context

_DESCRIPTION = (
    "Search what is known and get the most relevant passages, with citation markers. "
    "Ask one specific question in full sentences; ask again in other words if the answer is not there."
)
_NOTHING = "No relevant content found."

Answer = tuple[str, dict[str, Any] | None]
"""What the model reads, and the trace; None where no source could be asked."""


class SearchArguments(BaseModel):
    """What the model may say: the question, and nothing about scope, filters or budget."""

    query: str = Field(description="The question to search for, complete in itself.")


def as_tool(
    engine: Builder,
    *,
    name: str = "search_context",
    description: str = _DESCRIPTION,
    on_failure: Literal["tell", "raise"] = "tell",
    **bound: Any,
) -> StructuredTool:
    """Return a tool that answers with the context's text, and with the whole trace as its artifact.

    The artifact is plain JSON, as checkpoints and queues want it; `Context.from_dict` reads it back.

    The model chooses the query only; scope, filters and budget are bound here and cannot be reached by it.
    Where nothing is found the content says so, since some models refuse an empty answer.

    Args:
        engine: What builds the context.
        name: What the model calls it.
        description: What the model reads about it.
        on_failure: Where every source failed, `tell` the model so and let it go on, or `raise`.
        **bound: Request fields that hold for every call, `scope` above all.

    Raises:
        TypeError: A bound field is unknown.
        ConfigError: A bound value is wrong.
        AllSourcesFailedError: (calling) Every source failed, and `on_failure` is `raise`.

    Example:
        >>> from langchain_context_engine import ContextEngine
        >>> tool = as_tool(ContextEngine(sources=[]), budget=500)
        >>> tool.name, list(tool.args)
        ('search_context', ['query'])
    """
    search = _Search(ContextRunnable(engine, **bound), check_failure_option(on_failure))
    return StructuredTool.from_function(
        search.run,
        search.arun,
        name=name,
        description=description,
        args_schema=SearchArguments,
        response_format="content_and_artifact",
    )


@dataclass(frozen=True, slots=True)
class _Search:
    """What a tool runs: no function within another, so that a tool is pickled where its engine is."""

    # Its run becomes a child of the tool's by the context variables that LangChain sets.
    runnable: ContextRunnable
    failures: tuple[type[Exception], ...]

    def run(self, query: str) -> Answer:
        try:
            return _answer(self.runnable.invoke(query))
        except self.failures:
            return NOT_ASKED, None

    async def arun(self, query: str) -> Answer:
        try:
            return _answer(await self.runnable.ainvoke(query))
        except self.failures:
            return NOT_ASKED, None


def _answer(context: Context) -> Answer:
    return text_or(context, _NOTHING), context.to_dict()
