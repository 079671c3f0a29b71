"""What the tests of ChromaSource share."""

from __future__ import annotations

import chromadb
import pytest

from langchain_context_engine.sources.chroma import ChromaSource
from tests.builders import WordEmbeddings, a_collection

EMBEDDINGS = WordEmbeddings()
HYBRID = pytest.mark.parametrize("hybrid", [True, False])


@pytest.fixture(params=["memory", "persistent"])
def client(request, tmp_path):
    return (
        chromadb.EphemeralClient() if request.param == "memory" else chromadb.PersistentClient(str(tmp_path))
    )


def a_source(records, *, client=None, space="cosine", **options) -> ChromaSource:
    collection = a_collection(records, embeddings=EMBEDDINGS, client=client, space=space)
    return ChromaSource(collection, embeddings=EMBEDDINGS, **options)


def ids(candidates) -> list[str]:
    return [candidate.id for candidate in candidates]


def notes(n: int, **metadata) -> list[dict]:
    return [
        {"id": f"n{i:03}", "text": f"note {i} about billing and item {i % 7}", **metadata} for i in range(n)
    ]
