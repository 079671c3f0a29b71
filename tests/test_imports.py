"""The package's public names, and what importing it costs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import langchain_context_engine
from tests.conftest import ROOT

HEAVY = {"chromadb", "langchain", "langchain_core", "numpy", "pydantic", "streamlit", "tiktoken"}


def _loaded_by(code: str) -> set[str]:
    """Return the heavy libraries that some code loads in a new process."""
    script = f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1])) & HEAVY


@pytest.mark.parametrize("name", langchain_context_engine.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert getattr(langchain_context_engine, name).__doc__


def test_importing_the_package_loads_no_heavy_library():
    assert _loaded_by("import langchain_context_engine") == set()


def test_the_values_load_no_heavy_library():
    assert _loaded_by("from langchain_context_engine import Candidate, Context, ContextRequest") == set()


def test_the_command_line_loads_no_heavy_library_for_its_help():
    code = "from langchain_context_engine.cli import main\nmain(['--help'])"
    assert _loaded_by(code) == set()
