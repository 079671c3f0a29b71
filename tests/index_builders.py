"""What the tests of the index on disk share: a store, and programs that ask it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import chromadb

from langchain_context_engine import ChromaSource, ContextEngine
from tests.conftest import ROOT

VECTOR = [1.0, 0.5]


def run(program: str, *arguments: object, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT, **options
    )


def started(program: str, *arguments: object, **options) -> subprocess.Popen:
    command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    return subprocess.Popen(command, text=True, **{"stdout": subprocess.PIPE, **options})


def a_store(folder: Path, n: int, name: str = "notes") -> chromadb.Collection:
    collection = chromadb.PersistentClient(str(folder)).create_collection(name, embedding_function=None)
    for start in range(0, n, 5000):
        rows = range(start, min(n, start + 5000))
        collection.add(
            ids=[f"n{row}" for row in rows],
            documents=[f"note {row} about billing, item w{row}x" for row in rows],
            metadatas=[{"team": "red" if row % 2 else "blue"} for row in rows],
            embeddings=[[1.0, row / n] for row in rows],
        )
    return collection


def index_of(folder: Path, file: str = "lexical.index") -> Path:
    """Return the file of the only index of a store; what an answer makes anew is there when it is made."""
    (found,) = (folder / "context-engine-index").glob(f"*/{file}")
    return found


ASK = """
    import sys, json
    from tests.index_builders import ask
    print(json.dumps(ask(*sys.argv[1:])))
"""


def ask(folder: Path, query: str) -> list[list[str]]:
    """Return the ids that the words find, and the warnings, of an engine that opens the store anew."""
    client = chromadb.PersistentClient(str(folder))
    collection = client.get_collection("notes", embedding_function=None)
    engine = ContextEngine(sources=[ChromaSource(collection)], timeout_seconds=60)
    context = engine.build(query, vector=VECTOR, limit=5)
    return [[c.id for c in context.candidates if c.claims.get("lexical")], list(context.warnings)]
