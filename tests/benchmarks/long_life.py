"""A long life: answers at a steady rate with a journal, while records change; what is lost, and what memory does.

Every question is new, so nothing is answered from what was kept. The journal keeps every trace. Memory grows
while the caches fill, to the bounds that they have; what is printed shows whether it levels off. The last line
also says what is used: what the C library holds free, for threads that needed it once, is given back before.
As in `context-engine serve` all threads share two pools of memory; `--pools` leaves each its own.

Run it as: `python -m tests.benchmarks.long_life [--seconds 120] [--rate 70]
[--records 2000] [--timeout 2]`
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import sys
import tempfile
import threading
import time
from pathlib import Path

from langchain_context_engine import AllSourcesFailedError, ChromaSource, ContextEngine
from langchain_context_engine.cli.process import share_memory
from langchain_context_engine.journal import Journal
from tests.benchmarks.process_figures import resident_megabytes
from tests.benchmarks.speed_data import Maker, Query, open_collections

ROWS = 12


class Life:
    """One engine over two collections, its journal, and what it has answered."""

    def __init__(
        self, folder: Path, records: int, threads: int, limit: int, *, has_journal: bool, timeout: float = 2
    ) -> None:
        self.collections = open_collections(folder, records, count=2)
        self.journal = Journal(folder / "journal.db") if has_journal else None
        self.engine = ContextEngine(
            [ChromaSource(collection) for collection in self.collections],
            budget=600,
            journal=self.journal,
            timeout_seconds=timeout,
        )
        self.threads, self.limit = threads, limit
        self.answered = self.failed = self.changed = 0
        self._lock = threading.Lock()

    def answer(self, query: Query) -> None:
        """Ask a question, and count it."""
        try:
            status = str(self.engine.build(query.text, vector=query.vector, limit=self.limit).status)
        except AllSourcesFailedError:  # late, on a busy machine: the next question may be answered
            status = "failed"
        with self._lock:
            self.answered += 1
            self.failed += status not in ("ok", "doubtful")

    def ask(self, until: float, rate: float, seed: int) -> None:
        """Ask new questions at a rate until then; one that is late is asked at once."""
        maker, due = Maker(seed), time.monotonic()
        while (now := time.monotonic()) < until:
            if now < due:
                time.sleep(due - now)
            self.answer(maker.query())
            due = max(due + 1 / rate, time.monotonic() - 1)

    def change(self, until: float) -> None:
        """Write ten records anew each second."""
        maker = Maker(99)
        while time.monotonic() < until:
            rows = [maker.random.randrange(500) for _ in range(10)]
            self.collections[0].upsert(
                ids=[f"source-0-{row}" for row in dict.fromkeys(rows)],
                documents=[maker.text() for _ in dict.fromkeys(rows)],
                embeddings=maker.vectors(len(dict.fromkeys(rows))),
            )
            self.changed += len(dict.fromkeys(rows))
            time.sleep(1)

    def live(self, seconds: float, rate: float) -> None:
        """Print what was answered and how much memory there is, twelve times."""
        self.answer(Maker(7).query())
        started = time.monotonic()
        until = started + seconds
        work = [
            threading.Thread(target=self.ask, args=(until, rate / self.threads, seed))
            for seed in range(self.threads)
        ]
        work.append(threading.Thread(target=self.change, args=(until,)))
        for thread in work:
            thread.start()
        tell("s", "answers", "a second", "MB")
        last, at = self.answered, time.monotonic()
        for row in range(1, ROWS + 1):
            time.sleep(max(0.0, started + row * seconds / ROWS - time.monotonic()))
            now, answered = time.monotonic(), self.answered
            tell(
                f"{now - started:.0f}",
                answered,
                f"{(answered - last) / (now - at):.1f}",
                f"{resident_megabytes():.0f}",
            )
            last, at = answered, now
        for thread in work:
            thread.join()


def tell(*cells: object) -> None:
    """Print a row of the table."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)  # noqa: T201


def main() -> None:
    """Print the table, then what the journal holds and dropped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--rate", type=float, default=70)
    parser.add_argument("--records", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--limit", type=int, default=20, help="candidates of each of the two collections")
    parser.add_argument("--no-journal", action="store_true", help="to see what of the memory is its own")
    parser.add_argument(
        "--pools", action="store_true", help="as a program does that does not ask to share them"
    )
    parser.add_argument("--timeout", type=float, default=2, help="seconds that the sources have")
    given = parser.parse_args()
    if not given.pools:
        share_memory()
    with tempfile.TemporaryDirectory() as folder:
        life = Life(
            Path(folder),
            given.records,
            given.threads,
            given.limit,
            has_journal=not given.no_journal,
            timeout=given.timeout,
        )
        life.live(given.seconds, given.rate)
        kept = dropped = 0
        if life.journal is not None:
            life.journal.flush(60)
            kept, dropped = life.journal.count(), life.journal.dropped
            life.journal.close()
        gc.collect()
        held = resident_megabytes()
        with contextlib.suppress(AttributeError, OSError):  # there on glibc
            ctypes.CDLL(None).malloc_trim(0)
        print(  # noqa: T201
            f"{life.answered} answers, {life.failed} of them failed, {life.changed} records written;"
            f" the journal kept {kept} and dropped {dropped}; {held:.0f} MB at the end, {resident_megabytes():.0f} of them used"
        )
        sys.exit(bool(life.failed or dropped))


if __name__ == "__main__":
    main()
