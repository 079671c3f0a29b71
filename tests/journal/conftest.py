"""A journal in a file of its own."""

from __future__ import annotations

import pytest

from langchain_context_engine.journal import Journal


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


@pytest.fixture
def journal(path):
    with Journal(path) as opened:
        yield opened
