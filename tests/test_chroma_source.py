import numpy as np
import pytest

from langchain_context_engine.errors import SourceError
from langchain_context_engine.sources.chroma import ChromaSource
from tests.builders import WordEmbeddings, a_collection, a_request


def test_first():
    e = WordEmbeddings()
    col = a_collection([{"id": str(i), "text": f"billing note {i}", "n": i} for i in range(30)], embeddings=e)
    s = ChromaSource(col, embeddings=e)
    found = s.fetch(a_request(limit=10))
    assert len(found) == 10 and found[0].source == col.name
    assert [c.id for c in s.fetch(a_request(limit=30))][:10] == [c.id for c in found]
    assert [c.id for c in s.fetch(a_request(limit=5, offset=5))] == [c.id for c in found[5:]]
    assert [c.id for c in s.get(["3", "1", "x"], a_request())] == ["3", "1"]
    assert {c.metadata["n"] for c in s.fetch(a_request(limit=10, where={"n": {"$gt": 20, "$lt": 25}}))} == {21, 22, 23, 24}
