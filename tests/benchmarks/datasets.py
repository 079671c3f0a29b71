"""The labelled data sets that the benchmarks run on, loaded into real Chroma collections.

The data stays where it is: `--data` or the environment variable CONTEXT_ENGINE_DATA names its
folder. Collections, one for each source of a set, are made once and kept in the cache folder.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb

from langchain_context_engine.embeddings.local import LocalEmbeddings
from langchain_context_engine.evaluation.evaluate import Question
from langchain_context_engine.models.clock import read_instant

BUDGETS = (250, 500, 1000, 2000)
_LAYOUT = 1  # grows when records are written differently, so that cached collections are made anew


@dataclass(frozen=True, slots=True)
class Set:
    """A benchmark: a folder of data, which of its questions count, and a file of old versions to plant.

    What is planted goes into the source of what it is a version of, so every search meets it.
    """

    folder: str
    counts: Callable[[Mapping[str, Any]], bool]
    planted: str = ""

    @property
    def cache(self) -> str:
        return f"{self.folder}_planted" if self.planted else self.folder


SETS = {
    "locomo": Set("locomo", lambda q: not q.get("unanswerable")),
    "news": Set("multihop_news", lambda q: not q.get("unanswerable")),
    "wiki": Set("multihop_wiki", lambda _: True),
    "docs": Set("docs_spans", lambda _: True),
    "code": Set("code_commits", lambda q: not q["category"].startswith("latest_change")),
    "latest": Set("code_commits", lambda q: q["category"].startswith("latest_change")),
    "scifact": Set("scifact", lambda q: bool(q["gold_spans"])),
    "planted": Set(
        "code_commits", lambda q: not q["category"].startswith("latest_change"), "corpus_history_dups.jsonl"
    ),
}
MEAN_OF = ("locomo", "news", "wiki", "docs", "code", "scifact")
"""The six sets whose mean is told; `latest` stands apart, and so does `planted`: `code` with old versions."""

SEQUENCES = {
    "chat_messages": ("thread", "turn"),
    "docs_finance": ("document", "start"),
    "docs_wikitexts": ("document", "start"),
    "docs_chatlogs": ("document", "start"),
    "code": ("file", "line_start"),
    "docs": ("file", "part"),
}
"""Source → the metadata keys that say what adjoins what."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a set, ready for Chroma."""

    id: str
    text: str
    source: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A loaded set."""

    name: str
    records: tuple[Record, ...]
    questions: tuple[Question, ...]

    @property
    def texts(self) -> dict[str, str]:
        return {record.id: record.text for record in self.records}

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(record.source for record in self.records))


def arguments(description: str) -> argparse.ArgumentParser:
    """Return the options that all benchmarks on data sets have."""
    parser = argparse.ArgumentParser(description=description)
    data = os.environ.get("CONTEXT_ENGINE_DATA")
    parser.add_argument(
        "--data", type=Path, default=data, required=data is None, help="folder of the data sets"
    )
    parser.add_argument("--cache", type=Path, default=Path(".context-engine/benchmarks"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=[*MEAN_OF, "latest"])
    parser.add_argument(
        "--queries", type=int, default=0, metavar="N", help="at most N questions a set; 0: all"
    )
    parser.add_argument("--seed", type=int, default=0, help="chooses the questions of a sample")
    parser.add_argument(
        "--records",
        type=int,
        default=0,
        metavar="N",
        help="at most N records a set, those of its evidence among them; 0: all",
    )
    parser.add_argument(
        "--embedder",
        type=_embedder,
        default=LocalEmbeddings,
        metavar="MODULE:NAME",
        help="another embedder: a LangChain Embeddings class; give it a --cache of its own",
    )
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS))
    return parser


def _embedder(spelled: str) -> Callable[[], Any]:
    module, _, name = spelled.partition(":")
    return getattr(importlib.import_module(module), name)


def load(
    name: str, data: Path, *, queries: int = 0, seed: int = 0, split: str = "dev", most_records: int = 0
) -> Dataset:
    """Return a set with all its questions and records, or a sample of them in their order."""
    chosen = SETS[name]
    folder = data / chosen.folder
    lines = [q for q in _lines(folder / f"queries.{split}.jsonl") if chosen.counts(q)]
    if 0 < queries < len(lines):
        lines = [lines[i] for i in sorted(random.Random(seed).sample(range(len(lines)), queries))]
    records = [*_lines(folder / "corpus.jsonl")]
    if chosen.planted:
        source_of = {record["id"]: record["source"] for record in records}
        old = {line["id"]: line for line in _lines(folder / chosen.planted)}
        records += [{**line, "source": source_of[line["metadata"]["duplicate_of"]]} for line in old.values()]
    questions = tuple(map(_question, lines))
    return Dataset(name, _sampled(tuple(_records(records)), questions, most_records), questions)


def _sampled(records: tuple[Record, ...], questions: Iterable[Question], most: int) -> tuple[Record, ...]:
    """Return the records of the questions' evidence, and others by chance up to so many; 0: all."""
    if not 0 < most < len(records):
        return records
    evidence = {
        id_ for q in questions for id_ in (*q.gold, *(e for es in q.equivalents.values() for e in es))
    }
    others = [record.id for record in records if record.id not in evidence]
    room = most - (len(records) - len(others))
    chosen = evidence | set(random.Random(1).sample(others, min(len(others), max(0, room))))
    return tuple(record for record in records if record.id in chosen)


