"""`context-engine mcp`: let a coding agent ask a store, over standard input and output."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.allocator import share_memory
from langchain_context_engine.cli.embedders import AUTO
from langchain_context_engine.cli.failure import CommandFailedError, require
from langchain_context_engine.cli.options import (
    EngineOptions,
    RecordsOption,
    ScopeOption,
    read_pairs,
    with_engine_options,
)
from langchain_context_engine.errors import UnknownNameError

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
            "--settings": file and [file.absolute()],
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
