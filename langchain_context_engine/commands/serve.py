"""`context-engine serve`: answer over HTTP what a store knows, on this machine unless told otherwise."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from langchain_context_engine.answering.settings_file import read_settings as read_file
from langchain_context_engine.commands import embedders, output
from langchain_context_engine.commands.failure import CommandFailedError
from langchain_context_engine.commands.options import (
    DEFAULT_STORE,
    CollectionsOption,
    EmbeddingsOption,
    ScopeOption,
    SettingsFileOption,
    SettingsOption,
    StoreOption,
    WeightsOption,
    read_pairs,
    read_settings,
)
from langchain_context_engine.commands.store import Store
from langchain_context_engine.values.errors import ConfigError

TOKEN_VARIABLE = "CONTEXT_ENGINE_TOKEN"  # noqa: S105 - where the token is, not the token


def serve(
    *,
    store: StoreOption = DEFAULT_STORE,
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", min=1, max=65535, help="Port.")] = 8765,
    scope: ScopeOption = None,
    collections: CollectionsOption = None,
    weights: WeightsOption = None,
    settings: SettingsOption = None,
    settings_file: SettingsFileOption = None,
    embeddings: EmbeddingsOption = embedders.AUTO,
    records: Annotated[
        bool, typer.Option("--journal/--no-journal", help="Record traces and feedback.")
    ] = True,
) -> None:
    """Answer POST /build and POST /feedback. Ctrl-C ends it.

    With CONTEXT_ENGINE_TOKEN set, callers must send it as a bearer token; --scope says what they see.
    Feedback moves the ranking where usage has a weight: -w relevance=0.9 -w usage=0.1.
    """
    _require("starlette", "uvicorn")
    from langchain_context_engine.designs.prime.service import PrimeContextService
    from langchain_context_engine.serving.server import serve as run

    home = Store(store)
    file = None if settings_file is None else read_file(settings_file)
    if file is not None and file.request:
        raise ConfigError(f"{settings_file}: the table 'request' is the caller's to send; leave it out here")
    engine = home.engine(
        names=collections,
        embeddings=embeddings,
        journal=str(home.journal_path) if records else None,
        **read_settings(settings, weights, file),
    )
    token = os.environ.get(TOKEN_VARIABLE, "")
    output.note(f"answering at http://{host}:{port}; Ctrl-C ends it")
    try:
        run(
            PrimeContextService.over(engine),
            host=host,
            port=port,
            scope=read_pairs("--scope", scope),
            tokens={token: {}} if token else None,
        )
    finally:
        if engine.journal is not None:
            engine.journal.close()


def _require(*modules: str) -> None:
    from importlib.util import find_spec

    if any(find_spec(module) is None for module in modules):
        raise CommandFailedError(
            'the server is not installed: pip install "langchain-context-engine[server]"'
        )
