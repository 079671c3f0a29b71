"""An MCP server: coding agents ask the same engine for a context, and why something is in it or not.

The model chooses the question and how much it wants; scope and filters are bound by whoever starts the
server, and no tool can reach them.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from typing import TYPE_CHECKING, Annotated, Any

from mcp.types import CallToolResult
from pydantic import BeforeValidator, Field

from langchain_context_engine.langchain.calls import Builder, check_options, narrowed
from langchain_context_engine.langchain.plain import NOT_ASKED
from langchain_context_engine.models.errors import AllSourcesFailedError, ConfigError, ContextEngineError
from langchain_context_engine.models.types import ContextRequest
from langchain_context_engine.serving.shown import counter_of, shown_within, unknown_kinds
from langchain_context_engine.serving.strict_tools import (
    given,
    given_names,
    own_version,
    refuse_unknown_arguments,
)
from langchain_context_engine.trace.cited import list_citations
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.names import labels, meant

if TYPE_CHECKING:
    from mcp.server import MCPServer

__all__ = ["create_mcp_server", "serve_mcp"]

_REMEMBERED = 50
_MOST_LISTED = 20
_LONGEST_QUERY = 20_000
_MOST_TOKENS = 200_000
_INSTRUCTIONS = (
    "Ask get_context one specific question in full sentences before you answer from memory. "
    "Cite passages by their markers. explain_candidate says why something is in a context or is not."
)


class _Contexts:
    """The latest contexts that the server gave, by id."""

    def __init__(self) -> None:
        self._given: OrderedDict[str, Context] = OrderedDict()

    def add(self, context_id: str, context: Context) -> None:
        self._given[context_id] = context
        while len(self._given) > _REMEMBERED:
            self._given.popitem(last=False)

    def find(self, context_id: str | None) -> Context | None:
        if context_id is None:
            return next(reversed(self._given.values()), None)
        return self._given.get(context_id)


def create_mcp_server(engine: Builder, *, name: str = "context-engine", **bound: Any) -> MCPServer:
    """Return an MCP server with the tools `get_context` and `explain_candidate`.

    Args:
        engine: What builds the contexts.
        name: What clients call the server.
        **bound: Request fields that hold for every call, `scope` above all.

    Raises:
        TypeError: A bound field is unknown.
        ConfigError: A bound value is wrong.
    """
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import TextContent

    fixed = ContextRequest(**check_options(bound))
    contexts = _Contexts()
    count = counter_of(engine)
    server = MCPServer(name, instructions=_INSTRUCTIONS, log_level="WARNING", version=own_version())

    @server.tool()
    async def get_context(
        query: Annotated[str, Field(description="One complete question.", max_length=_LONGEST_QUERY)],
        max_tokens: Annotated[
            int | None,
            Field(description="Most tokens of the answer; 0: the usual.", ge=0, le=_MOST_TOKENS),
            BeforeValidator(given),
        ] = None,
        kinds: Annotated[
            list[str] | None,
            Field(description="Only records of these kinds, as code, commit, doc."),
            BeforeValidator(given_names),
        ] = None,
    ) -> CallToolResult:
        """Return what is known that helps to answer a question, with citation markers."""
        chosen = {"kinds": tuple(kinds)} if kinds else {}
        asked = {"query": query, **check_options({"budget": max_tokens or None})}
        context_id = uuid.uuid4().hex[:8]
        try:
            context, text = await shown_within(
                engine.abuild, narrowed(fixed, {**asked, **chosen}), count, context_id
            )
            if kinds and not context.candidates:
                told = await unknown_kinds(engine.abuild, narrowed(fixed, asked), kinds)
                text = told if told and count(told) <= context.budget else text
        except ContextEngineError as error:
            raise ToolError(_told(error)) from None
        contexts.add(context_id, context)
        return CallToolResult(
            content=[TextContent(type="text", text=text)],
            _meta={"context-engine": _about(context, context_id)},
        )

    @server.tool()
    def explain_candidate(
        candidate: Annotated[
            str,
            Field(description="A marker such as [1], a place, a path or an id.", max_length=_LONGEST_QUERY),
        ],
        context_id: Annotated[
            str | None,
            Field(description="Of get_context; without it the latest context."),
            BeforeValidator(given),
        ] = None,
    ) -> str:
        """Say why a record is in a context, or what kept it out."""
        context = contexts.find(context_id)
        if context is None:
            raise ToolError("there is no such context (any more); call get_context first")
        found = meant(candidate, context)
        if not found:
            raise ToolError("no such candidate: no source offered it for that question")
        if len(found) > 1:
            told = labels(context)
            listed = "; ".join(told[key] for key in found[:_MOST_LISTED])
            raise ToolError(f"{len(found)} candidates are called that; name one of: {listed}")
        return context.explain(found[0])

    refuse_unknown_arguments(server)
    return server


def serve_mcp(engine: Builder, **bound: Any) -> None:
    """Run the server over standard input and output until the client ends it; see `create_mcp_server`."""
    create_mcp_server(engine, **bound).run("stdio")


def _about(context: Context, context_id: str) -> dict[str, Any]:
    """Return what a client's program may want to know; a model is not shown it."""
    return {
        "context_id": context_id,
        "tokens": context.tokens,
        "status": str(context.status),
        "citations": [
            {"marker": c.marker, "source": c.source, "place": c.place, "kind": c.kind}
            for c in list_citations(context)
        ],
    }


def _told(error: ContextEngineError) -> str:
    """Return what a model may hear of an error: what it said wrong, and nothing about the inside."""
    if isinstance(error, ConfigError):
        return "the question could not be asked this way"
    if isinstance(error, AllSourcesFailedError):
        return NOT_ASKED
    return "the context could not be built"
