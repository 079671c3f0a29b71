"""Collections to measure speed on: made-up texts of 800 characters with clustered vectors, made once."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb
import numpy as np

DIMENSIONS = 256
CHARACTERS = 800
_LAYOUT = 1  # grows when records are made differently, so that cached collections are made anew
_CLUSTERS = 100
_SYLLABLES = [a + b for a, b in itertools.product("bdfgklmnprstvz", ("a", "e", "i", "o", "u", "an", "er"))]


@dataclass(frozen=True, slots=True)
class Query:
    """A question of words that stand in a record, and a vector near to it."""

    text: str
    vector: tuple[float, ...]


class Maker:
    """Makes texts, vectors and questions, the same for the same seed.

    Words are as frequent as in a language (Zipf), and vectors lie in clusters: of vectors that are all
    equally far apart a graph index finds half.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        words = random.Random(0)
        self.words = [
            "".join(words.choices(_SYLLABLES, k=words.choice((2, 2, 3, 3, 4)))) for _ in range(20_000)
        ]
        self.frequencies = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(self.words))))
        self.centres = np.random.default_rng(0).normal(size=(_CLUSTERS, DIMENSIONS))

    def text(self) -> str:
        """Return sentences of together about 800 characters."""
        sentences: list[str] = []
        while sum(map(len, sentences)) < CHARACTERS:
            words = self.random.choices(
                self.words, cum_weights=self.frequencies, k=self.random.randint(6, 18)
            )
            sentences.append(" ".join(words).capitalize() + ".")
        return " ".join(sentences)[:CHARACTERS]

    def vectors(self, n: int) -> np.ndarray:
        """Return vectors of length 1, each near to the centre of a cluster."""
        centres = self.centres[self.numbers.integers(_CLUSTERS, size=n)]
        vectors = centres + 0.6 * self.numbers.normal(size=(n, DIMENSIONS))
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    def query(self) -> Query:
        """Return a question of six words as rare as words of texts are, some of them twice as rare."""
        words = self.random.choices(self.words[50:], cum_weights=self.frequencies[50:], k=6)
        return Query(" ".join(words), tuple(map(float, self.vectors(1)[0])))


def open_collections(folder: Path, records: int, *, count: int = 5) -> list[Any]:
    """Return persistent collections of so many records each, filled where the folder has none."""
    path = folder / f"speed-{_LAYOUT}-{records}"
    path.mkdir(parents=True, exist_ok=True)
    client = chromadb.PersistentClient(str(path), chromadb.Settings(anonymized_telemetry=False))
    return [_filled(client, f"source-{number}", records, number) for number in range(count)]


def _filled(client: Any, name: str, records: int, seed: int) -> Any:
    collection = client.get_or_create_collection(
        name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    if collection.count() == records:
        return collection
    maker = Maker(seed)
    for start in range(0, records, 5000):
        rows = range(start, min(start + 5000, records))
        collection.upsert(
            ids=[f"{name}-{row}" for row in rows],
            documents=[maker.text() for _ in rows],
            # A tenth of the records belongs to each of ten users.
            metadatas=[{"user": f"user-{row % 10}", "created_at": 1_700_000_000 + row} for row in rows],
            embeddings=maker.vectors(len(rows)),
        )
    return collection
