"""`context-engine mcp`: let a coding agent ask a store, over standard input and output."""

from __future__ import annotations

from typing import Annotated

import typer

from langchain_context_engine.commands import embedders
from langchain_context_engine.commands.failure import CommandFailedError
from langchain_context_engine.commands.options import (
    DEFAULT_STORE,
    CollectionsOption,
    EmbeddingsOption,
    ScopeOption,
    SettingsOption,
    StoreOption,
    WeightsOption,
    read_pairs,
    read_settings,
)
from langchain_context_engine.commands.store import Store


def mcp(
    *,
    store: StoreOption = DEFAULT_STORE,
    budget: Annotated[
        int | None, typer.Option("--budget", "-b", min=1, help="Tokens of an answer; 2000 by default.")
    ] = None,
    scope: ScopeOption = None,
    collections: CollectionsOption = None,
    weights: WeightsOption = None,
    settings: SettingsOption = None,
    embeddings: EmbeddingsOption = embedders.AUTO,
    records: Annotated[bool, typer.Option("--journal/--no-journal", help="Record traces.")] = True,
) -> None:
    """Serve the tools get_context and explain_candidate to an MCP client, until it ends."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise CommandFailedError(
            'the MCP server is not installed: pip install "langchain-context-engine[mcp]"'
        )
    from langchain_context_engine.serving.mcp_server import serve_mcp

    home = Store(store)
    engine = home.engine(
        names=collections,
        embeddings=embeddings,
        journal=str(home.journal_path) if records else None,
        **read_settings(settings, weights),
    )
    try:
        serve_mcp(engine, scope=read_pairs("--scope", scope), budget=budget)
    finally:
        if engine.journal is not None:
            engine.journal.close()
