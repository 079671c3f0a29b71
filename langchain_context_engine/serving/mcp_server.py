"""An MCP server: coding agents ask the same engine for a context, and why something is in it or not.

The model chooses the question and how much it wants; scope and filters are bound by whoever starts the
server, and no tool can reach them.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import sys
import threading
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from importlib.metadata import version
from typing import Annotated, Any

from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from langchain_context_engine.errors import AllSourcesFailedError, ConfigError, ContextEngineError
from langchain_context_engine.langchain.calls import NOT_ASKED, Builder, check_options, narrowed, text_or
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Status
from langchain_context_engine.ranking.answerability import is_doubt
from langchain_context_engine.rendering.citations import list_citations
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.trace.context import Context

__all__ = ["create_mcp_server", "serve_mcp"]

_REMEMBERED = 50
_LONGEST_QUERY = 20_000
_MOST_TOKENS = 200_000
_TRIES = 4
_LEAST_FOR_ID = 100
"""Tokens from which on the context's id is told: below, every token is needed for the passages."""

_INSTRUCTIONS = (
    "Ask get_context one specific question in full sentences before you answer from memory. "
    "Cite passages by their markers. explain_candidate says why something is in a context or is not."
)
_NOTHING = {"", "null", "none", "undefined", "[]", "{}"}


def _given(value: Any) -> Any:
    """Return an optional argument, None where it was filled with nothing: a model may fill in every field."""
    if isinstance(value, str) and value.strip().lower() in _NOTHING:
        return None
    return None if isinstance(value, (int, list, dict)) and not value else value


def _given_names(value: Any) -> Any:
    names = value.split(",") if isinstance(value, str) else value
    if isinstance(names, list):
        return [name for name in names if _given(name) is not None] or None
    return _given(names)


class _Arguments(BaseModel):
    # Who sends a scope must not believe that it is heeded.
    model_config = ConfigDict(extra="forbid")


class GetContext(_Arguments):
    """Return what is known that helps to answer a question, with citation markers."""

    query: Annotated[str, Field(description="One complete question.", max_length=_LONGEST_QUERY)]
    max_tokens: Annotated[
        int | None,
        Field(description="Most tokens of the answer; 0: the usual.", ge=0, le=_MOST_TOKENS),
        BeforeValidator(_given),
    ] = None
    kinds: Annotated[
        list[str] | None,
        Field(description="Only records of these kinds, as code, commit, doc."),
        BeforeValidator(_given_names),
    ] = None


class ExplainCandidate(_Arguments):
    """Say why a record is in a context, or what kept it out."""

    candidate: Annotated[
        str,
        Field(description="A marker such as [1], a place, a path or an id.", max_length=_LONGEST_QUERY),
    ]
    context_id: Annotated[
        str | None,
        Field(description="Of get_context; without it the latest context."),
        BeforeValidator(_given),
    ] = None


_TOOLS: dict[str, type[_Arguments]] = {"get_context": GetContext, "explain_candidate": ExplainCandidate}


class _RefusedError(Exception):
    """What a model may hear of what went wrong."""


