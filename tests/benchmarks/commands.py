"""What the commands cost: `index` in memory, `ask` beside importing Chroma, `serve` by clients and workers.

Run it as: `python -m tests.benchmarks.commands FOLDER`, of a git repository's clone. Processor time and memory are each
process's own, as the system counts them for a child that has ended.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import chromadb
import httpx

from tests.builders import a_free_port, wait_until_it_answers

ROUNDS = 7
SECONDS = 10.0
WARMING = 8
"""Clients that ask before it is measured."""
QUESTION = "How are timeouts configured?"
COMMAND = [sys.executable, "-m", "langchain_context_engine.cli"]


def spent(command: Sequence[str]) -> tuple[float, float]:
    """Return the seconds of processor that a process took, and the most MB that it held."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} ended with {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def median_of(command: Sequence[str]) -> float:
    """Return the seconds of processor of a command, the middle of some runs."""
    return statistics.median(spent(command)[0] for _ in range(ROUNDS))


@contextmanager
def serving(store: Path, workers: int) -> Iterator[str]:
    """Serve a store with a number of processes; give the address to post questions to."""
    port = a_free_port()
    options = ["--store", str(store), "--port", str(port), "--workers", str(workers), "--no-journal"]
    process = subprocess.Popen(
        [*COMMAND, "serve", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until_it_answers(port, process)
        yield f"http://127.0.0.1:{port}/build"
    finally:
        process.terminate()
        process.wait(30)


def rate(address: str, clients: int) -> float:
    """Return the answers a second that so many clients get, each asking anew once it is answered."""
    until = time.monotonic() + SECONDS

    def ask(client: int) -> int:
        answered = 0
        with httpx.Client(timeout=120) as session:
            while time.monotonic() < until:
                body = {"message": f"{QUESTION} {client} {answered}"}
                answered += session.post(address, json=body).status_code == httpx.codes.OK
        return answered

    began = time.monotonic()
    with ThreadPoolExecutor(clients) as pool:
        answered = sum(pool.map(ask, range(clients)))
    return answered / (time.monotonic() - began)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Print a line for each command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as place:
        store = Path(place, "store")
        seconds, megabytes = spent([*COMMAND, "index", str(folder), "--store", str(store)])
        client = chromadb.PersistentClient(str(store / "chroma"))
        records = sum(collection.count() for collection in client.list_collections())
        say(f"index of {records:,} records: {seconds:.1f} s of processor, at most {megabytes:,.0f} MB")
        answered = median_of([*COMMAND, "ask", QUESTION, "--store", str(store)])
        imported = median_of([sys.executable, "-c", "import chromadb"])
        say(
            f"ask : import chromadb, processor: {answered / imported:.2f} ({answered:.2f} s : {imported:.2f} s)"
        )
        one = 0.0
        for workers, clients in ((1, 1), (1, 64), (os.cpu_count() or 2, 64)):
            with serving(store, workers) as address:
                rate(address, WARMING)  # so that each process is warm, not the one that one client asks
                found = rate(address, clients)
            one = one or found
            say(
                f"serve --workers {workers}, {clients} clients: {found:.0f} a second, {found / one:.2f} of one's"
            )


if __name__ == "__main__":
    main()
