"""What the commands print is read where there are few columns, and whole where there are many (C2)."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest
from rich.cells import cell_len
from rich.console import Console

from langchain_context_engine import Candidate, ContextEngine
from langchain_context_engine.cli import main, output
from langchain_context_engine.cli.tables import fate_table
from tests.builders import ListSource
from tests.conftest import ROOT

TITLES = (
    "src/billing/invoices.py",
    "文档/请求/发票每月寄出给所有客户的说明文件和其他内容的路径很长很长很长很长很长很长很长.md",
    "a" * 200,
    "README.md › A very long trail › With several words in it › And yet another heading › 5",
    "e\u0301" * 90,
    "👩‍👩‍👧" * 40,
)


@pytest.fixture(scope="module")
def context():
    words = ("monthly", "weekly", "yearly", "daily", "often", "never")
    candidates = [
        Candidate(id=f"{i}", text=f"Invoices go out {words[i]}. " * (i * 10 + 1), relevance=0.9 - i / 20, metadata={"path": title})
        for i, title in enumerate(TITLES)
    ]  # fmt: skip
    return ContextEngine([ListSource(candidates)], budget=150).build("when do invoices go out?")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp(
        "a-folder-of-a-name-that-is-long-enough-to-need-more-than-one-line-of-eighty"
    )
    (folder / "notes.md").write_text("# Billing\n\nInvoices go out monthly.\n")
    assert main(["index", str(folder), "--store", str(folder / "store")]) == 0
    return folder / "store"


def printed(context, width):
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)
    console.print(fate_table(context, 5, width))
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [20, 40, 80, 110, 120, 200])
def test_no_line_is_wider_than_there_are_columns_in_any_script(context, width):
    """C2."""
    assert max(map(cell_len, printed(context, width))) <= width


@pytest.mark.parametrize("width", [80, 110, 120])
def test_a_reason_takes_two_lines_whatever_the_candidates_are_called(context, width):
    """C2: it took six, where one title was in a script whose signs are two columns wide."""
    lines = [line for line in printed(context, width)[3:] if line.strip()]
    assert len(lines) <= 3 * len(TITLES)


@pytest.mark.parametrize("width", [0, 1, 5])
def test_a_width_in_which_nothing_can_stand_ends_nothing(context, width):
    fate_table(context, 5, width)


@pytest.mark.parametrize("columns", ["40", "80"])
def test_ls_breaks_no_name_and_no_path(store, columns, monkeypatch, capsys):
    """C2: `wordllama-l2-` and `supercat-256` stood on two lines, a path on three."""
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["ls", "--store", str(store)]) == 0
    told = capsys.readouterr().out
    assert "wordllama-l2-supercat-256, 256\n" in told
    assert f"  {store.parent}\n" in told


@pytest.mark.parametrize("columns", ["60", "80"])
def test_doctor_breaks_lines_between_words(store, columns, monkeypatch, capsys):
    """C2."""
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["doctor", "--store", str(store)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= int(columns) for line in lines if str(store) not in line)
    assert sum("✓" in line for line in lines) == sum(not line.startswith(" ") for line in lines) > 10


def test_doctor_keeps_each_finding_on_one_line_for_a_program(store, monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(["doctor", "--store", str(store)]) == 0
    assert all(line.startswith("✓ ") for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(("columns", "expected"), [("77", 77), ("", 120), ("wide", 120)])
def test_columns_is_honoured_where_nobody_looks(columns, expected, monkeypatch):
    """C2."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert output.width() == expected


def test_a_pager_has_the_width_of_its_terminal():
    """C2: what was piped was 120 wide, into `less` too."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 77, 0, 0))
    code = "from langchain_context_engine.cli import output; print(output.width())"
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**environment, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
        timeout=60,
        check=True,
    )
    os.close(ours)
    os.close(theirs)
    assert done.stdout == b"77\n"