class _Tools:
    """What the tools do, with the latest contexts that were given, by id; `bound` holds for every call."""

    def __init__(self, engine: Builder, bound: ContextRequest) -> None:
        self._engine = engine
        self._bound = bound
        config = getattr(engine, "config", None)  # what only builds contexts has none
        self._count: Callable[[str], int] = (
            resolve_tokenizer("auto") if config is None else config.parts().packing.count
        )
        self._contexts: OrderedDict[str, Context] = OrderedDict()

    async def list(self, *_: Any) -> ListToolsResult:
        """Tell the tools."""
        return ListToolsResult(
            tools=[
                Tool(name=name, description=arguments.__doc__, input_schema=arguments.model_json_schema())
                for name, arguments in _TOOLS.items()
            ]
        )

    async def call(self, _: Any, params: Any) -> CallToolResult:
        """Call one."""
        try:
            arguments = self._arguments(params.name, params.arguments)
            if isinstance(arguments, GetContext):
                return await self._get_context(arguments)
            return _result(self._explain(arguments))
        except (_RefusedError, ContextEngineError) as error:
            return _result(_told(error), is_error=True)

    def _arguments(self, name: str, given: Any) -> _Arguments:
        if name not in _TOOLS:
            raise _RefusedError(f"there is no tool {name!r:.80}; there are {', '.join(_TOOLS)}")
        try:
            return _TOOLS[name].model_validate(given or {})
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False)
            told = (f"{'.'.join(map(str, fault['loc']))[:80]}: {fault['msg']}" for fault in faults[:5])
            raise _RefusedError("; ".join(told)) from None

    async def _get_context(self, asked: GetContext) -> CallToolResult:
        fields: dict[str, Any] = {"query": asked.query, **check_options({"budget": asked.max_tokens})}
        chosen = {"kinds": tuple(asked.kinds)} if asked.kinds else {}
        context_id = uuid.uuid4().hex[:8]
        context, text = await self._shown(narrowed(self._bound, {**fields, **chosen}), context_id)
        if asked.kinds and not context.candidates:
            everything = await self._engine.abuild(narrowed(self._bound, fields))
            known = sorted({candidate.kind for candidate in everything.candidates if candidate.kind})
            told = f"Nothing of kind {', '.join(asked.kinds)} was found; there is: {', '.join(known)}."
            is_told = known and not {*asked.kinds} & {*known} and self._count(told) <= context.budget
            text = told if is_told else text
        self._contexts[context_id] = context
        while len(self._contexts) > _REMEMBERED:
            self._contexts.popitem(last=False)
        return _result(text, about=_about(context, context_id))

    async def _shown(self, request: ContextRequest, context_id: str) -> tuple[Context, str]:
        """Return a context and the text that a model is shown; with its notes within the budget."""
        context = await self._engine.abuild(request)
        limit = context.budget
        for _ in range(_TRIES):
            named = f"context_id: {context_id}" if context.text and limit >= _LEAST_FOR_ID else ""
            parts = (_note(context), text_or(context, "Nothing was found."), named)
            text = "\n\n".join(filter(None, parts))
            over = self._count(text) - limit
            if over <= 0:
                return context, text
            if not context.text:
                break
            context = await self._engine.abuild(replace(request, budget=max(0, context.budget - over)))
        return context, context.text

    def _explain(self, asked: Any) -> str:
        latest = next(reversed(self._contexts), None)
        context = self._contexts.get(asked.context_id or latest or "")
        if context is None:
            raise _RefusedError("there is no such context (any more); call get_context first")
        try:
            return context.explain(asked.candidate)
        except ConfigError as error:
            raise _RefusedError(f"no such candidate of that context: {error}") from None


def create_mcp_server(engine: Builder, *, name: str = "context-engine", **bound: Any) -> Server[Any]:
    """Return an MCP server with the tools `get_context` and `explain_candidate`.

    Args:
        engine: What builds the contexts.
        name: What clients call the server.
        **bound: Request fields that hold for every call, `scope` above all.

    Raises:
        TypeError: A bound field is unknown.
        ConfigError: A bound value is wrong.
    """
    tools = _Tools(engine, ContextRequest(**check_options(bound)))
    return Server(
        name,
        version=version("langchain-context-engine"),
        instructions=_INSTRUCTIONS,
        on_list_tools=tools.list,
        on_call_tool=tools.call,
    )


def serve_mcp(engine: Builder, **bound: Any) -> None:
    """Run the server over standard input and output until the client, Ctrl-C or SIGTERM ends it.

    Args:
        engine: What builds the contexts.
        **bound: See `create_mcp_server`.
    """
    server = create_mcp_server(engine, **bound)

    async def run() -> None:
        lines: Any = _lines()
        async with stdio_server(stdin=lines) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run())


async def _lines() -> AsyncIterator[str]:
    """Give the lines of standard input, read by a thread for which nobody waits at the end."""
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[bytes | None](maxsize=16)
    try:
        # Not the one that Python closes at its end: whoever waits in it would be waited for.
        stdin: Any = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    except (io.UnsupportedOperation, OSError):
        stdin = sys.stdin.buffer

    def read() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            for line in stdin:
                asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
            asyncio.run_coroutine_threadsafe(lines.put(None), loop).result()

    threading.Thread(target=read, name="context-mcp", daemon=True).start()
    while (line := await lines.get()) is not None:
        # Of a line in UTF-16 half a line end stands before the next one.
        if told := line.decode("utf-8", "replace").strip("\0\r\n"):
            yield told


def _note(context: Context) -> str:
    """Return what a model should know before it believes the text; "" where there is nothing to say."""
    if context.status is Status.EMPTY:
        return ""
    if context.status is Status.OK:
        return "".join(f"Note: {warning}" for warning in context.warnings if is_doubt(warning))
    return "Note: " + ("; ".join(context.warnings) or f"this answer is {context.status}.")


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


def _result(text: str, *, about: dict[str, Any] | None = None, is_error: bool = False) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        is_error=is_error,
        _meta=None if about is None else {"context-engine": about},
    )


def _told(error: Exception) -> str:
    """Return what a model may hear of an error: what it said wrong, and nothing about the inside."""
    if isinstance(error, _RefusedError):
        return str(error)
    if isinstance(error, ConfigError):
        return "the question could not be asked this way"
    return NOT_ASKED if isinstance(error, AllSourcesFailedError) else "the context could not be built"
