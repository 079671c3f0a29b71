"""The examples in the inspector's docstrings; pytest itself may not import the pages, which draw at once."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

from tests.conftest import ROOT

MODULES = [
    path.stem
    for path in sorted((ROOT / "inspector").glob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_give_what_they_show(name):
    result = doctest.testmod(import_module(f"inspector.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
