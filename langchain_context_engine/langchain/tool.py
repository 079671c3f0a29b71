"""`as_tool`: an engine as a tool that a model may call."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field

from langchain_context_engine.answering.context import Context
from langchain_context_engine.langchain.calls import Builder
from langchain_context_engine.langchain.runnable import ContextRunnable

_DESCRIPTION = (
    "Search what is known and get the most relevant passages, with citation markers. "
    "Ask one specific question in full sentences; ask again in other words if the answer is not there."
)
_NOTHING = "No relevant content found."


class SearchArguments(BaseModel):
    """What the model may say: the question, and nothing about scope, filters or budget."""

    query: str = Field(description="The question to search for, complete in itself.")


def as_tool(
    engine: Builder, *, name: str = "search_context", description: str = _DESCRIPTION, **bound: Any
) -> StructuredTool:
    """Return a tool that answers with the context's text, and with the `Context` as its artifact.

    The model chooses the query only; scope, filters and budget are bound here and cannot be reached by it.
    Where nothing is found the content says so, since some models refuse an empty answer. An agent's
    checkpoint keeps the artifact as plain data, as it does any dataclass.

    Args:
        engine: What builds the context.
        name: What the model calls it.
        description: What the model reads about it.
        **bound: Request fields that hold for every call, `scope` above all.

    Raises:
        TypeError: A bound field is unknown.
        ConfigError: A bound value is wrong.

    Example:
        >>> from langchain_context_engine import ContextEngine
        >>> tool = as_tool(ContextEngine(sources=[]), budget=500)
        >>> tool.name, list(tool.args)
        ('search_context', ['query'])
    """
    # Its run becomes a child of the tool's by the context variables that LangChain sets.
    search = ContextRunnable(engine, **bound)

    def run(query: str) -> tuple[str, Context]:
        context = search.invoke(query)
        return context.text or _NOTHING, context

    async def arun(query: str) -> tuple[str, Context]:
        context = await search.ainvoke(query)
        return context.text or _NOTHING, context

    return StructuredTool.from_function(
        run,
        arun,
        name=name,
        description=description,
        args_schema=SearchArguments,
        response_format="content_and_artifact",
    )
