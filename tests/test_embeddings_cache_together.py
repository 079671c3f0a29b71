"""CachedEmbeddings under threads and coroutines: one call for equal texts, no deadlock."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from langchain_context_engine.embeddings import CachedEmbeddings
from tests.embedding_builders import FailingOnceEmbeddings, SlowEmbeddings, asked


def test_fifty_threads_with_one_query_cost_one_call():
    """I80."""
    inner = SlowEmbeddings()
    cached = CachedEmbeddings(inner)
    with ThreadPoolExecutor(50) as pool:
        vectors = list(pool.map(cached.embed_query, ["a"] * 50))
    assert asked(inner) == {"a": 1}
    assert vectors == [inner._vector("a")] * 50


async def test_fifty_coroutines_with_one_query_cost_one_call():
    """I80."""
    inner = SlowEmbeddings()
    cached = CachedEmbeddings(inner)
    vectors = await asyncio.gather(*(cached.aembed_query("a") for _ in range(50)))
    assert asked(inner) == {"a": 1}
    assert vectors == [inner._vector("a")] * 50


def test_a_failure_reaches_all_who_wait_and_the_next_call_tries_again():
    """I80: threads."""
    inner = FailingOnceEmbeddings()
    cached = CachedEmbeddings(inner)
    barrier = threading.Barrier(50)

    def ask(_):
        barrier.wait()
        with pytest.raises(RuntimeError, match="quota"):
            cached.embed_query("a")

    with ThreadPoolExecutor(50) as pool:
        list(pool.map(ask, range(50)))
    assert asked(inner) == {"a": 1}
    assert cached.embed_query("a") == inner._vector("a")


async def test_a_failure_reaches_all_coroutines_and_the_next_call_tries_again():
    """I80: asyncio."""
    inner = FailingOnceEmbeddings()
    cached = CachedEmbeddings(inner)
    results = await asyncio.gather(*(cached.aembed_query("a") for _ in range(50)), return_exceptions=True)
    assert {type(r) for r in results} == {RuntimeError}
    assert asked(inner) == {"a": 1}
    assert await cached.aembed_query("a") == inner._vector("a")


async def test_a_cancelled_caller_does_not_take_the_others_with_it():
    """I80: the first one hangs up."""
    inner = SlowEmbeddings()
    cached = CachedEmbeddings(inner)
    first = asyncio.create_task(cached.aembed_query("a"))
    await asyncio.sleep(0.02)
    others = [asyncio.create_task(cached.aembed_query("a")) for _ in range(3)]
    await asyncio.sleep(0.02)
    first.cancel()
    others[0].cancel()
    results = await asyncio.gather(first, *others, return_exceptions=True)
    assert [type(r) for r in results] == [asyncio.CancelledError, asyncio.CancelledError, list, list]


async def test_a_synchronous_call_inside_the_loop_does_not_wait_for_a_coroutine_of_that_loop():
    """I80 and H72: it would wait for ever."""
    cached = CachedEmbeddings(SlowEmbeddings())
    task = asyncio.create_task(cached.aembed_query("a"))
    await asyncio.sleep(0.02)
    assert cached.embed_query("a") == await task


def test_overlapping_batches_wait_for_each_other_without_a_deadlock():
    """I80: each text is sent once though two batches want it."""
    inner = SlowEmbeddings()
    cached = CachedEmbeddings(inner)
    batches = [["a", "b", "c"], ["c", "b", "d"], ["d", "a", "e"], ["e", "c", "f"]] * 4
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(cached.embed_documents, batches))
    assert max(asked(inner).values()) == 1
    assert results == [[inner._vector(t) for t in batch] for batch in batches]


def test_event_loops_in_several_threads_share_one_call():
    """I80 and H72."""
    inner = SlowEmbeddings()
    cached = CachedEmbeddings(inner)
    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(lambda _: asyncio.run(cached.aembed_query("a")), range(8)))
    assert asked(inner) == {"a": 1}
    assert vectors == [inner._vector("a")] * 8
