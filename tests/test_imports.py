"""The package's public names, and what importing it costs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import langchain_context_engine
from tests.conftest import ROOT

HEAVY = {
    "chromadb", "langchain", "langchain_core", "numpy", "pydantic", "pygit2", "streamlit", "tantivy", "tiktoken",
}  # fmt: skip


@pytest.mark.parametrize("name", langchain_context_engine.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert getattr(langchain_context_engine, name).__doc__


def test_the_package_its_values_and_the_help_of_the_command_line_load_no_heavy_library():
    code = (
        "from langchain_context_engine import Candidate, Context, ContextRequest\n"
        "from langchain_context_engine.cli import main\n"
        "main(['--help'])\n"
        "import json, sys; print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert set(json.loads(done.stdout.splitlines()[-1])) & HEAVY == set()
