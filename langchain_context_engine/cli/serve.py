"""`context-engine serve` and `mcp`: answer others what a store knows, over HTTP or to a coding agent."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.embedders import AUTO
from langchain_context_engine.cli.inspect import require_free
from langchain_context_engine.cli.options import (
    EngineOptions,
    RecordsOption,
    ScopeOption,
    with_engine_options,
)
from langchain_context_engine.cli.process import CommandFailedError, require, share_memory
from langchain_context_engine.errors import UnknownNameError
from langchain_context_engine.models.metadata import read_pairs

if TYPE_CHECKING:
    from fastapi import FastAPI

    from langchain_context_engine.designs.prime import PrimeContextService

BEARER_VARIABLE = "CONTEXT_ENGINE_TOKEN"
_WORKER_VARIABLE = "CONTEXT_ENGINE_WORKER"

ENGINE, PRIME = "engine", "prime"
"""What can be served."""

CLIENTS: Mapping[str, tuple[str, str]] = {
    "claude": ("mcpServers", ".mcp.json, or Claude Desktop's claude_desktop_config.json"),
    "cline": ("mcpServers", "Cline's cline_mcp_settings.json"),
    "codex": ("mcp_servers", "~/.codex/config.toml"),
    "cursor": ("mcpServers", ".cursor/mcp.json"),
    "gemini": ("mcpServers", ".gemini/settings.json"),
    "opencode": ("mcp", "opencode.json"),
    "vscode": ("servers", ".vscode/mcp.json"),
    "windsurf": ("mcpServers", "~/.codeium/windsurf/mcp_config.json"),
    "zed": ("context_servers", "Zed's settings.json"),
}
"""Coding agents: under which key their settings name a server, and where those settings are."""


@with_engine_options
def serve(
    options: EngineOptions,
    *,
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", min=1, max=65535, help="Port.")] = 8765,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Processes that answer.")] = 1,
    scope: ScopeOption = None,
    design: Annotated[
        str, typer.Option("--design", help="What answers: engine, or the design prime.")
    ] = ENGINE,
    records: RecordsOption = True,
) -> None:
    """Answer POST /build and POST /feedback. Ctrl-C ends it.

    With CONTEXT_ENGINE_TOKEN set, callers must send it as a bearer token; --scope says what they see.
    Feedback moves the ranking where usage has a weight: -w relevance=0.9 -w usage=0.1.

    A process answers on one core, which one client can keep busy (about 0.1 s of processor an answer, for 64
    clients as for one); with --workers several do, with the journal in common: two cores, twice the answers.

    With --design prime the collections are files, found by words and without vectors; threads, references
    and feedback count. The collections `messages` and `references` are no files.
    """
    require("fastapi", "uvicorn")
    from langchain_context_engine.serving.server import require_token_beyond_this_machine, run

    require_token_beyond_this_machine(host, _tokens())  # before the port: on which it does not depend
    told: dict[str, Any] = {"host": host, "scope": read_pairs("--scope", scope)}
    told |= {"design": design, "records": records}
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


def _application(options: EngineOptions, *, host: str, scope: dict[str, Any], **chosen: Any) -> FastAPI:
    from langchain_context_engine.serving.server import LOOPBACK_HOSTS, create_app

    share_memory()
    service = _service(options, "user_id" in scope, **chosen)
    allowed = LOOPBACK_HOSTS if host in LOOPBACK_HOSTS else None
    return create_app(service, scope=scope, tokens=_tokens(), allowed_hosts=allowed)


def _service(options: EngineOptions, has_users: bool, *, design: str, records: bool) -> PrimeContextService:
    """Return what answers: the engine, or the prime-context design over files and what belongs to threads."""
    from langchain_context_engine.designs.prime import PrimeContextService, PrimeSettings

    if design == ENGINE:
        return PrimeContextService.over(options.engine(records=records, is_asked_by_others=True))
    if design != PRIME:
        raise UnknownNameError("design to serve", design, (ENGINE, PRIME))
    found = {collection.name: collection for collection in options.home.collections()}
    threads = [found.pop(name, None) for name in ("messages", "references")]
    for name in options.collections or ():
        if name not in found:
            raise UnknownNameError("collection of files", name, found)
    files = [found[name] for name in options.collections or found]
    # Whose a record is counts where the server says whose may be seen.
    settings = PrimeSettings(user_key="user_id" if has_users else "")
    given = options.given(records=records, is_asked_by_others=True)
    service = PrimeContextService(files, *threads, settings=settings, **given)
    service.prepare()
    return service


def _tokens() -> dict[str, dict[str, Any]] | None:
    token = os.environ.get(BEARER_VARIABLE, "")
    return {token: {}} if token else None


@with_engine_options
def mcp(
    options: EngineOptions,
    *,
    budget: Annotated[
        int | None, typer.Option("--budget", "-b", min=1, help="Tokens of an answer; 2000 by default.")
    ] = None,
    scope: ScopeOption = None,
    records: RecordsOption = True,
    register: Annotated[
        str | None,
        typer.Option("--register", metavar="CLIENT", help=f"Print settings of {', '.join(CLIENTS)}."),
    ] = None,
) -> None:
    """Serve the tools get_context and explain_candidate to an MCP client, until it ends.

    With --register it prints the settings by which a coding agent starts it, from any folder and without this
    shell's PATH: its store and command are absolute, and the other options given here stand in it.
    """
    if register is not None:
        file = options.settings_file
        told: dict[str, Iterable[object] | None] = {
            "--budget": [budget] if budget else None,
            "--scope": scope,
            "--collection": options.collections,
            "--weight": options.weights,
            "--set": options.settings,
            "--settings": [file.absolute()] if file else None,
            "--embeddings": None if options.embeddings == AUTO else [options.embeddings],
        }
        more = [
            str(part) for name, values in told.items() for value in values or () for part in (name, value)
        ]
        _register(register, options, more if records else [*more, "--no-journal"])
        return
    require("mcp")
    from langchain_context_engine.serving.mcp_server import serve_mcp

    share_memory()
    engine = options.engine(records=records, is_asked_by_others=True)
    try:
        serve_mcp(engine, scope=read_pairs("--scope", scope), budget=budget)
    finally:
        if engine.journal is not None:
            engine.journal.close()


def _register(client: str, options: EngineOptions, more: Sequence[str]) -> None:
    """Print the settings of a coding agent that start this server, over an absolute store."""
    if client not in CLIENTS:
        raise UnknownNameError("client", client, CLIENTS)
    store = options.store.absolute()
    if not options.home.exists:
        raise CommandFailedError(
            f"there is no store in {store}; make one first: context-engine index PATH --store {store}"
        )
    key, place = CLIENTS[client]
    output.note(f"for {place}:")
    # In full: a client is seldom started where this environment is active.
    beside = str(Path(sys.executable).parent)
    command = (
        shutil.which("context-engine", path=beside) or shutil.which("context-engine") or "context-engine"
    )
    arguments = ["mcp", "--store", str(store), *more]
    if client == "codex":
        # A text in JSON is one in TOML.
        told = (json.dumps(each, ensure_ascii=False) for each in (command, arguments))
        output.write_json("[{}.context-engine]\ncommand = {}\nargs = {}".format(key, *told))
        return
    entry: dict[str, Any] = {"command": command, "args": arguments}
    if client == "opencode":
        entry = {"type": "local", "command": [command, *arguments], "enabled": True}
    elif client == "vscode":
        entry = {"type": "stdio", **entry}
    output.write_json(json.dumps({key: {"context-engine": entry}}, indent=2, ensure_ascii=False))
