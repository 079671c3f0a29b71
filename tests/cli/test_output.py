"""What the commands print is read where there are few columns, and whole where there are many (C2)."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest
from rich.cells import cell_len
from rich.console import Console

from langchain_context_engine import Candidate, ContextEngine
from langchain_context_engine.cli import output
from tests.builders import ListSource
from tests.cli.conftest import environment

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


@pytest.mark.parametrize("width", [20, 40, 80, 110, 120, 200])
def test_no_line_is_wider_than_there_are_columns_in_any_script_and_a_reason_takes_two(context, width):
    """C2: it took six, where one title was in a script whose signs are two columns wide."""
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)
    console.print(output.fate_table(context, 5, width))
    lines = console.file.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= width
    if width >= 80:
        assert len([line for line in lines[3:] if line.strip()]) <= 3 * len(TITLES)


@pytest.mark.parametrize("columns", ["60", "80", ""])
def test_doctor_breaks_lines_between_words_and_never_for_a_program(notes, columns, monkeypatch, run):
    """C2."""
    monkeypatch.setenv("COLUMNS", columns)
    code, out, _ = run("doctor", "--store", notes)
    lines = out.splitlines()
    assert code == 0
    assert sum("✓" in line for line in lines) == sum(not line.startswith(" ") for line in lines) > 10
    if columns:
        assert all(len(line) <= int(columns) for line in lines if str(notes) not in line)
    else:
        assert all(line.startswith("✓ ") for line in lines)


@pytest.mark.parametrize(("columns", "expected"), [("77", 77), ("", 120), ("wide", 120)])
def test_columns_is_honoured_where_nobody_looks(columns, expected, monkeypatch):
    """C2."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert output.width() == expected


@pytest.mark.skipif(sys.platform == "win32", reason="terminals")
def test_a_pager_has_the_width_of_its_terminal():
    """C2: what was piped was 120 wide, into `less` too."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 77, 0, 0))
    code = "from langchain_context_engine.cli import output; print(output.width())"
    without = {name: value for name, value in environment(TERM="xterm").items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=without,
        check=True,
    )
    os.close(ours)
    os.close(theirs)
    assert done.stdout == b"77\n"
