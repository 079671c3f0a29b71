"""The command line as a whole: help, exit codes, one-line errors, extras that are missing."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
import tomllib

import pytest

from langchain_context_engine import ConfigError, cli
from langchain_context_engine.cli.failure import EXTRA_OF, CommandFailedError, exit_code_of, told
from langchain_context_engine.cli.store import Store
from tests.cli.conftest import COMMAND, environment, process
from tests.conftest import ROOT


@pytest.mark.parametrize("asked", [["-h"], ["--help"], ["ask", "-h"], ["journal", "merge", "-h"]])
def test_help_is_given_short_and_long_for_every_command(run, asked):
    code, out, _ = run(*asked)
    assert code == 0
    assert "Usage: context-engine" in out


def test_no_command_shows_the_help(run):
    code, out, err = run()
    assert (code, err) == (2, "")
    assert "Commands" in out


def test_help_costs_less_than_a_second_of_the_processor_and_loads_nothing_heavy():
    before = os.times()
    done = process("--help")
    after = os.times()
    assert done.returncode == 0
    assert after.children_user + after.children_system - before.children_user - before.children_system < 1.0
    code = (
        "import sys; from langchain_context_engine.cli import main; main(['--help'])\n"
        "print({'chromadb', 'langchain_core', 'numpy', 'pydantic', 'tantivy', 'pygit2'} & set(sys.modules))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert loaded.stdout.splitlines()[-1] == "set()"


def test_the_version_is_printed_of_what_is_installed(monkeypatch, run):
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1.2.3")
    assert run("--version")[:2] == (0, "1.2.3\n")


def test_a_process_ends_with_the_exit_code_and_no_traceback(tmp_path):
    done = process("ask", "x", "--store", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr


def test_an_error_nobody_foresaw_is_one_line_without_secrets(monkeypatch, fails):
    def fail(*_, **__):
        raise RuntimeError("it broke:\n api_key=sk-test-123456")

    monkeypatch.setattr("langchain_context_engine.cli.store.Store.engine", fail)
    err = fails(1, "ask", "x")
    assert "RuntimeError" in err
    assert "CONTEXT_ENGINE_TRACEBACK=1" in err
    assert "sk-test" not in err


def test_the_traceback_of_an_error_is_there_for_who_wants_it(monkeypatch):
    monkeypatch.setenv("CONTEXT_ENGINE_TRACEBACK", "1")
    with pytest.raises(ValueError, match="the question is empty"):
        cli.main(["ask", ""])


@pytest.mark.parametrize(
    ("missing", "extra"), [("typer", "cli"), ("pygit2.enums", "ingest"), ("starlette", "server"), ("pandas", "all")]
)  # fmt: skip
def test_a_command_without_its_extra_says_in_one_line_what_to_install(monkeypatch, capsys, missing, extra):
    def fail(_):
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.setattr(cli, "_run", fail)
    assert cli.main(["index"]) == 1
    module = missing.partition(".")[0]
    assert capsys.readouterr().err == (
        f'error: this needs {module}: pip install "langchain-context-engine[{extra}]"\n'
    )


def test_the_extra_that_is_named_is_one_that_there_is():
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
        (OSError(errno.EROFS, "Read-only file system", "/x/y"), 1, "the disk is read-only (/x/y): give a folder"),
        (OSError(errno.ENOENT, "No such file or directory"), 1, "unexpected FileNotFoundError"),
        (ConfigError("unknown template"), 2, "unknown template"),
        (CommandFailedError("it holds nothing"), 1, "it holds nothing"),
    ],
)  # fmt: skip
def test_the_line_on_a_full_disk_names_the_disk_and_other_errors_stay_what_they_are(
    tmp_path, capsys, monkeypatch, given
):
    """S4."""
    error, code, line = given

    def fail(_):
        Store(tmp_path / "store").create()
        raise error

    monkeypatch.setattr(cli, "_run", fail)
    assert cli.main(["index"]) == exit_code_of(error) == code
    said = capsys.readouterr().err
    assert said.startswith(f"error: {line.format(store=tmp_path / 'store')}")
    assert said == f"error: {told(error)}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_whoever_interrupts_is_told_what_stands_and_the_store_says_that_it_is_unfinished(tmp_path, run):
    for number in range(3000):
        (tmp_path / f"{number}.md").write_text(f"# Note {number}\n\n" + f"berth {number} " * 200)
    store = tmp_path / "store"
    index = subprocess.Popen(
        [*COMMAND, "index", str(tmp_path), "--store", str(store)],
        env=environment(), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not Store(store).unfinished and index.poll() is None:
        pass
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


def test_a_store_that_is_not_there_is_not_registered_with_an_agent(tmp_path, fails):
    """C8: its settings were printed, and the agent found nothing."""
    told = fails(1, "mcp", "--register", "claude", "--store", tmp_path)
    assert f"there is no store in {tmp_path}; make one first: context-engine index PATH" in told
    assert "Did you mean 'claude'" in fails(2, "mcp", "--register", "claud", "--store", tmp_path)
