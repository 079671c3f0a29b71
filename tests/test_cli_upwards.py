"""Every command finds the store of the folder that it is in or below, and says what stands in its way (C5)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from langchain_context_engine.cli import main
from tests.conftest import ROOT

BOUND = ("dac_override", "dac_read_search", "fowner")
"""What lets root write where nobody may."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "notes.md").write_text("# Billing\n\nInvoices go out monthly to every customer.\n")
    assert main(["index", str(folder), "--store", str(folder / ".context-engine")]) == 0
    (folder / "a" / "deep" / "folder").mkdir(parents=True)
    line = {"query": "when do invoices go out?", "gold_spans": ["go out monthly"]}
    (folder / "a" / "deep" / "folder" / "questions.jsonl").write_text(json.dumps(line))
    return folder


@pytest.fixture
def below(project, monkeypatch):
    monkeypatch.chdir(project / "a" / "deep" / "folder")
    return project


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["ask", "when do invoices go out?", "--text"], "go out monthly"),
        (["explain"], "notes.md"),
        (["ls"], "collections, 1 records"),
        (["doctor"], "collection docs"),
        (["prepare"], "docs: index of"),
        (["evaluate", "questions.jsonl", "--budget", "200"], "1.000"),
        (["mcp", "--register", "claude"], "mcpServers"),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else "",
)
def test_a_command_in_a_folder_below_asks_the_store_above(below, command, told, capsys):
    """C5."""
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert told in out
    assert f"the store is {below / '.context-engine'}" in err


@pytest.mark.parametrize("command", ["tune", "inspect", "serve"])
def test_a_command_that_goes_on_or_needs_more_finds_it_too(below, command, monkeypatch, capsys):
    """C5."""
    monkeypatch.setattr("langchain_context_engine.serving.server.serve", lambda *_, **__: None)
    monkeypatch.setattr("langchain_context_engine.cli.inspect_command.inspect", lambda *_, **__: 0)
    main([command, *(["--port", "8766"] if command != "tune" else [])])
    assert f"the store is {below / '.context-engine'}" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["ask", "when?"], ["index", "."]])
def test_a_folder_that_is_gone_is_told_as_that(tmp_path, command, monkeypatch, capsys):
    """C5: an unexpected FileNotFoundError, please report it."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(command) == 1
    (told,) = capsys.readouterr().err.splitlines()
    assert "the folder you are in was deleted" in told
    monkeypatch.chdir(tmp_path)


needs_setpriv = pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write and read everything"
)


def as_anybody(folder, *command):
    """Run a command without the rights of root, where it runs as root."""
    dropped = ",".join(f"-{name}" for name in BOUND)
    before = ["setpriv", f"--bounding-set={dropped}", f"--inh-caps={dropped}"] if os.geteuid() == 0 else []
    code = "import sys; from langchain_context_engine.cli import main; sys.exit(main())"
    return subprocess.run(
        [*before, sys.executable, "-c", code, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@needs_setpriv
def test_a_store_above_that_may_not_be_looked_into_is_none(tmp_path):
    """C5: an unexpected PermissionError, please report it."""
    closed, below = tmp_path / ".context-engine", tmp_path / "below"
    closed.mkdir()
    below.mkdir()
    closed.chmod(0)
    try:
        done = as_anybody(below, "ask", "when do invoices go out?")
    finally:
        closed.chmod(0o700)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "no store in .context-engine; make one with" in done.stderr


@needs_setpriv
def test_a_store_that_may_not_be_written_says_what_to_do(project, tmp_path):
    """Point 14: Chroma writes even to read; `InternalError` told nobody."""
    store = tmp_path / "copy"
    subprocess.run(["cp", "-r", project / ".context-engine", store], check=True)
    subprocess.run(["chmod", "-R", "a-w", store], check=True)
    try:
        done = as_anybody(tmp_path, "ask", "when?", "--store", "copy")
    finally:
        subprocess.run(["chmod", "-R", "u+w", store], check=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "may not be written, which Chroma does even to read; give a copy by --store" in done.stderr
