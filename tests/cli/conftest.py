"""What the tests of the commands share: a store of four notes, and commands run here or as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from langchain_context_engine.cli import main
from tests.conftest import ROOT

NOTES = [
    {"id": "a", "text": "Invoices go out on the first working day of the month.", "workspace_id": "acme"},
    {"id": "b", "text": "Invoices go out on the first working day of each month.", "workspace_id": "acme"},
    {"id": "c", "text": "The boats are moved to the inner basin in a storm.", "workspace_id": "acme"},
    {"id": "z", "text": "Invoices are Zeta's secret.", "workspace_id": "zeta"},
]


@pytest.fixture
def run(capsys):
    """Return what runs a command, and gives (exit code, standard output, standard error)."""

    def command(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return command


@pytest.fixture
def fails(run):
    """Return what runs a command that ends with a code, and gives its one line of error."""

    def command(code, *arguments):
        found, out, err = run(*arguments)
        assert (found, out, err.count("\n")) == (code, "", 1), err
        assert err.startswith("error: ")
        return err

    return command


@pytest.fixture(scope="session")
def notes(tmp_path_factory):
    """Return a store made of JSON Lines, which lie beside it as `notes.jsonl`."""
    folder = tmp_path_factory.mktemp("notes")
    lines = "\n".join(json.dumps(note) for note in NOTES)
    (folder / "notes.jsonl").write_text(lines, encoding="utf-8")
    assert main(["index", str(folder / "notes.jsonl"), "--store", str(folder / "store")]) == 0
    return folder / "store"


COMMAND = [sys.executable, "-m", "langchain_context_engine.cli"]


def environment(**more):
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def process(*arguments, before=(), **options):
    """Run a command as a process of its own."""
    return subprocess.run(
        [*before, *COMMAND, *map(str, arguments)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
        **options,
    )
