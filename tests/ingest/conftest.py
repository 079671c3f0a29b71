"""A store in memory, and names in it that no other test has."""

from __future__ import annotations

import uuid

import chromadb
import pytest


@pytest.fixture
def client():
    return chromadb.EphemeralClient()


@pytest.fixture
def prefix():
    return f"p{uuid.uuid4().hex[:12]}-"


@pytest.fixture
def name():
    return f"c{uuid.uuid4().hex}"
