"""The README of the designs: its names, links and commands are there."""

from __future__ import annotations

import re

from langchain_context_engine import designs
from langchain_context_engine.cli import main
from tests.conftest import ROOT
from tests.test_examples import PRINTED

HOME = ROOT / "langchain_context_engine" / "designs" / "README.md"
README = HOME.read_text(encoding="utf-8")


def test_what_the_readme_names_is_there(capsys):
    main(["serve", "--help"])
    told = capsys.readouterr().out
    assert all(option in told for option in re.findall(r"(?<=\s)--[a-z]+", README))
    assert all(f"examples/{name}.py" in README for name in PRINTED)
    named = set(re.findall(r"`([A-Z][A-Za-z]+)(?:\(|`)", README))
    assert {"RankingOptions", "CustomRanker", "TokenBudget", "PrimeSettings", "Searcher"} <= named & {
        *designs.__all__
    }
    for target in re.findall(r"\]\(([^)#:\s]+)\)", README):
        assert (HOME.parent / target).exists()
