"""Embeddings that are slow, fail or answer nonsense, and what they were asked."""

from __future__ import annotations

import threading
import time
from collections import Counter

from langchain_core.embeddings import Embeddings

from tests.builders import WordEmbeddings


class SlowEmbeddings(WordEmbeddings):
    """Takes a moment, so that calls overlap."""

    def embed_documents(self, texts):
        time.sleep(0.1)
        return super().embed_documents(texts)


class WaitingEmbeddings(WordEmbeddings):
    """Answers when it is told to."""

    def __init__(self):
        super().__init__()
        self.goes_on = threading.Event()

    def embed_documents(self, texts):
        self.goes_on.wait(60)
        return super().embed_documents(texts)


class FailingOnceEmbeddings(WordEmbeddings):
    """Its first call fails, slowly."""

    def embed_documents(self, texts):
        vectors = super().embed_documents(texts)
        time.sleep(0.1)
        if len(self.calls) == 1:
            raise RuntimeError("quota exceeded")
        return vectors


class AnsweringEmbeddings(Embeddings):
    """Answers with what it is told to, in turn."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.calls = 0

    def embed_documents(self, texts):
        self.calls += 1
        return self.answers.pop(0)

    def embed_query(self, text):
        return self.embed_documents([text])[0]


def asked(embeddings):
    return Counter(text for call in embeddings.calls for text in call)
