"""A fork (gunicorn, multiprocessing) while threads are busy: its child works, whatever they held."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from langchain_context_engine import CachedEmbeddings, ContextEngine, LocalEmbeddings
from langchain_context_engine.text.words import stem
from langchain_context_engine.trace.result_cache import ResultCache
from tests.builders import ListSource, a_candidate

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

SECONDS = 30


def works_in_a_child(call, after=lambda: None):
    """Call something in the child of a fork, and `after` in the parent; return whether it ended well, in time."""
    child = os.fork()
    if child == 0:
        try:
            call()
        except BaseException:  # noqa: BLE001 - a child of a test ends here
            os._exit(1)
        os._exit(0)
    after()
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


class Slow:
    """An embedder that is in the middle of something at the fork."""

    def __init__(self):
        self.asked, self.goes_on = threading.Event(), threading.Event()

    def embed_query(self, text):
        return self.embed_documents([text])[0]

    def embed_documents(self, texts):
        self.asked.set()
        self.goes_on.wait(SECONDS)
        return [[1.0, 0.0] for _ in texts]


def test_what_a_thread_of_the_parent_computes_is_computed_anew():
    """The child waited for a vector that no thread of its own was to give."""
    slow = Slow()
    cached = CachedEmbeddings(slow, model="slow")
    thread = threading.Thread(target=cached.embed_query, args=("billing",))
    thread.start()
    slow.asked.wait(SECONDS)

    def ask():
        slow.goes_on = threading.Event()  # its own lock would be the parent's
        slow.goes_on.set()
        assert cached.embed_query("billing") == [1.0, 0.0]

    try:
        assert works_in_a_child(ask)
    finally:
        slow.goes_on.set()
        thread.join()


@pytest.mark.timeout(300)
def test_an_engine_works_in_a_child_whatever_its_threads_were_doing():
    """Point 6: 20 forks of a process whose threads ask, embed and remember without a pause."""
    notes = [a_candidate(text=f"Invoice {i} goes out monthly.") for i in range(20)]
    cached = CachedEmbeddings(LocalEmbeddings(), model="local", max_size=50)
    # Patient: a busy machine is not what is tried here.
    engine = ContextEngine([ListSource(notes)], cache=ResultCache(max_entries=10), timeout_seconds=SECONDS)
    stop, works = threading.Event(), threading.Event()

    def hammer(number):
        turn = 0
        while not stop.is_set():
            works.wait()  # not while a child answers: it needs the processor more
            turn += 1
            engine.build(f"invoice {number} {turn % 12}")
            cached.embed_documents([f"{number} {turn % 70}"])
            stem(f"invoicing{'abcdefgh'[number]}")

    def ask():
        for turn in range(3):
            assert engine.build(f"invoice {turn} of the month").text
            assert len(cached.embed_query(f"invoice {turn}")) == 256

    threads = [threading.Thread(target=hammer, args=(n,), daemon=True) for n in range(6)]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # so that a fork meets a thread anywhere
    for thread in threads:
        thread.start()

    def fork():
        works.set()
        time.sleep(0.03)  # until all of them are in the middle of something
        return works_in_a_child(ask, after=works.clear)

    try:
        assert [fork() for _ in range(20)] == [True] * 20
    finally:
        sys.setswitchinterval(switch)
        stop.set()
        works.set()
        for thread in threads:
            thread.join(SECONDS)
