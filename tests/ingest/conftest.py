"""A store in memory, names in it that no other test has, and conversions where coverage sees them."""

from __future__ import annotations

import uuid

import chromadb
import pytest

from langchain_context_engine.ingest import reading
from langchain_context_engine.ingest.readers import conversion


@pytest.fixture
def client():
    return chromadb.EphemeralClient()


@pytest.fixture
def prefix():
    return f"p{uuid.uuid4().hex[:12]}-"


@pytest.fixture
def name():
    return f"c{uuid.uuid4().hex}"


@pytest.fixture(autouse=True, scope="module")
def conversions_in_this_process():
    """What runs in a process of its own is measured, and quicker, in this one."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reading, "convert", conversion.converted)
        yield


@pytest.fixture
def conversions_in_their_own(monkeypatch):
    monkeypatch.setattr(reading, "convert", conversion.convert)
