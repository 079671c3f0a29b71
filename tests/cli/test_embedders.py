"""Which embedder the command line takes: the one a collection was filled with, or what is named."""

from __future__ import annotations

import pytest

from langchain_context_engine import ContextEngineError
from langchain_context_engine.cli import embedders
from tests.builders import WordEmbeddings, a_collection


def remembering(model="", dimension=64):
    collection = a_collection([{"id": "1", "text": "words"}], embeddings=WordEmbeddings(dimension))
    if model:
        collection.modify(metadata={"embedding_model": model, "embedding_dimension": dimension})
    return collection


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")


@pytest.fixture
def without_wordllama(monkeypatch):
    found = embedders.find_spec
    monkeypatch.setattr(embedders, "find_spec", lambda name: None if name == "wordllama" else found(name))


def test_auto_is_openai_where_only_a_key_is_there(key, without_wordllama):
    assert embedders.embedder().model.startswith("text-embedding-")


def test_where_nothing_embeds_the_error_says_what_to_install_or_to_set(without_wordllama):
    with pytest.raises(ContextEngineError, match=r"langchain-context-engine\[local\]"):
        embedders.embedder()
    with pytest.raises(ContextEngineError, match="OPENAI_API_KEY"):
        embedders.embedder("openai")


@pytest.mark.parametrize(
    ("model", "dimension", "asked"),
    [
        ("text-embedding-3-small", 1536, True),
        ("text-embedding-3-large", 256, True),
        ("text-embedding-ada-002", 1536, False),  # which refuses to be asked for a length
    ],
)
def test_a_collection_of_openai_is_asked_by_its_model_and_length(key, model, dimension, asked):
    found = embedders.embedder_for(remembering(model, dimension))
    assert (found.model, found._asks_dimensions) == (model, asked)
    assert found.dimensions == dimension or not asked


@pytest.mark.parametrize(
    ("model", "named", "told"),
    [
        ("my-model", "auto", "embedded by my-model, which is not known here"),
        ("", "auto", "give --embeddings"),
        ("my-model", "local", "64 dimensions by my-model"),
    ],
)
def test_what_does_not_fit_a_collection_is_refused_by_name(model, named, told):
    collection = remembering(model)
    assert embedders.remembered(collection) == (model, 64)
    with pytest.raises(ContextEngineError, match=told):
        embedders.embedder_for(collection, named)
