"""`context-engine serve` and `context-engine mcp`, as processes of their own on a real store."""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import socket
import subprocess
import sys
import time

import chromadb
import httpx
import pytest
from mcp import Client, StdioServerParameters

from langchain_context_engine.cli import main
from tests.builders import a_free_port
from tests.conftest import ROOT

COMMAND = [
    sys.executable,
    "-c",
    "import sys; from langchain_context_engine.cli import main; sys.exit(main())",
]


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


def environment(**more):
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


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


@pytest.mark.parametrize(
    ("command", "extra"), [("mcp", "mcp"), ("serve", "server"), ("inspect", "inspector")]
)
def test_a_command_whose_extra_is_missing_says_what_to_install(store, monkeypatch, capsys, command, extra):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main([command, "--store", str(store)]) == 1
    assert f"langchain-context-engine[{extra}]" in capsys.readouterr().err.splitlines()[-1]


@pytest.fixture
def settings_file(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text('budget = 300\nselection = "score"\n\n[request]\nk = 1\n', encoding="utf-8")
    return path


def test_ask_reads_a_file_of_settings_and_an_option_goes_before_it(store, settings_file, capsys):
    asked = ["ask", "which invoices?", "--store", str(store), "--no-journal", "--json"]
    for options, budget, k in ([], 300, 1), (["--budget", "200", "-k", "2"], 200, 2):
        assert main([*asked, "--settings", str(settings_file), *options]) == 0
        trace = json.loads(capsys.readouterr().out)
        assert trace["settings"]["selection"] == "score"
        assert (trace["budget"], trace["request"]["k"]) == (budget, k)


@pytest.mark.parametrize("command", [["serve"], ["mcp"], ["evaluate", "QUESTIONS"]])
def test_who_answers_others_takes_no_question_from_a_file_of_settings(
    store, settings_file, tmp_path, capsys, command
):
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"query": "which invoices?", "gold": ["a"]}\n', encoding="utf-8")
    told = [str(questions) if argument == "QUESTIONS" else argument for argument in command]
    assert main([*told, "--store", str(store), "--settings", str(settings_file)]) == 2
    assert "the table 'request' is the caller's to send" in capsys.readouterr().err


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="pools are glibc's")
@pytest.mark.parametrize(("chosen", "pools"), [("", 2), ("", 1), ("1", 2)])
def test_threads_of_a_command_share_so_few_pools_of_memory_unless_somebody_chose(chosen, pools):
    """Point 15.10: what eight threads had needed at most stayed held, 90 MB beyond what was used."""
    program = (
        "import ctypes, sys, threading\n"
        "from langchain_context_engine.cli.allocator import share_memory\n"
        f"print(share_memory({pools}))\n"
        "gate = threading.Barrier(8)\n"
        "threads = [threading.Thread(target=lambda: (bytearray(5000), gate.wait())) for _ in range(8)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
        "sys.stdout.flush(); libc = ctypes.CDLL(None); libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, 'stdout'))\n"
    )
    environment = {**os.environ, "MALLOC_ARENA_MAX": chosen}
    told = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith(str(not chosen))
    assert told.stdout.count("<heap nr=") == (1 if chosen else pools)