def collections(dataset: Dataset, cache: Path, embeddings: Any = None) -> dict[str, Any]:
    """Return source → Chroma collection, made and filled where the cache has none."""
    folder = cache / SETS[dataset.name].cache
    folder.mkdir(parents=True, exist_ok=True)
    embeddings = embeddings or LocalEmbeddings()
    client = chromadb.PersistentClient(str(folder), chromadb.Settings(anonymized_telemetry=False))
    known = {collection.name for collection in client.list_collections()}
    return {
        source: _collection(
            client, source, [r for r in dataset.records if r.source == source], embeddings, known
        )
        for source in dataset.sources
    }


def _collection(client: Any, source: str, records: list[Record], embeddings: Any, known: set[str]) -> Any:
    stamp = hashlib.sha256(
        repr(
            (
                _LAYOUT,
                getattr(embeddings, "model", type(embeddings).__qualname__),
                [(r.id, r.text, r.metadata) for r in records],
            )
        ).encode()
    ).hexdigest()
    if source in known:
        collection = client.get_collection(source, embedding_function=None)
        if (collection.metadata or {}).get("stamp") == stamp and collection.count() == len(records):
            return collection
        client.delete_collection(source)
    collection = client.create_collection(
        source,
        embedding_function=None,
        metadata={"stamp": stamp},
        configuration={"hnsw": {"space": "cosine"}},
    )
    size = client.get_max_batch_size()
    for start in range(0, len(records), size):
        batch = records[start : start + size]
        collection.add(
            ids=[r.id for r in batch],
            documents=[r.text for r in batch],
            metadatas=[r.metadata for r in batch],
            embeddings=embeddings.embed_documents([r.text for r in batch]),
        )
    return collection


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _records(lines: Iterable[Mapping[str, Any]]) -> Iterable[Record]:
    parts: dict[str, int] = {}
    for line in lines:
        metadata = {k: v for k, v in line["metadata"].items() if v not in (None, [], {})}
        if "created_at" in metadata:
            metadata["created_at"] = int(read_instant(metadata["created_at"]).timestamp())
        if "turn" in metadata:
            metadata["thread"] = f"{metadata['workspace']}:{metadata['session']}"
        if "path" in metadata:
            file = metadata["file"] = f"{metadata['workspace']}/{metadata['path']}"
            metadata["part"] = parts[file] = parts.get(file, -1) + 1
        yield Record(line["id"], line["content"], line["source"], metadata or {"source": line["source"]})


def _question(line: Mapping[str, Any]) -> Question:
    fields: dict[str, Any] = {}
    if workspace := line.get("workspace"):
        fields["scope"] = {"workspace": workspace}
    if day := line.get("as_of"):
        fields |= {"until": day, "now": day}
    return Question.from_dict({**line, **fields})
