"""The README of the designs: its names, links, examples and commands are there."""

from __future__ import annotations

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
PRINTED = {
    "memory_engine": "[decision] The beta stays open until May 4, before the launch.",
    "context_plan": "It left on Monday: DE-77120.",
    "prime_context": "ContextStats(explicit_count=1, search_count=2, history_count=2, excluded_count=0)",
    "workspace_builder": "### Related Content\n[todo]\nMove the shop to monthly billing",
    "learning_memory": "# Premortem: debugging with systematic-elimination\n\n## Common Failures\n",
    "prime_server": "{'success': True}",
}


@pytest.mark.parametrize("example", PRINTED)
def test_a_program_of_thirty_lines_runs_over_a_collection_that_langchain_filled(example, tmp_path):
    """M1, P1, C2, C12, W13, L1, L2."""
    assert f"examples/{example}.py" in README
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(ROOT / "examples" / f"{example}.py")],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert PRINTED[example] in done.stdout


def test_the_commands_options_are_there(capsys):
    main(["serve", "--help"])
    told = capsys.readouterr().out
    for option in re.findall(r"(?<=\s)--[a-z]+", README):
        assert option in told


def test_what_the_readme_names_is_exported_and_its_links_lead_somewhere():
    named = set(re.findall(r"`([A-Z][A-Za-z]+)(?:\(|`)", README))
    assert {"RankingOptions", "CustomRanker", "TokenBudget", "PrimeSettings", "Searcher"} <= named
    assert all(getattr(designs, name) for name in designs.__all__)
    assert {*designs.__all__} <= {*dir(designs)}
    for target in re.findall(r"\]\(([^)#:\s]+)\)", README):
        assert (HOME.parent / target).exists()
