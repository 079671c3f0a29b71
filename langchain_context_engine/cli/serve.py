"""`context-engine serve`: answer over HTTP what a store knows, on this machine unless told otherwise."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.allocator import share_memory
from langchain_context_engine.cli.failure import require
from langchain_context_engine.cli.inspect import require_free
from langchain_context_engine.cli.options import (
    EngineOptions,
    RecordsOption,
    ScopeOption,
    read_pairs,
    with_engine_options,
)

if TYPE_CHECKING:
    from fastapi import FastAPI

TOKEN_VARIABLE = "CONTEXT_ENGINE_TOKEN"  # noqa: S105 - where the token is, not the token
_WORKER_VARIABLE = "CONTEXT_ENGINE_WORKER"


@with_engine_options
def serve(
    options: EngineOptions,
    *,
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", min=1, max=65535, help="Port.")] = 8765,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Processes that answer.")] = 1,
    scope: ScopeOption = None,
    records: RecordsOption = True,
) -> None:
    """Answer POST /build and POST /feedback. Ctrl-C ends it.

    With CONTEXT_ENGINE_TOKEN set, callers must send it as a bearer token; --scope says what they see.
    Feedback moves the ranking where usage has a weight: -w relevance=0.9 -w usage=0.1.

    A process answers on about one core, some thirty questions a second; with --workers several do, each of
    which has the store open and the journal in common with the others.
    """
    require("fastapi", "uvicorn")
    from langchain_context_engine.serving.server import require_token_beyond_this_machine, run

    require_token_beyond_this_machine(host, _tokens())  # before the port: on which it does not depend
    told: dict[str, Any] = {"host": host, "scope": read_pairs("--scope", scope), "records": records}
    app = _application(options, **told)  # here too, so that what is wrong is said once and at once
    require_free(host, port, "the server")
    output.note(f"answering at http://{f'[{host}]' if ':' in host else host}:{port}; Ctrl-C ends it")
    if workers == 1:
        run(app, host=host, port=port)
        return
    os.environ[_WORKER_VARIABLE] = json.dumps([dataclasses.asdict(options), told], default=str)
    run(f"{__name__}:worker", host=host, port=port, workers=workers)


def worker() -> FastAPI:
    """Return the application of one process among several, by what `serve` told in the environment."""
    given, told = json.loads(os.environ[_WORKER_VARIABLE])
    paths = {name: given[name] and Path(given[name]) for name in ("store", "settings_file")}
    return _application(EngineOptions(**given | paths), **told)


def _application(options: EngineOptions, *, host: str, scope: dict[str, Any], records: bool) -> FastAPI:
    from langchain_context_engine.designs.prime import PrimeContextService
    from langchain_context_engine.serving.server import LOOPBACK_HOSTS, create_app

    share_memory()
    service = PrimeContextService.over(options.engine(records=records, is_asked_by_others=True))
    allowed = LOOPBACK_HOSTS if host in LOOPBACK_HOSTS else None
    return create_app(service, scope=scope, tokens=_tokens(), allowed_hosts=allowed)


def _tokens() -> dict[str, dict[str, Any]] | None:
    token = os.environ.get(TOKEN_VARIABLE, "")
    return {token: {}} if token else None
