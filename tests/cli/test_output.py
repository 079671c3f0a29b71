"""What the commands print is read where there are few columns, and whole where there are many (C2)."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from langchain_context_engine import Candidate, ContextEngine
from langchain_context_engine.cli import output
from tests.builders import ListSource

TITLES = (
    "src/billing/invoices.py",
    "文档/请求/发票每月寄出给所有客户的说明文件和其他内容的路径很长很长很长很长很长很长很长.md",
    "a" * 200,
    "README.md › A very long trail › With several words in it › And yet another heading › 5",
    "e\u0301" * 90,
    "👩‍👩‍👧" * 40,
)


@pytest.mark.parametrize("width", [24, 40, 80, 110, 200])
def test_no_line_is_wider_than_there_are_columns_in_any_script(width):
    """C2: one title was in a script whose signs are two columns wide."""
    candidates = [
        Candidate(id=f"{i}", text=f"Invoices go out monthly {i}. " * (i * 10 + 1), relevance=0.9 - i / 20, metadata={"path": title})
        for i, title in enumerate(TITLES)
    ]  # fmt: skip
    context = ContextEngine([ListSource(candidates)], budget=150).build("when do invoices go out?")
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)
    console.print(output.fate_table(context, 5))
    printed = console.file.getvalue()
    assert max(map(cell_len, printed.splitlines())) <= width
    assert TITLES[0] in printed or width < 80


@pytest.mark.parametrize(("columns", "expected"), [("77", 77), ("wide", 80)])
def test_columns_is_honoured_where_nobody_looks(columns, expected, monkeypatch):
    """C2."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("os.get_terminal_size", lambda *_: (_ for _ in ()).throw(OSError))
    assert output.console().width == expected
