"""`context-engine serve` and `context-engine mcp`, as processes of their own on a real store."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import chromadb
import httpx
import pytest
from mcp import Client, StdioServerParameters
from starlette.testclient import TestClient

from langchain_context_engine import Journal
from langchain_context_engine.cli import main
from langchain_context_engine.cli.serve import CLIENTS
from tests.builders import a_free_port, wait_until_it_answers
from tests.cli.conftest import COMMAND, environment
from tests.conftest import ROOT

TEAM = 'the "red"\\ones'
SCOPE = ["--scope", f"team={TEAM}"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store whose path and whose team want quotes."""
    folder = tmp_path_factory.mktemp("it's “here”")
    notes = [
        {"id": "a", "text": "Invoices are sent monthly.", "team": TEAM},
        {"id": "b", "text": "Invoices of the blue team are secret.", "team": "blue"},
    ]
    (folder / "notes.jsonl").write_text("\n".join(map(json.dumps, notes)), encoding="utf-8")
    assert main(["index", str(folder / "notes.jsonl"), "--store", str(folder / "store")]) == 0
    return folder / "store"


def test_serve_answers_with_a_token_within_its_scope_by_several_processes(store):
    """B10, C12: each process has the store open, and the journal in common; SIGTERM ends all, and keeps all."""
    port = a_free_port()
    asked = ["serve", "--store", str(store), "--port", str(port), "--workers", "2", *SCOPE]
    caller = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
    with subprocess.Popen([*COMMAND, *asked], env=environment(CONTEXT_ENGINE_TOKEN="a-token")) as process:
        try:
            with Journal(store / "journal.db") as journal:
                before = journal.count()
            wait_until_it_answers(port, process)
            assert caller.post("/build", json={"message": "invoices?"}).status_code == 401
            caller.headers["authorization"] = "Bearer a-token"

            def ask(number):
                answer = caller.post("/build", json={"message": f"which invoices are there? {number}"})
                return [item["id"] for item in answer.json()["data"]["items"]]

            with ThreadPoolExecutor(8) as pool:
                assert list(pool.map(ask, range(12))) == [["a"]] * 12
            told = caller.post("/feedback", json={"contextItemId": "a", "useful": True})
            assert told.json() == {"success": True}
            caller.close()
        finally:
            process.terminate()
            assert process.wait(60) == 0
    with Journal(store / "journal.db", read_only=True) as journal:
        assert journal.count() == before + 12
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{caller.base_url}/health")


@pytest.fixture
def ran(monkeypatch):
    """Return what uvicorn is given by the next command, in place of running."""
    given = {}
    monkeypatch.setattr("uvicorn.run", lambda app, **options: given.update(options, app=app))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setenv("CONTEXT_ENGINE_WORKER", "")
    return given


def test_serve_answers_as_the_prime_design_with_the_documents_fields(tmp_path, ran):
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
    asked = ["serve", "--store", str(tmp_path), "--design", "prime", "--scope", "user_id=ann"]
    assert main([*asked, "--port", str(a_free_port())]) == 0
    body = {
        "threadId": "t1", "message": "When are invoices sent?", "references": ["docs/refunds.md"],
        "history": [{"role": "user", "content": "Be brief."}], "maxTokens": 500,
    }  # fmt: skip
    with TestClient(ran["app"], base_url="http://127.0.0.1") as caller:
        data = caller.post("/build", json=body).json()["data"]
        feedback = caller.post("/feedback", json={"contextItemId": "files-1", "useful": False})
    assert {(item["type"], item["source"]) for item in data["items"]} == {
        ("file", "docs/billing.md"), ("reference", "docs/refunds.md"), ("message", "Ben"), ("message", "user"),
    }  # fmt: skip
    assert data["stats"]["explicitCount"] == 1
    assert feedback.json() == {"success": True}


def test_serve_knows_the_designs_that_it_serves(store, capsys):
    assert main(["serve", "--store", str(store), "--design", "primo"]) == 2
    assert "Did you mean 'prime'" in capsys.readouterr().err


