"""Index a repository of 100,000 commits, which it makes, and say how much memory and time it took.

The repository is written by `git fast-import`: files of source text in folders, commits that change one to three of
them, a branch that is merged every hundred commits, a file renamed and a release tagged now and then. It is indexed
in a process of its own, once with the default number of commits and, with `--all`, once with every one.

Run it as: `python -m tests.benchmarks.history [--commits 100000] [--all] [--keep FOLDER]`
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import chromadb

from langchain_context_engine.embeddings import LocalEmbeddings
from langchain_context_engine.ingest import index_repository

FILES = 1000
FIRST_DAY = 1_262_304_000
WORDS = [
    "parser",
    "socket",
    "timeout",
    "header",
    "cache",
    "budget",
    "cookie",
    "reader",
    "writer",
    "index",
    "buffer",
    "signal",
    "thread",
    "shelf",
    "window",
    "record",
    "batch",
    "query",
    "route",
    "schema",
    "token",
    "vector",
    "stream",
    "folder",
    "commit",
    "branch",
    "merge",
    "engine",
    "docs",
    "release",
]
VERBS = [
    "Fix",
    "Add",
    "Remove",
    "Document",
    "Rename",
    "Test",
    "Simplify",
    "Bound",
    "Retry",
    "Close",
    "Split",
    "Count",
]


def write_history(folder: Path, commits: int) -> None:
    """Make a repository with so many commits, always the same."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    command = ["git", "-C", str(folder), "fast-import", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for part in _stream(commits, random.Random(0)):
            process.stdin.write(part.encode())
        process.stdin.close()
        if process.wait():
            raise RuntimeError("git fast-import failed")
    subprocess.run(["git", "-C", str(folder), "checkout", "-qf", "main"], check=True)


def _stream(commits: int, chance: random.Random) -> Iterator[str]:
    paths = [
        f"src/{WORDS[n % len(WORDS)]}/{WORDS[n // len(WORDS) % len(WORDS)]}_{n}.py" for n in range(FILES)
    ]
    side = 0
    for number in range(1, commits + 1):
        is_merge = number % 100 == 0
        if number % 100 == 50:
            side = number
        branch = "side" if side and not is_merge and number % 2 else "main"
        verb, thing, other = chance.choice(VERBS), chance.choice(WORDS), chance.choice(WORDS)
        message = (
            f"Merge branch 'side' at {number}"
            if is_merge
            else f"{verb} the {thing} of the {other} ({number})"
        )
        if not number % 7:
            message += "\n\n" + " ".join(chance.choices(WORDS, k=60))
        yield f"commit refs/heads/{branch}\nmark :{number}\n"
        yield f"committer A. Writer {number % 40} <a@writers.example> {FIRST_DAY + number * 3600} +0100\n"
        yield _data(message)
        if branch == "side" and side:
            if side > 0:
                yield f"from :{side - 1}\n"
            side = -1
        if is_merge and side < 0:
            yield "merge refs/heads/side\n"
        side = 0 if is_merge else side
        for path in chance.sample(paths, k=chance.randint(1, 3)):
            yield f"M 100644 inline {path}\n{_data(_source(path, number, chance))}"
        if not number % 500:
            old = chance.randrange(FILES)
            moved = paths[old].replace(".py", "_moved.py")
            if number > 20 * FILES:
                yield f"R {paths[old]} {moved}\n"
                paths[old] = moved
        yield "\n"


def _source(path: str, number: int, chance: random.Random) -> str:
    names = chance.sample(WORDS, k=4)
    return "".join(
        f'def {name}_{number}(given):\n    """Return the {name} of {path}."""\n    return given + {number}\n\n\n'
        for name in names
    )


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"


def index(folder: Path, store: Path, most: int | None) -> str:
    """Index a repository; return a row of the table."""
    bare = _peak()
    started = time.perf_counter()
    client, embeddings = chromadb.PersistentClient(str(store)), LocalEmbeddings()
    embeddings.embed_query("loads it")
    loaded = _peak()
    report = index_repository(folder, client, embeddings, max_commits=most)
    seconds = time.perf_counter() - started
    held = {name: counts.added for name, counts in report.collections.items()}
    left = sum(report.skipped.values())
    return f"| {most or 'all'} | {held} | {left} | {bare} | {loaded} | {_peak()} | {seconds:.0f} |"


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Make the repository, and print a line for each way to index it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=100_000)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--keep", type=Path, help="where the repository goes, or stands already")
    parser.add_argument("--index", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = given.keep or Path(place) / "history"
        if given.index is not None:
            sys.stdout.write(index(folder, Path(place) / "store", given.index or None) + "\n")
            return
        if not folder.exists():
            write_history(folder, given.commits)
        sys.stdout.write(
            "| commits held at most | records | left out | MB at start | MB loaded | MB at most | s |\n"
        )
        sys.stdout.write("| --- " * 7 + "|\n")
        sys.stdout.flush()
        for most in (5000, 0) if given.all else (5000,):
            again = [
                sys.executable,
                "-m",
                "tests.benchmarks.history",
                "--keep",
                str(folder),
                "--index",
                str(most),
            ]
            subprocess.run(again, check=True)


if __name__ == "__main__":
    main()
