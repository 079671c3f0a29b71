"""Index repositories through all that befalls them, and compare what is stored with what git itself says.

Each is cloned, indexed, indexed again, changed by a commit, packed by `git gc`, indexed from its largest folder
and after it was moved. A file at HEAD must be in records or among what is left out, with its reason; each of the
last 5,000 commits must be stored; a repeated run writes nothing, one after a commit only what it changed.

Run it as: `python -m tests.benchmarks.repositories FOLDER …`
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chromadb

from langchain_context_engine.embeddings import LocalEmbeddings
from langchain_context_engine.ingest import IndexReport, index_repository
from langchain_context_engine.ingest.files import display_path
from tests.ingest_builders import git, stored

MOST_COMMITS = 5000
ADDED = "a-file-that-the-benchmark-adds.md"


@dataclass(slots=True)
class Findings:
    """What one repository gave.

    Attributes:
        figures: Heading of the table → what stands below it.
        faults: What is not as it should be, a sentence each.
    """

    figures: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def expect(self, claim: str, *, holds: bool, seen: object = "") -> None:
        """Note a fault unless a claim holds."""
        if not holds:
            self.faults.append(f"{claim}: {seen}")


class Trial:
    """One repository and the store that it goes to."""

    def __init__(self, source: Path, place: Path) -> None:
        self.folder = place / source.name
        git(place, "clone", "-q", str(source.resolve()), str(self.folder))
        self.client = chromadb.PersistentClient(str(place / "store"))
        self.embeddings = LocalEmbeddings()
        self.found = Findings({"repository": source.name})

    def run(self) -> Findings:
        """Do all that befalls a repository."""
        self._first()
        self._nothing_written("again")
        self._commit()
        git(self.folder, "gc", "-q")
        self._nothing_written("after gc")
        self._subfolder()
        self.folder = self.folder.rename(self.folder.with_name("moved"))
        self._nothing_written("moved")
        return self.found

    def _index(self, folder: Path | None = None) -> IndexReport:
        return index_repository(folder or self.folder, self.client, self.embeddings)

    def _first(self) -> None:
        started, spent = time.perf_counter(), time.process_time()
        report = self._index()
        spent, seconds = time.process_time() - spent, time.perf_counter() - started
        self._compare(report, ["code", "docs"], git(self.folder, "ls-tree", "-rz", "--name-only", "HEAD"))
        listed = git(self.folder, "rev-list", f"--max-count={MOST_COMMITS}", "HEAD").split()
        held = {metadata["sha"] for _, metadata in stored(self.client, "commits").values()}
        self.found.expect("commits missing", holds=held >= set(listed), seen=sorted(set(listed) - held)[:3])
        self.found.expect("commits too many", holds=held <= set(listed), seen=sorted(held - set(listed))[:3])
        self.found.figures |= {
            "commits": len(held),
            "records": report.added,
            "seconds": f"{seconds:.1f}",
            "processor": f"{spent:.1f}",
            "records/processor s": round(report.added / spent),
            "left out": " ".join(f"{reason}={count}" for reason, count in sorted(report.skipped.items())),
        }

    def _compare(self, report: IndexReport, collections: list[str], listed: str) -> None:
        paths = {display_path(path) for path in listed.split("\0") if path}
        held = {str(m["path"]) for name in collections for _, m in stored(self.client, name).values()}
        out = {entry.where for entry in report.left_out}
        # A folder that is left out as a whole (a submodule) is a path of the tree too.
        lost = sorted(paths - held - out)
        self.found.expect("files neither stored nor left out", holds=not lost, seen=lost[:5])
        self.found.expect("files that are not at HEAD", holds=held <= paths, seen=sorted(held - paths)[:5])
        self.found.figures.setdefault("files", len(paths))
        self.found.figures.setdefault("stored", len(paths & held))

    def _nothing_written(self, when: str) -> None:
        started = time.perf_counter()
        report = self._index()
        self.found.expect(
            f"{when}: something was written", holds=not report.written, seen=dict(report.collections)
        )
        if when == "again":
            self.found.figures["again, s"] = f"{time.perf_counter() - started:.1f}"

    def _commit(self) -> None:
        before = self._all()
        changed = max(Counter(str(m["path"]) for _, m in stored(self.client, "code").values()))
        with (self.folder / changed).open("ab") as file:
            file.write(b"\n# changed\n")
        (self.folder / ADDED).write_text("# Added\n\nA file that nobody had before.\n", encoding="utf-8")
        git(self.folder, "add", "-f", changed, ADDED)
        git(self.folder, "commit", "-qm", "A commit that changes two files", date="2026-10-01T10:00:00Z")
        head = git(self.folder, "rev-parse", "HEAD").strip()
        self._index()
        after = self._all()
        touched = {
            str(metadata.get("path") or metadata["sha"])
            for key in before.keys() | after.keys()
            if before.get(key) != after.get(key)
            for _, metadata in [after.get(key) or before[key]]
        }
        dropped = {
            metadata["sha"] for key, (_, metadata) in before.items() if key not in after and "sha" in metadata
        }
        self.found.expect(
            "after a commit more was written", holds=touched - dropped == {changed, ADDED, head}, seen=touched
        )

    def _all(self) -> dict[tuple[str, str], Any]:
        return {
            (name, key): value
            for name in ("code", "commits", "docs")
            for key, value in stored(self.client, name).items()
        }

    def _subfolder(self) -> None:
        listed = git(self.folder, "ls-tree", "-rz", "--name-only", "HEAD").split("\0")
        folders = Counter(path.partition("/")[0] for path in listed if "/" in path)
        if not folders:
            return
        folder = folders.most_common(1)[0][0]
        report = self._index(self.folder / folder)
        within = git(self.folder / folder, "ls-tree", "-rz", "--name-only", "HEAD")
        self._compare(report, [name for name in report.collections if not name.endswith("commits")], within)
        again = self._index(self.folder / folder)
        self.found.expect(
            "subfolder again: something was written", holds=not again.written, seen=again.written
        )
        self.found.figures["subfolder"] = f"{folder}: {report.added}"


def main() -> None:
    """Print a line for each repository, then what is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    faults = 0
    for number, source in enumerate(parser.parse_args().folders):
        with tempfile.TemporaryDirectory() as place:
            found = Trial(source, Path(place)).run()
        if not number:
            sys.stdout.write(
                "| " + " | ".join(found.figures) + " |\n" + "| --- " * len(found.figures) + "|\n"
            )
        sys.stdout.write("| " + " | ".join(map(str, found.figures.values())) + " |\n")
        sys.stdout.writelines(f"FAULT {source.name}: {fault}\n" for fault in found.faults)
        sys.stdout.flush()
        faults += len(found.faults)
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
