"""Builders and real fakes that the tests share. Every value has a default; a test names what matters to it."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Sequence

import chromadb
import httpx
from langchain_core.embeddings import Embeddings

from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate

_NUMBERS = itertools.count()


def a_candidate(**fields) -> Candidate:
    number = next(_NUMBERS)
    return Candidate(**{"id": f"c{number}", "text": f"text number {number}", "source": "memories", **fields})


def a_request(**fields) -> ContextRequest:
    return ContextRequest(
        **{
            "query": "what did we decide about billing?",
            "budget": 2000,
            "limit": 20,
            "now": "2026-01-01",
            **fields,
        }
    )


class WordEmbeddings(Embeddings):
    """A real, deterministic bag-of-words embedding: texts that share words are near. No model needed."""

    def __init__(self, dimensions: int = 64) -> None:
        self.dimensions = dimensions
        self.calls: list[tuple[str, ...]] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(tuple(texts))
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimensions
        for word in re.findall(r"\w+", text.lower()) or ["∅"]:
            digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
            vector[int.from_bytes(digest[:4]) % self.dimensions] += 1.0 if digest[4] % 2 else 0.8
        norm = math.sqrt(sum(x * x for x in vector))
        return [x / norm for x in vector]


def a_collection(
    records: Sequence[dict],
    *,
    embeddings: Embeddings | None = None,
    client=None,
    space: str = "cosine",
    name: str | None = None,
):
    """Return a real Chroma collection; a record is {"id", "text", **metadata}."""
    embeddings = embeddings or WordEmbeddings()
    client = client or chromadb.EphemeralClient()
    collection = client.create_collection(
        name or f"c{uuid.uuid4().hex}", embedding_function=None, configuration={"hnsw": {"space": space}}
    )
    if records:
        collection.add(
            ids=[r["id"] for r in records],
            documents=[r["text"] for r in records],
            metadatas=[{k: v for k, v in r.items() if k not in {"id", "text"}} or None for r in records],
            embeddings=embeddings.embed_documents([r["text"] for r in records]),
        )
    return collection


class ListSource:
    """A source over given candidates."""

    def __init__(self, candidates: Sequence[Candidate], name: str = "memories") -> None:
        self.name = name
        self.candidates = tuple(candidates)
        self.requests: list[ContextRequest] = []

    def fetch(self, request: ContextRequest) -> Sequence[Candidate]:
        self.requests.append(request)
        return self.candidates


class SlowSource(ListSource):
    """A source that answers late."""

    def __init__(
        self, candidates: Sequence[Candidate] = (), name: str = "slow", seconds: float = 0.2
    ) -> None:
        super().__init__(candidates, name)
        self.seconds = seconds

    def fetch(self, request: ContextRequest) -> Sequence[Candidate]:
        time.sleep(self.seconds)
        return super().fetch(request)


class HangingSource(ListSource):
    """A source that answers when it is let go."""

    def __init__(self, name: str = "hanging") -> None:
        super().__init__((), name)
        self.is_over = threading.Event()

    def fetch(self, request: ContextRequest) -> Sequence[Candidate]:
        self.is_over.wait(60)
        return super().fetch(request)


class MeetingSource(ListSource):
    """A source that answers when so many ask it at once; where they never meet, it fails."""

    def __init__(self, candidates: Sequence[Candidate] = (), name: str = "meeting", many: int = 2) -> None:
        super().__init__(candidates, name)
        self.barrier = threading.Barrier(many, timeout=8)

    def fetch(self, request: ContextRequest) -> Sequence[Candidate]:
        self.barrier.wait()
        return super().fetch(request)


class FailingSource(ListSource):
    """A source that raises."""

    def __init__(self, error: Exception, name: str = "failing") -> None:
        super().__init__((), name)
        self.error = error

    def fetch(self, request: ContextRequest) -> Sequence[Candidate]:
        raise self.error


def count_words(text: str) -> int:
    """A token counter: words."""
    return len(text.split())


def count_with_join_cost(text: str) -> int:
    """A token counter whose joins cost extra: characters/3, and one more for each line break."""
    return math.ceil(len(text) / 3) + text.count("\n")


def a_free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_until_it_answers(port: int, process: subprocess.Popen) -> None:
    """Wait until a server of ours answers on a port of this machine, or its process has ended."""
    until = time.monotonic() + 90
    with httpx.Client(timeout=60) as client:  # one: each reads this machine's certificates
        while time.monotonic() < until and process.poll() is None:
            try:
                if client.get(f"http://127.0.0.1:{port}/health").status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
