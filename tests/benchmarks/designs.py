"""What the five designs demand of time, memory and estimates, measured on collections of 10,000 records.

python -m tests.benchmarks.designs [--rounds 30]

Every question is asked once. Times of whole answers are the 95th percentile, those of parts the median.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import chromadb

from langchain_context_engine import ChromaSource, ContextEngine, LocalEmbeddings
from langchain_context_engine.designs import (
    ContextPlan,
    LearningMemoryAssembler,
    MemoryEngine,
    PrimeContextService,
    Searcher,
    TokenBudget,
    User,
    WorkspaceContextBuilder,
)
from langchain_context_engine.text.tokens import resolve_tokenizer
from tests.benchmarks.process_figures import memory_of
from tests.benchmarks.speed_data import Maker
from tests.benchmarks.timing import quantile

RECORDS = 10_000
_LAYOUT = 1
AXES = ("full", "strategy", "surprise", "root_cause")
LEARNT = ("memories", "code", "experiences", "values", "commits")


def record(row: int) -> dict[str, Any]:
    """Return metadata with what each of the designs reads."""
    return {
        "workspace_id": "acme", "type": ("fact", "decision")[row % 2], "confidence": (row % 10) / 10,
        "created_at": 1_700_000_000 + row, "user_id": "ann", "path": f"docs/{row}.md", "team": "product",
        "page_id": f"page-{row // 50}", "parent_id": f"block-{row // 50 * 50}", "position": row % 50,
        "axis": AXES[row % 4], "domain": ("debugging", "feature")[row % 2], "strategy": "systematic-elimination",
        "category": "decision", "importance": 0.5, "file_path": f"src/{row}.py", "sha": f"{row:040x}",
        "goal": "Find the cause", "lesson": "Look at the cache", "surprise": "It was cached", "thread_id": "t1",
    }  # fmt: skip


def open_designs(folder: Path, embeddings: LocalEmbeddings) -> dict[str, Any]:
    """Return the five collections, filled where the folder has none."""
    path = folder / f"designs-{_LAYOUT}"
    path.mkdir(parents=True, exist_ok=True)
    client = chromadb.PersistentClient(str(path), chromadb.Settings(anonymized_telemetry=False))
    made = {}
    for seed, name in enumerate(LEARNT):
        collection = made[name] = client.get_or_create_collection(
            name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        if collection.count() == RECORDS:
            continue
        maker = Maker(seed)
        for start in range(0, RECORDS, 2000):
            rows = range(start, start + 2000)
            texts = [maker.text() for _ in rows]
            collection.upsert(
                ids=[f"block-{row}" for row in rows],
                documents=texts,
                metadatas=[record(row) for row in rows],
                embeddings=embeddings.embed_documents(texts),
            )
    return made


def systems(
    collections: dict[str, Any], embeddings: LocalEmbeddings
) -> dict[str, tuple[Callable[[str], Any], float]]:
    """Return what is asked, by the name of its figure, and the milliseconds that its document allows."""
    memory = MemoryEngine(collections["memories"], embeddings)
    prime = PrimeContextService(collections["code"], collections["commits"])
    workspace = WorkspaceContextBuilder(
        collections["values"],
        embeddings=embeddings,
        permissions=lambda user: {"team": user.attributes["teams"]},
    )
    learning = LearningMemoryAssembler(Searcher(embeddings=embeddings, **collections))
    plan = ContextPlan(
        [{"type": "system", "content": "Answer."}, {"type": "context", "name": "articles"},
         {"type": "user", "content": "{input.question}"}],
        packs={"articles": ContextEngine([ChromaSource(collections["memories"], embeddings=embeddings)])},
        policy={"input_budget": {"max_tokens": 2000}},
    )  # fmt: skip
    ann = User(id="ann", attributes={"teams": ["product"]})
    return {
        "workspace: build": (
            lambda q: workspace.build(
                q, user=ann, focus={"block_id": "block-120"}, token_budget=TokenBudget()
            ),
            200.0,
        ),
        "prime: build_prime_context": (lambda q: prime.build_prime_context("t1", q, "ann"), 300.0),
        "learning: assemble_context of five sources": (
            lambda q: learning.assemble_context_sync(q, list(LEARNT)),
            1000.0,
        ),
        "learning: get_premortem_context": (
            lambda _: learning.get_premortem_context_sync("debugging", "systematic-elimination"),
            1500.0,
        ),
        "memory: build_context": (lambda q: memory.build_context(q, "acme"), 200.0),
        "plan: invoke": (lambda q: plan.invoke({"question": q}), 200.0),
    }


def line(what: str, found: float, allowed: float) -> str:
    mark = "met" if found <= allowed else "MISSED"
    return f"| {what} | {found:,.3g} | ≤ {allowed:,g} | {mark} |\n"


def stages(collections: dict[str, Any], embeddings: LocalEmbeddings, questions: Sequence[str]) -> list[str]:
    """Return the lines of dedupe and formatting, taken from the timings that every context tells."""
    sources = [ChromaSource(c, embeddings=embeddings, name=name) for name, c in collections.items()]
    engine = ContextEngine(sources)
    contexts = [engine.build(question) for question in questions]
    return [
        line("learning: deduplication, ms", quantile([c.timings["dedupe"] for c in contexts], 0.5), 50.0),
        line("learning: formatting, ms", quantile([c.timings["render"] for c in contexts], 0.5), 100.0),
    ]


def estimates(build: Callable[[str], Any], questions: Sequence[str]) -> list[str]:
    """Return the lines of what counting costs, and by how many per cent the workspace's figure is off."""
    count, off, seconds = resolve_tokenizer("auto"), [], []
    for question in questions:
        payload = build(question)
        start = time.perf_counter()
        actual = count(str(payload))
        seconds.append(time.perf_counter() - start)
        off.append(100 * abs(payload.metadata.total_tokens - actual) / max(1, actual))
    return [
        line("token estimation, ms", 1000 * quantile(seconds, 0.5), 10.0),
        line("workspace: estimate beside the count, per cent off", max(off), 5.0),
    ]


_READING = {"lexical-index", "context-engine-source"}


def wait_for_reading() -> None:
    """Wait until what the first question began is read, words and links: a source may be late with that."""
    while any(thread.name in _READING for thread in threading.enumerate()):
        time.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=30, help="questions of each design")
    parser.add_argument("--cache", type=Path, default=Path(".context-engine/benchmarks"))
    options = parser.parse_args()
    embeddings, maker = LocalEmbeddings(), Maker(99)
    collections = open_designs(options.cache, embeddings)
    sys.stdout.write("| what, ms | figure | allowed | |\n| --- | ---: | ---: | --- |\n")
    asked = systems(collections, embeddings)
    for name, (answer, allowed) in asked.items():
        answer(maker.query().text)
        wait_for_reading()
        answer(maker.query().text)
        seconds = []
        for _ in range(options.rounds):
            question = maker.query().text
            start = time.perf_counter()
            answer(question)
            seconds.append(time.perf_counter() - start)
        sys.stdout.write(line(name, 1000 * quantile(seconds, 0.95), allowed))
        sys.stdout.write(line(f"{name}, MB", memory_of(answer, [maker.query().text for _ in range(3)]), 50.0))
        sys.stdout.flush()
    questions = [maker.query().text for _ in range(options.rounds)]
    sys.stdout.writelines(stages(collections, embeddings, questions))
    sys.stdout.writelines(estimates(asked["workspace: build"][0], questions))


if __name__ == "__main__":
    main()
