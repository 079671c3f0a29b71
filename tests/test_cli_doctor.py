"""The commands around a question: `doctor`, `demo`, `evaluate`, `inspect`."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys

import chromadb
import pytest

from langchain_context_engine import Journal
from langchain_context_engine.cli import demo as demo_command
from langchain_context_engine.cli import main
from langchain_context_engine.demo import DEMO_QUESTIONS
from tests.builders import WordEmbeddings, a_collection
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Return the folder of a demo that was run outside of a checkout, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    code = "import sys; from langchain_context_engine.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "demo", "--no-inspect"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / ".context-engine" / "demo", done.stdout


def test_the_demo_asks_three_questions_and_says_why_a_candidate_was_dropped(demo):
    _, printed = demo
    assert printed.startswith("harbor: ")
    for question in DEMO_QUESTIONS:
        assert question.question in printed
    assert "says what another passage says: [" in printed
    assert "no room in the budget: needs" in printed
    assert "Lantern" not in printed.replace("Lantern's own rule is out of scope", "")


def test_the_demo_records_its_answers(demo):
    folder, _ = demo
    with Journal(folder / "journal.db", read_only=True) as journal:
        assert {row.query for row in journal.traces()} == {q.question for q in DEMO_QUESTIONS}


def test_the_demo_can_be_asked_further(demo, capsys):
    folder, _ = demo
    question = ["ask", "Who may void an invoice?", "--scope", "workspace_id=harbor", "--store", str(folder)]
    assert main([*question, "--no-journal"]) == 0
    assert "accountants" in capsys.readouterr().out.lower()


def test_the_demo_takes_the_repository_it_runs_in_unless_it_is_a_large_one(tmp_path, monkeypatch, capsys):
    assert demo_command.repository_here(tmp_path) is None
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").write_text("a = 1\n", encoding="utf-8")
    assert demo_command.repository_here(tmp_path / "inner") == tmp_path
    monkeypatch.setattr(demo_command, "_MAX_FILES", 0)
    assert demo_command.repository_here(tmp_path) is None
    assert "--repository" in capsys.readouterr().err


def test_the_demo_asks_the_company_of_itself_and_a_repository_of_itself(tmp_path, capsys):
    (tmp_path / "app.py").write_text("def invoice_day():\n    return 'foreign code'\n", encoding="utf-8")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Move the invoice day"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    store = str(tmp_path / "store")
    assert main(["demo", "--no-inspect", "--repository", str(tmp_path), "--store", store]) == 0
    company, _, repository = capsys.readouterr().out.partition("── And of ")
    assert DEMO_QUESTIONS[2].question in company
    assert "foreign code" not in company
    assert "Move the invoice day" in repository


def test_the_demo_opens_the_inspector_on_its_journal(demo, monkeypatch, capsys):
    folder, _ = demo
    opened = []
    monkeypatch.setattr(demo_command, "open_inspector", lambda *given, **how: opened.append((given, how)))
    monkeypatch.chdir(folder.parent.parent)
    assert main(["demo", "--store", str(folder), "--port", "8600", "--no-browser"]) == 0
    assert opened == [((folder / "journal.db",), {"port": 8600, "opens_browser": False})]
    assert "harbor: 0 records written" in capsys.readouterr().out


def test_a_demo_that_cannot_run_says_what_to_install_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("langchain_context_engine.embeddings.static.find_spec", lambda name: None)
    assert main(["demo", "--no-inspect"]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "wordllama" in told
    assert "install" in told
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_told_before_the_inspector_starts(demo, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["inspect", "--store", str(demo[0]), "--port", str(port), "--no-browser"]) == 1
    (told,) = capsys.readouterr().err.splitlines()
    assert f"127.0.0.1:{port}" in told
    assert "--port" in told


def test_evaluate_tells_recall_at_budgets_and_compares_two_settings(demo, tmp_path, capsys):
    folder, _ = demo
    lines = [
        {"query": q.question, "gold": [q.key_id], "scope": dict(q.scope), "sources": ["memories"]}
        for q in DEMO_QUESTIONS
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    arguments = ["evaluate", str(tmp_path / "questions.jsonl"), "--store", str(folder), "--budget", "300"]
    assert main([*arguments, "--versus", "selection=score"]) == 0
    out = capsys.readouterr().out
    assert len(re.findall(r"\|\s*300\s*\|\s*3\s*\|", out)) == 2
    assert "at 300 tokens: recall " in out
    assert "over 3 questions" in out
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["budgets"]["300"]["questions"] == 3


def test_evaluate_without_questions_says_what_a_line_is(demo, tmp_path, capsys):
    folder, _ = demo
    (tmp_path / "none.jsonl").write_text("\n", encoding="utf-8")
    assert main(["evaluate", str(tmp_path / "none.jsonl"), "--store", str(folder)]) == 2
    assert '{"query"' in capsys.readouterr().err


def test_doctor_says_what_is_installed_and_would_be_used(tmp_path, capsys):
    assert main(["doctor", "--store", str(tmp_path)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "cl100k_base by" in out
    assert "wordllama-l2-supercat-256, 256 dimensions, on this machine" in out
    assert "make one with: context-engine index PATH" in out
    assert not list(tmp_path.iterdir())


def test_doctor_says_whether_a_collection_fits_and_ends_with_1_where_one_does_not(tmp_path, capsys):
    (tmp_path / "n.jsonl").write_text('{"text": "A berth costs 40."}', encoding="utf-8")
    main(["index", str(tmp_path / "n.jsonl"), "--name", "notes", "--store", str(tmp_path)])
    capsys.readouterr()
    assert main(["doctor", "--store", str(tmp_path)]) == 0
    assert "1 records, 256 dimensions by wordllama" in capsys.readouterr().out
    client = chromadb.PersistentClient(path=str(tmp_path / "chroma"))
    a_collection([{"id": "1", "text": "words"}], client=client, embeddings=WordEmbeddings(64), name="foreign")
    assert main(["doctor", "--store", str(tmp_path), "--embeddings", "local"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "✗ collection foreign" in out
    assert "has vectors of 64 dimensions" in out


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc tells who has a file open")
def test_doctor_warns_where_another_process_has_the_store_open(tmp_path, capsys):
    (tmp_path / "n.jsonl").write_text('{"text": "A berth costs 40."}', encoding="utf-8")
    main(["index", str(tmp_path / "n.jsonl"), "--name", "notes", "--store", str(tmp_path)])
    capsys.readouterr()
    path = tmp_path / "chroma" / "chroma.sqlite3"
    code = f"file = open({str(path)!r}); print('open', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        other.stdout.readline()
        assert main(["doctor", "--store", str(tmp_path)]) == 1
        out = " ".join(capsys.readouterr().out.split())
        other.communicate("\n")
    assert f"also open in process {other.pid}" in out
    assert "chroma run --path" in out


def test_inspect_runs_the_inspector_on_the_journal_and_ends_with_its_exit_code(monkeypatch, tmp_path, capsys):
    calls = []

    def run(journal, trace, **options):
        calls.append((journal, trace, options))
        return 3

    monkeypatch.setattr("langchain_context_engine.cli.inspect_command.inspect", run)
    assert main(["inspect", "--store", str(tmp_path), "--port", "8765", "--no-browser"]) == 3
    assert calls == [(tmp_path / "journal.db", None, {"scope": {}, "port": 8765, "opens_browser": False})]
    assert "http://127.0.0.1:8765" in capsys.readouterr().err


def test_the_version_is_printed_of_what_is_installed(monkeypatch, capsys):
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1.2.3")
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "1.2.3\n"
