"""The command line as a whole: help, exit codes, one-line errors, extras that are missing."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import tomllib

import chromadb.errors
import pytest

from langchain_context_engine import ConfigError, cli
from langchain_context_engine.cli.process import EXTRA_OF, CommandFailedError, exit_code_of, told
from langchain_context_engine.cli.store import Store
from tests.cli.conftest import COMMAND, environment
from tests.conftest import ROOT


@pytest.mark.parametrize("asked", [["-h"], ["--help"], ["ask", "-h"]])
def test_help_is_given_short_and_long_for_every_command(run, asked):
    code, out, _ = run(*asked)
    assert code == 0
    assert "Usage: context-engine" in out
    assert all(name in out for name in cli._MODULE_OF) or len(asked) > 1


def test_no_command_shows_the_help_and_another_is_none(run, fails):
    assert run()[0] == 2
    assert "No such command 'aks'" in fails(2, "aks")


def test_what_a_question_does_not_use_is_not_loaded(notes):
    """Neither what indexes, serves or shows, nor LangChain, nor what downloads models: each takes longer to import."""
    code = (
        "import sys; from langchain_context_engine.cli import main; main(sys.argv[1:])\n"
        "print('loaded', *sys.modules)"
    )
    command = [sys.executable, "-c", code, "ask", "storm?", "--store", str(notes)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split()[1:])
    rooms = ("ingest", "serving", "designs", "evaluation", "demo")
    ours = {f"langchain_context_engine.{room}" for room in rooms}
    theirs = {"pygit2", "mcp", "streamlit", "langchain_core", "requests", "wordllama"}
    assert not loaded & (ours | theirs)


def test_the_version_is_printed_of_what_is_installed(monkeypatch, run):
    monkeypatch.setattr(cli, "version", lambda _: "1.2.3")
    assert run("--version")[:2] == (0, "1.2.3\n")


def test_the_traceback_of_an_error_is_there_for_who_wants_it(monkeypatch):
    monkeypatch.setenv("CONTEXT_ENGINE_TRACEBACK", "1")
    with pytest.raises(ValueError, match="the question is empty"):
        cli.main(["ask", ""])


@pytest.mark.parametrize(
    ("missing", "extra"),
    [("typer", "cli"), ("pygit2.enums", "ingest"), ("starlette", "server"), ("pandas", "all")],
)
def test_a_command_without_its_extra_says_in_one_line_what_to_install(monkeypatch, fails, missing, extra):
    def fail(_):
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.setattr(cli, "_run", fail)
    module = missing.partition(".")[0]
    assert (
        fails(1, "index") == f'error: this needs {module}: pip install "langchain-context-engine[{extra}]"\n'
    )
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRA_OF.values()) < set(stated)


@pytest.mark.parametrize(
    ("command", "extra"), [("mcp", "mcp"), ("serve", "server"), ("inspect", "inspector")]
)
def test_what_is_needed_later_is_looked_for_before_anything_begins(notes, fails, monkeypatch, command, extra):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert f"langchain-context-engine[{extra}]" in fails(1, command, "--store", notes)


@pytest.mark.parametrize(
    "given",
    [
        (sqlite3.OperationalError("database or disk is full"), 1, "the disk is full ({store}): free some space"),
        (chromadb.errors.InternalError("compaction: disk is full"), 1, "the disk is full ({store}): free some"),
        (OSError(errno.EROFS, "Read-only file system", "/x/y"), 1, "the disk is read-only (/x/y): give a folder"),
        (OSError(errno.ENOENT, "No such file or directory"), 1, "unexpected FileNotFoundError; set CONTEXT_ENGINE"),
        (RuntimeError("api_key=sk-test"), 1, "unexpected RuntimeError; set CONTEXT_ENGINE_TRACEBACK=1"),
        (ConfigError("unknown template"), 2, "unknown template"),
        (CommandFailedError("it holds nothing"), 1, "it holds nothing"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_a_full_disk_as_that_and_a_foreign_one_by_its_class_alone(
    tmp_path, fails, monkeypatch, given
):
    """S4, and point 7 of what was attacked: a message of others may quote a key."""
    error, code, line = given

    def fail(_):
        Store(tmp_path / "store").create()
        raise error

    monkeypatch.setattr(cli, "_run", fail)
    said = fails(code, "index")
    assert said.startswith(f"error: {line.format(store=tmp_path / 'store')}")
    assert said == f"error: {told(error)}\n"
    assert exit_code_of(error) == code
    assert "sk-test" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
def test_what_the_command_line_makes_is_its_owners_alone(tmp_path, run):
    """Point 11 of what was attacked."""
    (tmp_path / "notes.md").write_text("# Billing\n\nInvoices go out monthly.\n")
    store = tmp_path / "store"
    before = os.umask(0o022)
    try:
        assert run("index", tmp_path, "--store", store)[0] == 0
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    made = [store, *store.rglob("*")]
    assert len(made) > 3
    assert [path for path in made if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_whoever_interrupts_is_told_what_stands_and_the_store_says_that_it_is_unfinished(tmp_path, run):
    for number in range(1500):
        (tmp_path / f"{number}.md").write_text(f"# Note {number}\n\n" + f"berth {number} " * 200)
    store = tmp_path / "store"
    index = subprocess.Popen(
        [*COMMAND, "index", str(tmp_path), "--store", str(store)],
        env=environment(), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not Store(store).unfinished and index.poll() is None:
        time.sleep(0.01)
    index.send_signal(signal.SIGINT)
    _, err = index.communicate(timeout=60)
    assert index.returncode in {130, -signal.SIGINT}, err  # either is 130 to a shell
    assert err.startswith("error: interrupted; ")
    assert f"the next run goes on: context-engine index {tmp_path}" in err
    code, out, _ = run("doctor", "--store", store)
    assert code == 1
    assert "✗ unfinished" in out
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "tea.md").write_text("# Tea\n\nTea is at four.")
    run("index", tmp_path / "only", "--store", store)
    assert f"warning: {tmp_path} is not wholly indexed" in run("ask", "tea?", "--store", store, "--text")[2]