def test_serve_beyond_this_machine_without_a_token_is_refused_whatever_listens_at_the_port(store, capsys):
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--store", str(store), "--host", "0.0.0.0", "--port", port]) == 2
    assert "token" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("host", ["nowhere.invalid", "256.1.1.1", "localhost:80", "x" * 80])
def test_a_host_that_is_none_is_told_with_the_option_that_says_another(store, capsys, monkeypatch, host):
    """C4: the port was to be changed."""
    monkeypatch.setenv("CONTEXT_ENGINE_TOKEN", "t" * 20)
    assert main(["serve", "--store", str(store), "--host", host, "--port", "8531"]) == 1
    told = capsys.readouterr().err
    assert "answering" not in told
    assert "give it another: --host" in told


def registered(client, store, capsys):
    """Return the command of a client's settings, and the rest of what they say of the server."""
    capsys.readouterr()
    options = ["--budget", "100", *SCOPE, "--no-journal"]
    assert main(["mcp", "--register", client, "--store", str(store), *options]) == 0
    said = capsys.readouterr()
    assert CLIENTS[client][1] in said.err
    settings = tomllib.loads(said.out) if client == "codex" else json.loads(said.out)
    entry = settings[CLIENTS[client][0]]["context-engine"]
    command = entry.pop("command")
    command = command if isinstance(command, list) else [command, *entry.pop("args")]
    assert command[1:] == ["mcp", "--store", str(store), *options]
    return command, entry


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_is_told_the_same_command_in_its_own_form(client, store, capsys):
    """C8."""
    command, more = registered(client, store, capsys)
    assert Path(command[0]).is_absolute()
    forms = {"vscode": {"type": "stdio"}, "opencode": {"type": "local", "enabled": True}}
    assert more == forms.get(client, {})


def test_a_store_that_is_not_there_is_not_registered_nor_is_a_stranger(tmp_path, capsys):
    """C8: its settings were printed, and the agent found nothing."""
    for client, code, told in (
        ("claude", 1, f"there is no store in {tmp_path}; make one first: context-engine index PATH"),
        ("claud", 2, "Did you mean 'claude'"),
    ):
        assert main(["mcp", "--register", client, "--store", str(tmp_path)]) == code
        assert told in capsys.readouterr().err


async def test_the_printed_command_answers_a_client_that_starts_it_from_anywhere(store, capsys):
    """B10, B13, C8: quotes and other writing in a path or a scope come through; no PATH is needed."""
    (command, *arguments), _ = registered("codex", store, capsys)
    bare = {"PATH": os.defpath, "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": str(ROOT)}
    server = StdioServerParameters(command=command, args=arguments, env=bare, cwd="/")
    async with Client(server) as client:
        found = await client.call_tool("get_context", {"query": "when are invoices sent?"})
        why = await client.call_tool("explain_candidate", {"candidate": "[1]"})
    assert found.content[0].text.startswith("[1] Invoices are sent monthly.\n\ncontext_id: ")
    assert "is in, whole" in why.content[0].text


def said(process, message, encoding="utf-8"):
    process.stdin.write((json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode(encoding))
    process.stdin.flush()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_mcp_answers_after_a_line_that_is_none_and_ends_when_it_is_told_to(store, number):
    """A line in UTF-16 left the next ping without an answer, and Ctrl-C did nothing for 25 seconds."""
    command = [*COMMAND, "mcp", "--store", str(store)]
    process = subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    told = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    said(process, {"id": 1, "method": "initialize", "params": told})
    assert json.loads(process.stdout.readline())["id"] == 1
    said(process, {"method": "notifications/initialized"})
    said(process, {"id": 2, "method": "ping"}, "utf-16-le")
    said(process, {"id": 3, "method": "ping"})
    while json.loads(process.stdout.readline()).get("id") != 3:
        pass
    process.send_signal(number)
    assert process.wait(20) == 0
    process.stdin.close()
    process.stdout.close()
