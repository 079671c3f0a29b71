"""Figures of the whole process: import, memory, threads, indexing."""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb

from langchain_context_engine import ChromaSource
from langchain_context_engine.embeddings.local import LocalEmbeddings
from langchain_context_engine.ingest import index_jsonl
from tests.benchmarks.speed_data import Maker

MEGABYTE = 2**20


def import_seconds(rounds: int = 7) -> float:
    """Return what importing the package adds to importing langchain_core: the median of differences."""
    code = (
        "import time, langchain_core.documents, langchain_core.retrievers, langchain_core.embeddings\n"
        "start = time.perf_counter()\nimport langchain_context_engine\nprint(time.perf_counter() - start)"
    )
    run = [sys.executable, "-c", code]
    return statistics.median(float(subprocess.check_output(run)) for _ in range(rounds))


def memory_of(answer: Callable[[Any], object], questions: Sequence[Any]) -> float:
    """Return the most MB that one answer takes while it is made."""
    for question in questions:
        answer(question)
    peaks = []
    for question in questions:
        gc.collect()
        tracemalloc.start()
        answer(question)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return max(peaks) / MEGABYTE


def growth_of(answer: Callable[[Any], object], questions: Sequence[Any], *, times: int = 10_000) -> float:
    """Return how many MB the process grows by from a fifth of so many answers to the last."""
    before = 0.0
    for number in range(times):
        answer(questions[number % len(questions)])
        if number == times // 5:
            before = resident_megabytes()
    return resident_megabytes() - before


def threads(
    answer: Callable[[Any], object], questions: Sequence[Any], many: int = 32
) -> list[tuple[int, float, float, str]]:
    """Return (threads, answers a second over those of one thread, the least, note)."""

    def rate(workers: int) -> float:
        start = time.perf_counter()
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(answer, questions))  # one that fails raises here
        return len(questions) / (time.perf_counter() - start)

    for question in questions:
        answer(question)
    one, all_ = rate(1), rate(many)
    return [(many, all_ / one, 1.0, f"{one:.0f} and {all_:.0f} a second")]


def indexing(maker: Maker, records: int = 5000) -> tuple[float, float, str]:
    """Return records a second of what indexing does beside embedder and store, and of the first reading.

    What passes within the embedder and within Chroma's own calls is timed there and taken off: of two
    runs, the difference would say more about the machine than about indexing.
    """
    embeddings = LocalEmbeddings()
    embeddings.embed_documents(["to be ready"])
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder, "records.jsonl")
        rows = ({"id": str(row), "text": maker.text()} for row in range(records))
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
        client = chromadb.PersistentClient(folder, chromadb.Settings(anonymized_telemetry=False))
        embedder, store = Stopwatch(), Stopwatch()
        start = time.perf_counter()
        with embedder.timing(LocalEmbeddings, "embed_documents"), ExitStack() as store_calls:
            for call in ("get", "add", "upsert", "update", "delete", "modify", "count"):
                store_calls.enter_context(store.timing(chromadb.Collection, call))
            index_jsonl(lines, "indexed", client, embeddings)
        indexed = time.perf_counter()
        source = ChromaSource(client.get_collection("indexed", embedding_function=None))
        source.prepare()
        read = time.perf_counter()
    own = (indexed - start) - embedder.seconds - store.seconds
    rates = [records / seconds for seconds in (embedder.seconds, store.seconds, indexed - start)]
    note = f"embedder {rates[0]:.0f}, store {rates[1]:.0f}, all together {rates[2]:.0f} a second"
    return records / own, records / (read - indexed), note


@dataclass
class Stopwatch:
    """How long the calls of some methods took, in seconds."""

    seconds: float = 0.0

    @contextmanager
    def timing(self, owner: type, name: str) -> Iterator[None]:
        """Time every call of a method meanwhile."""
        method = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return method(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start

        setattr(owner, name, timed)
        try:
            yield
        finally:
            setattr(owner, name, method)


def resident_megabytes() -> float:
    """Return how much memory the process has, in MB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024
