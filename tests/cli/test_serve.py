"""`serve` and `mcp`, as processes of their own on a real store, and what `mcp --register` prints."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import chromadb
import httpx
import pytest
from mcp import Client, StdioServerParameters

from langchain_context_engine.cli import main
from langchain_context_engine.cli.mcp import CLIENTS
from tests.builders import a_free_port
from tests.cli.conftest import COMMAND, environment
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serving")
    notes = [
        {"id": "a", "text": "Invoices are sent monthly.", "team": "red"},
        {"id": "b", "text": "Invoices of the blue team are secret.", "team": "blue"},
    ]
    (folder / "notes.jsonl").write_text("\n".join(map(json.dumps, notes)), encoding="utf-8")
    assert main(["index", str(folder / "notes.jsonl"), "--store", str(folder / "store")]) == 0
    return folder / "store"


@pytest.fixture
def server(store):
    with serving(store, "--scope", "team=red") as address:
        yield address


@contextlib.contextmanager
def serving(store, *options):
    port = a_free_port()
    command = [*COMMAND, "serve", "--store", str(store), "--port", str(port), *options]
    process = subprocess.Popen(
        command, env=environment(CONTEXT_ENGINE_TOKEN="a-token"), stderr=subprocess.PIPE
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                if httpx.get(f"{address}/health").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_serve_answers_with_a_token_within_its_scope(server):
    """B10, C12."""
    body = {"message": "which invoices are there?"}
    assert httpx.post(f"{server}/build", json=body).status_code == 401
    headers = {"authorization": "Bearer a-token"}
    answer = httpx.post(f"{server}/build", json=body, headers=headers)
    assert [item["id"] for item in answer.json()["data"]["items"]] == ["a"]
    feedback = {"contextItemId": "a", "useful": True}
    assert httpx.post(f"{server}/feedback", json=feedback, headers=headers).json() == {"success": True}


def test_serve_answers_as_the_prime_design_with_the_documents_fields(tmp_path):
    """C12: thread, references, history and feedback over HTTP, of a store that any Chroma filled."""
    client = chromadb.PersistentClient(str(tmp_path))
    for name, records in {
        "files": [
            {"path": "docs/billing.md", "text": "Invoices are sent monthly."},
            {"path": "docs/refunds.md", "text": "A refund takes ten days."},
        ],
        "messages": [{"thread_id": "t1", "author": "Ben", "text": "Are invoices yearly?"}],
    }.items():
        client.create_collection(name, embedding_function=None).add(
            ids=[f"{name}-{i}" for i in range(len(records))],
            documents=[record.pop("text") for record in records],
            metadatas=[{"user_id": "ann", **record} for record in records],
            embeddings=[[1.0]] * len(records),
        )
    with serving(tmp_path, "--design", "prime", "--scope", "user_id=ann") as address:
        headers = {"authorization": "Bearer a-token"}
        body = {
            "threadId": "t1", "message": "When are invoices sent?", "references": ["docs/refunds.md"],
            "history": [{"role": "user", "content": "Be brief."}], "maxTokens": 500,
        }  # fmt: skip
        data = httpx.post(f"{address}/build", json=body, headers=headers).json()["data"]
        told = {(item["type"], item["source"]) for item in data["items"]}
        assert told == {
            ("file", "docs/billing.md"), ("reference", "docs/refunds.md"), ("message", "Ben"), ("message", "user"),
        }  # fmt: skip
        assert data["stats"]["explicitCount"] == 1
        feedback = {"contextItemId": "files-1", "useful": False}
        assert httpx.post(f"{address}/feedback", json=feedback, headers=headers).json() == {"success": True}


def test_serve_knows_the_designs_that_it_serves(store, capsys):
    assert main(["serve", "--store", str(store), "--design", "primo"]) == 2
    assert "Did you mean 'prime'" in capsys.readouterr().err


def test_serve_beyond_this_machine_without_a_token_is_refused_whatever_listens_at_the_port(store, capsys):
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--store", str(store), "--host", "0.0.0.0", "--port", port]) == 2
    assert "token" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("host", ["nowhere.invalid", "256.1.1.1", "localhost:80", "a..b", "x" * 80])
def test_a_host_that_is_none_is_told_with_the_option_that_says_another(store, capsys, monkeypatch, host):
    """C4: the port was to be changed."""
    monkeypatch.setenv("CONTEXT_ENGINE_TOKEN", "t" * 20)
    assert main(["serve", "--store", str(store), "--host", host, "--port", "8531"]) == 1
    told = capsys.readouterr().err
    assert "answering" not in told
    assert "give it another: --host" in told


async def test_mcp_answers_over_standard_input_and_output(store):
    """B10, B13."""
    arguments = [*COMMAND[1:], "mcp", "--store", str(store), "--scope", "team=red", "--budget", "100"]
    server = StdioServerParameters(command=COMMAND[0], args=arguments, env=environment())
    async with Client(server) as client:
        result = await client.call_tool("get_context", {"query": "which invoices are there?"})
    assert result.content[0].text.startswith("[1] Invoices are sent monthly.\n\ncontext_id: ")


def test_mcp_ends_when_its_client_does(store, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO()))
    assert main(["mcp", "--store", str(store), "--scope", "team=red"]) == 0
    assert sys.stdout.buffer.getvalue() == b""


OPTIONS = ["--budget", "100", "--scope", 'team=the "red"\\ones', "--no-journal"]


@pytest.fixture(scope="module")
def quoted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("it's “here”")
    note = {"id": "a", "text": "Invoices are sent monthly.", "team": 'the "red"\\ones'}
    (folder / "notes.jsonl").write_text(json.dumps(note), encoding="utf-8")
    assert main(["index", str(folder / "notes.jsonl"), "--store", str(folder / "store")]) == 0
    return folder / "store"


def registered(client, quoted, capsys):
    """Return the command of a client's settings, and the rest of what they say of the server."""
    capsys.readouterr()
    assert main(["mcp", "--register", client, "--store", str(quoted), *OPTIONS]) == 0
    said = capsys.readouterr()
    assert CLIENTS[client][1] in said.err
    settings = tomllib.loads(said.out) if client == "codex" else json.loads(said.out)
    entry = settings[CLIENTS[client][0]]["context-engine"]
    command = entry.pop("command")
    return (command if isinstance(command, list) else [command, *entry.pop("args")]), entry


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_is_told_the_same_command_in_its_own_form(client, quoted, capsys):
    """C8."""
    command, more = registered(client, quoted, capsys)
    assert Path(command[0]).is_absolute()
    assert command[1:] == ["mcp", "--store", str(quoted), *OPTIONS]
    assert more == {"vscode": {"type": "stdio"}, "opencode": {"type": "local", "enabled": True}}.get(
        client, {}
    )


async def test_the_printed_command_answers_a_client_that_starts_it_from_anywhere(quoted, capsys):
    """C8: quotes and other writing in a path or a scope come through; the shell's PATH is not needed."""
    (command, *arguments), _ = registered("codex", quoted, capsys)
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


def test_a_store_that_is_not_there_is_not_registered(tmp_path, fails):
    told = fails(1, "mcp", "--register", "claude", "--store", tmp_path)
    assert f"there is no store in {tmp_path}; make one first: context-engine index PATH" in told
    assert "Did you mean 'claude'" in fails(2, "mcp", "--register", "claud", "--store", tmp_path)
