"""What a large collection costs: start, memory, a question, the first reading, disk, a write by another.

python -m tests.benchmarks.scale [--large] [--sizes 10000 100000] [--cache DIR]

Every figure stands beside that of a bare process, which opens the same collection and asks
`collection.query` once. Collections are made once and kept in the cache folder.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import chromadb
import numpy as np

DIMENSIONS = 256
CHARACTERS = 300
TENANTS = 10
QUESTIONS = 60
_BATCH = 5000
_NAME = "records"


def words(seed: int) -> list[str]:
    """Return a vocabulary whose words sound like words."""
    numbers = random.Random(seed)
    letters = ("bcdfghklmnprstvw", "aeiou")
    return [
        "".join(numbers.choice(letters[i % 2]) for i in range(2 * numbers.randint(2, 4)))
        for _ in range(30_000)
    ]


class Maker:
    """Makes texts and vectors, the same every time."""

    def __init__(self, seed: int = 7) -> None:
        self.words = words(seed)
        self.numbers = random.Random(seed)
        self.centres = np.random.default_rng(seed).normal(size=(200, DIMENSIONS)).astype(np.float32)
        self.noise = np.random.default_rng(seed + 1)

    def text(self) -> str:
        """Return a text of some fifty words, of which few are common and many are rare."""
        told: list[str] = []
        while sum(map(len, told)) + len(told) < CHARACTERS:
            told.append(self.words[min(int(self.numbers.paretovariate(0.55)), len(self.words)) - 1])
        return " ".join(told)

    def vectors(self, n: int) -> np.ndarray:
        """Return vectors that lie in clusters, as those of texts do."""
        chosen = self.noise.integers(0, len(self.centres), n)
        found = self.centres[chosen] + 0.6 * self.noise.normal(size=(n, DIMENSIONS)).astype(np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def make(folder: Path, size: int) -> None:
    """Make the collection, unless it is there."""
    if (folder / "made").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    client = chromadb.PersistentClient(str(folder))
    collection = client.create_collection(
        _NAME, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    maker = Maker()
    for start in range(0, size, _BATCH):
        rows = range(start, min(size, start + _BATCH))
        collection.add(
            ids=[f"r{row}" for row in rows],
            documents=[maker.text() for _ in rows],
            metadatas=[{"tenant": f"t{row % TENANTS}", "title": f"Record {row}", "n": row} for row in rows],
            embeddings=maker.vectors(len(rows)),
        )
    (folder / "made").write_text(str(size))


def resident() -> float:
    """Return the most MB that this process has held; `ru_maxrss` would tell of its parent's too."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def bare(folder: Path) -> dict[str, float]:
    """Open the collection and ask it; the first time, and often."""
    started = time.perf_counter()
    collection = chromadb.PersistentClient(str(folder)).get_collection(_NAME, embedding_function=None)
    vectors = Maker().vectors(QUESTIONS)
    include: Any = ["documents", "metadatas", "distances"]
    collection.query(query_embeddings=vectors[:1], n_results=100, include=include)
    first, memory, times = time.perf_counter() - started, resident(), []
    for vector in vectors:
        begun = time.perf_counter()
        collection.query(query_embeddings=vector[None], n_results=100, include=include)
        times.append(time.perf_counter() - begun)
    return {"start": first, "memory": memory, "question": statistics.median(times)}


def engine_on(folder: Path, **settings: Any) -> Any:
    """Return an engine over the collection."""
    from langchain_context_engine import ChromaSource, ContextEngine

    collection = chromadb.PersistentClient(str(folder)).get_collection(_NAME, embedding_function=None)
    return ContextEngine(sources=[ChromaSource(collection)], **settings)


def read(folder: Path) -> dict[str, float]:
    """Read the collection for the first time."""
    shutil.rmtree(folder / "context-engine-index", ignore_errors=True)
    engine = engine_on(folder)
    started = time.perf_counter()
    engine.sources[0].prepare()
    seconds = time.perf_counter() - started
    size = int((folder / "made").read_text())
    disk = sum(p.stat().st_size for p in (folder / "context-engine-index").rglob("*") if p.is_file())
    return {"records a second": size / seconds, "bytes a record": disk / size, "memory": resident()}


