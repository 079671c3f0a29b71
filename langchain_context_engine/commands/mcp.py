"""`context-engine mcp`: let a coding agent ask a store, over standard input and output."""

from __future__ import annotations

from typing import Annotated

import typer

from langchain_context_engine.commands.engine_options import EngineOptions, with_engine_options
from langchain_context_engine.commands.failure import CommandFailedError
from langchain_context_engine.commands.options import RecordsOption, ScopeOption, read_pairs


@with_engine_options
def mcp(
    options: EngineOptions,
    *,
    budget: Annotated[
        int | None, typer.Option("--budget", "-b", min=1, help="Tokens of an answer; 2000 by default.")
    ] = None,
    scope: ScopeOption = None,
    records: RecordsOption = True,
) -> None:
    """Serve the tools get_context and explain_candidate to an MCP client, until it ends."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise CommandFailedError(
            'the MCP server is not installed: pip install "langchain-context-engine[mcp]"'
        )
    from langchain_context_engine.serving.mcp_server import serve_mcp

    options.refuse_request()
    engine = options.engine(records=records)
    try:
        serve_mcp(engine, scope=read_pairs("--scope", scope), budget=budget)
    finally:
        if engine.journal is not None:
            engine.journal.close()
