"""Kill indexing runs at twenty random moments, complete them, and compare with a run that was left alone.

Run it as: `python -m tests.benchmarks.killed FOLDER`
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import chromadb

from tests.ingest_builders import content

KINDS = ("code", "commits", "docs")


def run(folder: Path, store: Path, *, seconds: float | None = None) -> bool:
    """Index a folder; return whether it was killed after so many seconds."""
    program = "import sys; from langchain_context_engine.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "index", str(folder), "--store", str(store)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return True
    return False


def held(store: Path) -> dict[str, object]:
    """Everything a store holds."""
    client = chromadb.PersistentClient(str((store / "chroma").absolute()))
    return {kind: content(client, kind) for kind in KINDS}


def main() -> None:
    """Print how often the run was killed and whether the store is as if it had not been."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as place:
        whole, torn = Path(place) / "whole", Path(place) / "torn"
        started = time.perf_counter()
        run(given.folder, whole)
        seconds = time.perf_counter() - started
        killed, completed, is_same = 0, 0, True
        while killed < given.times:
            # Each kill falls anywhere between nothing stored and all of it, also on what earlier ones left.
            if run(given.folder, torn, seconds=chance.uniform(0.1, seconds)):
                killed += 1
                continue
            completed += 1
            is_same = is_same and held(whole) == held(torn)
            torn = Path(place) / f"torn-{completed}"
        run(given.folder, torn)
        is_same = is_same and held(whole) == held(torn)
        print(  # noqa: T201
            f"killed {killed} times within {seconds:.1f} s, completed {completed + 1} times;"
            f" each time the same as left alone: {is_same}"
        )
    sys.exit(not is_same)


if __name__ == "__main__":
    main()
