"""The README of the designs runs: its Python in order, its printed output as printed, its examples and commands."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys

import pytest

from langchain_context_engine import designs
from langchain_context_engine.cli import main
from tests.conftest import ROOT

HOME = ROOT / "langchain_context_engine" / "designs" / "README.md"
README = HOME.read_text(encoding="utf-8")
BLOCKS = [
    (match[2], match[3], match.start(), match.end())
    for match in re.finditer(r"^(`{3,})(\w*)\n(.*?)^\1$", README, re.MULTILINE | re.DOTALL)
]


def output_under(number):
    """Return the block of text that directly follows a block, or None."""
    if number + 1 == len(BLOCKS):
        return None
    language, text, start, _ = BLOCKS[number + 1]
    return text if language == "text" and not README[BLOCKS[number][3] : start].strip() else None


def test_every_snippet_runs_in_order_and_prints_what_stands_under_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__readme__"}
    shown = 0
    for number, (language, code, *_) in enumerate(BLOCKS):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"designs/README.md, block {number}", "exec"), namespace)
        if (expected := output_under(number)) is not None:
            assert printed.getvalue().strip() == expected.strip()
            shown += 1
    assert shown == 5


EXAMPLES = {
    code.strip().split("/")[-1]: output_under(number)
    for number, (language, code, *_) in enumerate(BLOCKS)
    if language == "bash" and output_under(number) is not None
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_prints_what_the_readme_shows(example, tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / example)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == EXAMPLES[example].strip()


def test_there_is_an_example_of_each_design():
    assert len(EXAMPLES) == 5


def test_the_commands_options_are_there(capsys):
    main(["serve", "--help"])
    told = capsys.readouterr().out
    for option in re.findall(
        r"--[a-z]+", "".join(code for language, code, *_ in BLOCKS if language == "bash")
    ):
        assert option in told


def test_what_the_readme_imports_and_names_is_exported():
    for name in re.findall(r"from langchain_context_engine\.designs import (.+)", README):
        assert {part.strip() for part in name.split(",")} <= set(designs.__all__)
    named = set(re.findall(r"`([A-Z][A-Za-z]+)(?:\(|`)", README))
    ours = {name for name in named if hasattr(designs, name)}
    assert {
        "RankingOptions", "CustomRanker", "CacheConfig", "ContextFormatter", "TokenBudget", "FocusSettings",
        "SemanticSettings", "RelationSettings", "ActivitySettings", "TruncationSettings", "PrimeSettings",
    } <= ours  # fmt: skip
    assert all(getattr(designs, name) for name in designs.__all__)


def test_the_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:\s]+)\)", README):
        assert (HOME.parent / target).exists()


def test_the_server_example_answers_with_the_documents_fields(tmp_path):
    """C12."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "prime_server.py")],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=90,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "reference docs/refunds.md  A refund goes back to the card within ten days." in done.stdout
    assert "message   customer         Is there yearly billing?" in done.stdout
    assert "message   user             Please answer in one sentence." in done.stdout
    assert done.stdout.endswith("{'success': True}\n")
