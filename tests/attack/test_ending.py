"""Programs that end, hang or fork: real processes, and how they end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
import time

import chromadb
import pytest

from langchain_context_engine import AllSourcesFailedError, ChromaSource, ContextEngine, executor
from langchain_context_engine.sources import chroma
from tests.builders import ListSource, a_candidate

LATE = textwrap.dedent(
    """
    import sys
    import chromadb
    from langchain_context_engine import AllSourcesFailedError, ChromaSource, ContextEngine

    class Embedder:
        def embed_query(self, text):
            return [1.0, 0.0]

    client = chromadb.PersistentClient(sys.argv[1])
    sources = [
        ChromaSource(client.get_collection(name, embedding_function=None), embeddings=Embedder(), hybrid=False)
        for name in ("first", "second")
    ]
    try:
        ContextEngine(sources, timeout_seconds=0.002).build("billing")
    except AllSourcesFailedError:
        print("late")
    """
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store")
    client = chromadb.PersistentClient(str(path))
    for name in ("first", "second"):
        collection = client.create_collection(name, embedding_function=None)
        rows = range(4000)
        collection.add(
            ids=[str(row) for row in rows],
            documents=[f"Note {row} is about billing." for row in rows],
            embeddings=[[1.0, row / 4000] for row in rows],
        )
    return path


def ends(program, *arguments):
    run = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(run, capture_output=True, text=True, timeout=100, check=False)


def died(store, times):
    outcomes = [ends(LATE, store) for _ in range(times)]
    return [(o.returncode, o.stderr[-300:]) for o in outcomes if o.returncode or o.stderr]


def test_a_program_whose_source_threads_are_late_ends_cleanly(store):
    """High 4: 20 of 20 died of SIGSEGV."""
    assert died(store, 1) == []


@pytest.mark.attack
@pytest.mark.timeout(600)
def test_no_program_of_twenty_dies_at_its_end(store):
    assert died(store, 20) == []


HANGING = textwrap.dedent(
    """
    import time
    from langchain_context_engine import AllSourcesFailedError, ContextEngine

    class Hanging:
        name = "hanging"
        def fetch(self, request):
            time.sleep(1000)

    try:
        ContextEngine([Hanging()], timeout_seconds=0.01).build("q")
    except AllSourcesFailedError:
        print("late", flush=True)
    """
)


def test_a_thread_that_hangs_delays_a_programs_end_by_seconds_at_most():
    start = time.monotonic()
    assert ends(HANGING).stdout == "late\n"
    assert time.monotonic() - start < executor.PATIENCE_SECONDS + 30  # a busy machine starts slowly


class Hanging:
    name = "hanging"

    def __init__(self):
        self.calls = 0
        self.ends = threading.Event()

    def fetch(self, request):
        del request
        self.calls += 1
        self.ends.wait(60)
        return []

    get = None


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_source_that_hangs_gets_no_second_call_meanwhile(is_async):
    """Point 8: 1,000 builds left 1,002 threads behind."""
    hanging = Hanging()
    engine = ContextEngine([hanging, ListSource([a_candidate(text="fine")])], timeout_seconds=1)
    before = threading.active_count()
    for _ in range(100):
        context = await engine.abuild("q") if is_async else engine.build("q")
        assert context.text == "[1] fine"
        assert context.status == "partial"
    assert hanging.calls == 1
    assert threading.active_count() <= before + 12
    assert "earlier question" in context.warnings[0]
    hanging.ends.set()
    until = time.monotonic() + 10
    while hanging.calls == 1 and time.monotonic() < until:
        await asyncio.sleep(0.05)
        context = await engine.abuild("q") if is_async else engine.build("q")
    assert hanging.calls == 2


def test_the_first_question_to_a_large_store_waits_until_it_is_open(store, monkeypatch):
    """Point 12: every source was late, for its collection was being opened; a small one keeps its deadline."""

    def an_engine(name):
        collection = chromadb.PersistentClient(str(store)).get_collection(name, embedding_function=None)
        return ContextEngine([ChromaSource(collection, hybrid=False)], timeout_seconds=1e-6)

    with pytest.raises(AllSourcesFailedError):
        an_engine("first").build("billing", vector=[1.0, 0.0])
    monkeypatch.setattr(chroma, "_COLD_FROM", 1000)
    assert an_engine("second").build("billing", vector=[1.0, 0.0]).passages


def test_where_no_thread_can_be_had_the_answer_says_so(monkeypatch):
    """Point 8. The limit of a whole process cannot be lowered without ending this one's other tests."""

    def refuse(*_args, **_named):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(executor, "start", refuse)
    monkeypatch.setattr(executor._threads, "idle", [])
    with pytest.raises(Exception, match="no thread can be had to ask it: can't start new thread"):
        ContextEngine([ListSource([a_candidate()])]).build("q")
