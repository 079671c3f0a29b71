"""LocalEmbeddings: offline, small, safe to share."""

from __future__ import annotations

import copy
import math
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

from langchain_context_engine.embeddings.local import LocalEmbeddings


class TestLocalEmbeddingsUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self):
        return LocalEmbeddings


class TestLocalEmbeddingsIntegration(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self):
        return LocalEmbeddings


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_texts_about_the_same_thing_are_nearer_than_others():
    query, near, far = LocalEmbeddings().embed_documents(
        ["how do I reset my password", "password recovery steps", "the cat sat in the warm sun"]
    )
    assert cosine(query, near) > cosine(query, far) + 0.2


def test_the_vectors_are_the_models_own():
    from wordllama import WordLlama

    texts = ["hello world", "a longer text about billing, invoices and taxes", "日本語のテキスト"]
    folder = Path(sys.modules["wordllama"].__file__).parent
    expected = WordLlama.load(cache_dir=folder, disable_download=True).embed(texts, norm=True)
    np.testing.assert_allclose(LocalEmbeddings().embed_documents(texts), expected, atol=1e-6)


def test_empty_documents_keep_their_place_with_zeros():
    """I74: vectors stay aligned with texts."""
    embeddings = LocalEmbeddings()
    first, blank, last = embeddings.embed_documents(["a", "", "b"])
    assert first == embeddings.embed_query("a")
    assert last == embeddings.embed_query("b")
    assert blank == [0.0] * 256
    assert embeddings.embed_documents(["", " "]) == [[0.0] * 256] * 2
    assert embeddings.embed_documents([]) == []


@pytest.mark.parametrize("text", ["a\ud83d", "😀", "\x00", "\u200b", "<s>", "^" * 1000])
def test_any_text_has_a_finite_vector(text):
    """A2 and I79: lone surrogates, emoji, controls."""
    assert all(map(math.isfinite, LocalEmbeddings().embed_query(text)))


def test_a_very_long_text_among_short_ones_needs_no_padding():
    """A3: 1,000,000 characters beside 63 short texts."""
    vectors = LocalEmbeddings().embed_documents(["word " * 200_000, *["short"] * 63])
    assert len(vectors) == 64
    assert cosine(vectors[0], LocalEmbeddings().embed_query("word word")) > 0.99


def test_it_is_pickled_and_copied():
    """H73."""
    embeddings = LocalEmbeddings()
    for twin in (pickle.loads(pickle.dumps(embeddings)), copy.deepcopy(embeddings)):
        assert twin.embed_query("a") == embeddings.embed_query("a")
