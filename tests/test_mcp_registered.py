"""What `mcp --register` prints starts the server as a client starts it: from anywhere, without this shell."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from langchain_context_engine.cli import main
from langchain_context_engine.cli.mcp import CLIENTS
from tests.conftest import ROOT

OPTIONS = ["--budget", "100", "--scope", 'team=the "red"\\ones', "--no-journal"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("it's “here”")
    note = {"id": "a", "text": "Invoices are sent monthly.", "team": 'the "red"\\ones'}
    (folder / "notes.jsonl").write_text(json.dumps(note), encoding="utf-8")
    assert main(["index", str(folder / "notes.jsonl"), "--store", str(folder / "store")]) == 0
    return folder / "store"


def registered(client, store, capsys):
    """Return the command of a client's settings, and the rest of what they say of the server."""
    capsys.readouterr()
    assert main(["mcp", "--register", client, "--store", str(store), *OPTIONS]) == 0
    said = capsys.readouterr()
    assert CLIENTS[client][1] in said.err
    settings = tomllib.loads(said.out) if client == "codex" else json.loads(said.out)
    entry = settings[CLIENTS[client][0]]["context-engine"]
    command = entry.pop("command")
    return (command if isinstance(command, list) else [command, *entry.pop("args")]), entry


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_is_told_the_same_command_in_its_own_form(client, store, capsys):
    """C8."""
    command, more = registered(client, store, capsys)
    assert Path(command[0]).is_absolute()
    assert command[1:] == ["mcp", "--store", str(store), *OPTIONS]
    assert more == {"vscode": {"type": "stdio"}, "opencode": {"type": "local", "enabled": True}}.get(
        client, {}
    )


async def test_the_printed_command_answers_a_client_that_starts_it_from_anywhere(store, capsys):
    """C8: quotes and other writing in a path or a scope come through; the shell's PATH is not needed."""
    (command, *arguments), _ = registered("codex", store, capsys)
    bare = {"PATH": os.defpath, "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": str(ROOT)}
    server = StdioServerParameters(command=command, args=arguments, env=bare, cwd="/")
    async with Client(server) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [
            "get_context",
            "explain_candidate",
        ]
        found = await client.call_tool("get_context", {"query": "when are invoices sent?"})
        why = await client.call_tool("explain_candidate", {"candidate": "[1]"})
    assert found.content[0].text.startswith("[1] Invoices are sent monthly.")
    assert "is in, whole" in why.content[0].text
