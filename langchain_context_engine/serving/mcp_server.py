"""An MCP server: coding agents ask the same engine for a context, and why something is in it or not.

The model chooses the question and how much it wants; scope and filters are bound by whoever starts the
server, and no tool can reach them.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field

from langchain_context_engine.answering.cited import list_citations
from langchain_context_engine.answering.context import Context
from langchain_context_engine.langchain.calls import Builder, check_options, narrowed
from langchain_context_engine.langchain.plain import NOT_ASKED
from langchain_context_engine.serving.strict_tools import own_version, refuse_unknown_arguments
from langchain_context_engine.values.errors import AllSourcesFailedError, ConfigError, ContextEngineError
from langchain_context_engine.values.types import ContextRequest

if TYPE_CHECKING:
    from mcp.server import MCPServer

__all__ = ["create_mcp_server", "serve_mcp"]

_REMEMBERED = 50
_LONGEST_QUERY = 20_000
_MOST_TOKENS = 200_000
_INSTRUCTIONS = (
    "Ask get_context one specific question in full sentences before you answer from memory. "
    "Cite passages by their markers. explain_candidate says why something is in a context or is not."
)


class CitedSource(BaseModel):
    """What stands behind a marker."""

    marker: str
    source: str = Field(description="Its path or title.")
    kind: str = ""
    excerpt: str = ""


class Answer(BaseModel):
    """A context for a question."""

    context_id: str = Field(description="Names this context for explain_candidate.")
    text: str = Field(description="The passages with their markers; empty where nothing was found.")
    tokens: int
    status: str = Field(description="ok; partial: a source failed; empty: nothing found.")
    citations: list[CitedSource]


class _Contexts:
    """The latest contexts that the server gave, by id."""

    def __init__(self) -> None:
        self._given: OrderedDict[str, Context] = OrderedDict()

    def add(self, context: Context) -> str:
        context_id = uuid.uuid4().hex[:12]
        self._given[context_id] = context
        while len(self._given) > _REMEMBERED:
            self._given.popitem(last=False)
        return context_id

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

    fixed = ContextRequest(**check_options(bound))
    contexts = _Contexts()
    server = MCPServer(name, instructions=_INSTRUCTIONS, log_level="WARNING", version=own_version())

    @server.tool()
    async def get_context(
        query: Annotated[str, Field(description="One complete question.", max_length=_LONGEST_QUERY)],
        max_tokens: Annotated[
            int | None, Field(description="Tokens that the text may have.", ge=0, le=_MOST_TOKENS)
        ] = None,
        kinds: Annotated[
            list[str] | None, Field(description="Only records of these kinds, as code, commit, doc.")
        ] = None,
    ) -> Answer:
        """Return what is known that helps to answer a question, with citation markers."""
        options = check_options({"budget": max_tokens, "kinds": None if kinds is None else tuple(kinds)})
        try:
            context = await engine.abuild(narrowed(fixed, {"query": query, **options}))
        except ContextEngineError as error:
            raise ToolError(_told(error)) from None
        return _answer(context, contexts.add(context))

    @server.tool()
    def explain_candidate(
        candidate: Annotated[
            str, Field(description="A marker such as [1], an id, or a path.", max_length=_LONGEST_QUERY)
        ],
        context_id: Annotated[
            str | None, Field(description="Of get_context; without it the latest context.")
        ] = None,
    ) -> str:
        """Say why a record is in a context, or what kept it out."""
        context = contexts.find(context_id)
        if context is None:
            raise ToolError("there is no such context (any more); call get_context first")
        key = _key_of(candidate, context)
        if key is None:
            raise ToolError("no such candidate: no source offered it for that question")
        return context.explain(key)

    refuse_unknown_arguments(server)
    return server


def serve_mcp(engine: Builder, **bound: Any) -> None:
    """Run the server over standard input and output until the client ends it; see `create_mcp_server`."""
    create_mcp_server(engine, **bound).run("stdio")


def _answer(context: Context, context_id: str) -> Answer:
    cited = [
        CitedSource(marker=c.marker, source=c.source, kind=c.kind, excerpt=c.excerpt[:200])
        for c in list_citations(context)
    ]
    return Answer(
        context_id=context_id,
        text=context.text,
        tokens=context.tokens,
        status=str(context.status),
        citations=cited,
    )


def _told(error: ContextEngineError) -> str:
    """Return what a model may hear of an error: what it said wrong, and nothing about the inside."""
    if isinstance(error, ConfigError):
        return "the question could not be asked this way"
    if isinstance(error, AllSourcesFailedError):
        return NOT_ASKED
    return "the context could not be built"


def _key_of(named: str, context: Context) -> tuple[str, str] | None:
    """Return the key of the candidate that a model means by a marker, an id or a path."""
    wanted = named.strip()
    markers: Mapping[str, tuple[str, str]] = context.citations
    for marker in (wanted, f"[{wanted}]"):
        if marker in markers:
            return markers[marker][0], markers[marker][1]
    for candidate in context.candidates:
        names = (candidate.id, "/".join(candidate.key), candidate.metadata.get("path"))
        if wanted in names:
            return candidate.key
    return None
