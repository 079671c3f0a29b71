"""How fast a repository is indexed, beside what Chroma alone takes to store the very same records.

The records of one run are read back and given to `collection.upsert` in batches of the writer's size: whole,
without metadata, without documents, with neither. No indexing through Chroma can be faster than the first.

Run it as: `python -m tests.benchmarks.upsert FOLDER`
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chromadb

from langchain_context_engine.embeddings.local import LocalEmbeddings
from langchain_context_engine.ingest import index_repository

BATCH = 1024
FIELDS = ("ids", "documents", "metadatas", "embeddings")

Stored = Mapping[str, Mapping[str, list[Any]]]


@contextmanager
def measured(what: str, records: dict[str, int]) -> Iterator[None]:
    """Print a row: how many records a second, by the processor's time and by the wall's."""
    wall, spent = time.perf_counter(), time.process_time()
    yield
    wall, spent = time.perf_counter() - wall, time.process_time() - spent
    number = records["number"]
    sys.stdout.write(
        f"| {what} | {number:,} | {spent:.1f} | {number / spent:,.0f} | {wall:.1f} | {number / wall:,.0f} |\n"
    )
    sys.stdout.flush()


def read_back(client: Any) -> Stored:
    """Return everything that a store holds."""
    found = {}
    for listed in client.list_collections():
        collection = client.get_collection(listed.name, embedding_function=None)
        held = collection.get(include=["documents", "metadatas", "embeddings"])
        found[listed.name] = {name: list(held[name]) for name in FIELDS}
    return found


def upsert(stored: Stored, place: str, fields: tuple[str, ...]) -> None:
    """Store some fields of all records in a new store."""
    client = chromadb.PersistentClient(place)
    for name, held in stored.items():
        collection = client.create_collection(
            name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        for start in range(0, len(held["ids"]), BATCH):
            collection.upsert(**{field: held[field][start : start + BATCH] for field in fields})


def main() -> None:
    """Print a row for indexing, and one for each way to store what it gave."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    embeddings = LocalEmbeddings()
    embeddings.embed_query("loads it")
    sys.stdout.write("| what | records | processor s | records a second of it | s | records a second |\n")
    sys.stdout.write("| --- " + "| ---: " * 5 + "|\n")
    with tempfile.TemporaryDirectory() as place:
        client = chromadb.PersistentClient(f"{place}/indexed")
        records = {"number": 0}
        with measured("indexed, embedding included", records):
            records["number"] = index_repository(folder, client, embeddings).added
        stored = read_back(client)
        texts = [text for held in stored.values() for text in held["documents"]]
        with measured("embedded alone", records):
            embeddings.embed_documents(texts)
        for what, without in (
            ("`upsert` alone", ()),
            ("… without metadata", ("metadatas",)),
            ("… without documents", ("documents",)),
            ("… without either", ("metadatas", "documents")),
        ):
            fields = tuple(field for field in FIELDS if field not in without)
            with measured(what, records):
                upsert(stored, f"{place}/{len(what)}", fields)


if __name__ == "__main__":
    main()