def ask(folder: Path) -> dict[str, float]:
    """Ask a fresh engine, once and often, with and without a scope."""
    started = time.perf_counter()
    engine = engine_on(folder)
    maker = Maker()
    vectors = maker.vectors(QUESTIONS)
    questions = [" ".join(maker.text().split()[:8]) for _ in vectors]
    context = engine.build(questions[0], vector=vectors[0].tolist())
    first, memory = time.perf_counter() - started, resident()
    told: dict[str, float] = {
        "start": first,
        "memory": memory,
        "is whole": float(not context.warnings and any(c.claims.get("lexical") for c in context.candidates)),
    }
    for name, scope in (("question", {}), ("question in a scope", {"tenant": "t3"})):
        times = []
        for question, vector in zip(questions, vectors, strict=True):
            begun = time.perf_counter()
            engine.search(question, vector=vector.tolist(), scope=scope)
            times.append(time.perf_counter() - begun)
        told[name] = statistics.median(times)
    told["memory after"] = resident()
    return told


def write(folder: Path) -> dict[str, float]:
    """Tell how long it takes until a write by another process is answered with."""
    engine = engine_on(folder)
    vector = Maker().vectors(1)[0].tolist()
    engine.build("first", vector=vector)
    code = (
        "import chromadb, sys\n"
        f"c = chromadb.PersistentClient(sys.argv[1]).get_collection({_NAME!r}, embedding_function=None)\n"
        "c.upsert(ids=['written'], documents=[sys.argv[2]], metadatas=[{'tenant': 't0'}],"
        f" embeddings=[[1.0] * {DIMENSIONS}])\n"
    )
    word = f"zq{random.randrange(10**9)}x"
    subprocess.run([sys.executable, "-c", code, str(folder), f"a {word} here"], check=True)
    begun = time.perf_counter()
    found = engine.search(word, vector=vector)
    seconds = time.perf_counter() - begun
    engine.sources[0]._handle.collection.delete(ids=["written"])
    return {"seconds": seconds, "is found": float(any(word in item.candidate.text for item in found))}


CHILDREN = {"bare": bare, "read": read, "ask": ask, "write": write}


def child(name: str, folder: Path) -> dict[str, float]:
    """Run one measurement in a process of its own."""
    run = [sys.executable, "-m", "tests.benchmarks.scale", "--child", name, "--folder", str(folder)]
    told = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, float] = json.loads(told.splitlines()[-1])
    return found


def measure(folder: Path, size: int, say: Any) -> None:
    """Measure a collection of a size and tell."""
    say(f"\n{size:,} records of {CHARACTERS} characters, {DIMENSIONS} dimensions")
    make(folder, size)
    first = child("read", folder)
    say(f"  first reading: {first['records a second']:,.0f} records a second, {first['memory']:,.0f} MB")
    say(f"  disk: {first['bytes a record']:,.0f} bytes a record")
    child("bare", folder)  # so that both find the files in the system's cache
    alone, ours = child("bare", folder), child("ask", folder)
    say(f"  start to first answer: {ours['start']:.2f} s, bare {alone['start']:.2f} s;"
        f" {'with' if ours['is whole'] else 'WITHOUT'} words")  # fmt: skip
    say(f"  memory: {ours['memory']:,.0f} MB, bare {alone['memory']:,.0f} MB; after"
        f" {2 * QUESTIONS} questions {ours['memory after']:,.0f} MB")  # fmt: skip
    for name in ("question", "question in a scope"):
        ratio = ours[name] / alone["question"]
        say(
            f"  {name}: {1000 * ours[name]:.1f} ms, bare query {1000 * alone['question']:.1f} ms: {ratio:.1f} times"
        )
    told = child("write", folder)
    say(f"  a write by another process: {'found' if told['is found'] else 'NOT FOUND'} by the next question,"
        f" {1000 * told['seconds']:.0f} ms")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--large", action="store_true", help="a million records too")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "context-engine-scale")
    parser.add_argument("--child", choices=sorted(CHILDREN), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()

    def say(text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    if options.child:
        say(json.dumps(CHILDREN[options.child](options.folder)))
        return
    for size in [*options.sizes, *([1_000_000] if options.large else [])]:
        measure(options.cache / str(size), size, say)


if __name__ == "__main__":
    main()
