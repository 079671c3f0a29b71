"""Which embedder the command line takes: the one a collection was filled with, or what is named."""

from __future__ import annotations

import re

import pytest

from langchain_context_engine.cli import embedders
from langchain_context_engine.cli.failure import CommandFailedError
from tests.builders import WordEmbeddings, a_collection


def _remembering(model: str, dimension: int = 64):
    collection = a_collection([{"id": "1", "text": "words"}], embeddings=WordEmbeddings(dimension))
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
    assert embedders.automatic() == "openai"


def test_where_nothing_embeds_the_error_says_what_to_install(without_wordllama):
    with pytest.raises(CommandFailedError, match=re.escape("langchain-context-engine[local]")):
        embedders.embedder()


def test_openai_without_a_key_says_so():
    with pytest.raises(CommandFailedError, match="OPENAI_API_KEY"):
        embedders.embedder("openai")


@pytest.mark.parametrize(
    ("model", "dimension"), [("text-embedding-3-small", 1536), ("text-embedding-3-large", 256)]
)
def test_a_collection_of_openai_is_asked_by_its_model_and_length(key, model, dimension):
    found = embedders.embedder_for(_remembering(model, dimension))
    assert (found.model, found.dimensions) == (model, dimension)


def test_ada_is_not_asked_for_a_length_since_it_refuses(key):
    found = embedders.embedder_for(_remembering("text-embedding-ada-002", 1536))
    assert found._asks_dimensions is False


def test_a_model_nobody_here_knows_is_asked_from_python():
    with pytest.raises(CommandFailedError, match="embedded by my-model, which is not known here"):
        embedders.embedder_for(_remembering("my-model"))


def test_a_collection_that_says_nothing_needs_a_name():
    collection = a_collection([{"id": "1", "text": "words"}])
    assert embedders.remembered(collection) == embedders.Memory(model="", dimension=64)
    with pytest.raises(CommandFailedError, match="give --embeddings"):
        embedders.embedder_for(collection)


def test_vectors_of_another_length_are_refused_by_name():
    with pytest.raises(CommandFailedError, match="64 dimensions by my-model"):
        embedders.embedder_for(_remembering("my-model"), "local")
