"""A fork (gunicorn, multiprocessing) while threads are busy: its child works, whatever they held."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

import langchain_context_engine
from langchain_context_engine import CachedEmbeddings, ContextEngine, LocalEmbeddings
from langchain_context_engine.models.locks import ForkSafeLock, awaited_lock
from langchain_context_engine.pipeline.executor import AT_ONCE, Turnstile
from langchain_context_engine.text.words import stem
from langchain_context_engine.trace.result_cache import ResultCache
from tests.builders import ListSource, a_candidate

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

SECONDS = 30
PACKAGE = Path(langchain_context_engine.__file__).parent
APART = ("pipeline/executor.py",)
"""What closes or begins anew before or after a fork in its own way."""

LOCK = re.compile(r"threading\.R?Lock\(\)|@(?:functools\.)?cached_property")  # the latter, in Python 3.11


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


def test_a_lock_that_another_thread_holds_is_free_in_the_child():
    lock, held, done = ForkSafeLock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait(SECONDS)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(SECONDS)
    try:
        assert works_in_a_child(lock.__enter__)
        assert lock.locked()  # in the parent nothing has changed
    finally:
        done.set()
        thread.join()


def test_who_forks_while_it_holds_a_lock_leaves_it_in_the_child_too():
    lock = ForkSafeLock()

    def leave():
        lock.__exit__(None, None, None)
        assert not lock.locked()

    with lock:
        assert works_in_a_child(leave)


def test_a_fork_waits_for_what_a_thread_loads():
    """A child that was made while the embedding model was loaded waited for ever: its loader's own locks."""
    lock, held, loaded = awaited_lock(), threading.Event(), []

    def load():
        with lock:
            held.set()
            time.sleep(0.1)
            loaded.append(True)

    def see():
        assert loaded
        assert lock.acquire(blocking=False)

    thread = threading.Thread(target=load)
    thread.start()
    held.wait(SECONDS)
    assert works_in_a_child(see)
    thread.join()
    with lock:  # a thread that loads and forks does not wait for itself
        assert works_in_a_child(lambda: None)


def test_whose_turn_it_is_stays_with_the_parent():
    """All turns taken, or some waiting, at the moment of the fork: a child waited for ever."""
    turnstile = Turnstile(AT_ONCE)
    for _ in range(AT_ONCE):
        assert turnstile.enter().done()
    assert not turnstile.enter().done()

    def enter():
        for _ in range(AT_ONCE):
            assert turnstile.enter().done()

    assert works_in_a_child(enter)


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


def test_no_other_lock_is_made_where_a_fork_may_meet_it():
    """The kind: a plain lock is free in a child only by luck."""
    made = [
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        if LOCK.search(path.read_text(encoding="utf-8"))
    ]
    assert [name for name in made if not name.startswith(APART)] == ["models/locks.py"]
