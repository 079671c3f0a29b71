"""How much of what a published benchmark's answers cite stands in contexts: SWE-QA-Bench (Peng et al., ACL 2026).

python -m tests.benchmarks.swe_qa BENCHMARK REPOSITORIES [--only flask requests] [--work DIR] [--budgets 1000 4000]

BENCHMARK is a clone of peng-weihan/SWE-QA-Bench: 48 questions a repository, each with an answer that cites files
and lines at a commit. REPOSITORIES holds a clone of each under its short name; each is checked out and indexed as
users do. Printed: `lines`, the share of the cited lines (of three words or more) whose words stand in a row in
the context; `files`, the share of the cited files of which a passage is in.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from langchain_context_engine import Context
from tests.benchmarks.recall import say
from tests.benchmarks.wild import bare, engine_over, git, mean, prepared

_PATH = re.compile(r"[\w][\w./-]*\.(?:py|rst|md|toml|cfg|yaml|yml|json|ini|txt|pyi|sql)\b")
_LINES = re.compile(r"\blines?\s+(\d+)(?:\s*(?:-|–|to|through)\s*(\d+))?", re.IGNORECASE)
_MOST_LINES, _NEAR = 200, 12
LEAST = 3
"""Words of a line that counts, and lines of a question whose lines do."""


@dataclass(frozen=True)
class Cited:
    """A question, and what its answer cites.

    Attributes:
        query: The question.
        files: Paths.
        lines: The cited lines' words in a row.
    """

    query: str
    files: frozenset[str]
    lines: tuple[str, ...]

    def figures(self, context: Context) -> dict[str, float]:
        """Return the share of its files, and of its lines where it cites at least three."""
        shown = {str(passage.ranked.candidate.metadata.get("path")) for passage in context.passages}
        found = {"files": len(shown & self.files) / len(self.files)}
        if len(self.lines) >= LEAST:
            text = bare(context.text)
            found["lines"] = mean([float(line in text) for line in self.lines])
        return found


def cited(answer: str, tree: Sequence[str], length: Callable[[str], int]) -> dict[str, set[int]]:
    """Return path → numbers of the lines that an answer cites; a name that could be several files is none."""
    ends: defaultdict[str, list[str]] = defaultdict(list)
    for path in tree:
        parts = path.split("/")
        for number in range(1, len(parts) + 1):
            ends["/".join(parts[-number:])].append(path)
    named = [(m.start(), m.end(), ends.get(m[0].strip("./"), [])) for m in _PATH.finditer(answer)]
    sure = {ways[0] for _, _, ways in named if len(ways) == 1}
    places = []
    for start, end, ways in named:
        left = ways if len(ways) == 1 else [way for way in ways if way in sure]
        if len(left) == 1:
            places.append((start, end, left[0]))
    out: dict[str, set[int]] = {path: set() for _, _, path in places}
    for found in _LINES.finditer(answer):
        follows = re.match(r"\s*(?:in|of)\s*`?", answer[found.end() : found.end() + _NEAR])
        near = [path for start, _, path in places if follows and 0 <= start - found.end() <= _NEAR]
        before = [
            path
            for _, end, path in places
            if end <= found.start() and answer.count("\n\n", end, found.start()) <= 1
        ]
        if not near and not before:
            continue
        path = near[0] if near else before[-1]
        first, last = int(found[1]), int(found[2] or found[1])
        if 0 < first <= last <= length(path) and last - first <= _MOST_LINES:
            out[path].update(range(first, last + 1))
    return out


def repositories(
    benchmark: Path, clones: Path, work: Path, only: Sequence[str] = ()
) -> Iterator[tuple[str, Path, list[Cited]]]:
    """Yield each repository's name, its indexed checkout, and its questions."""
    work.mkdir(parents=True, exist_ok=True)
    told = [
        line.split() for line in git(benchmark, "show", "HEAD:repo_commit.txt").splitlines() if line.strip()
    ]
    for name, commit in sorted((where.rstrip("/").rpartition("/")[2], commit) for where, commit in told):
        if (only and name not in only) or not (clones / name).exists():
            continue
        folder = prepared(clones / name, commit, work.resolve())
        tree = git(folder, "ls-tree", "-r", "--name-only", "HEAD").splitlines()

        def lines_of(path: str, folder: Path = folder) -> list[str]:
            file = folder / path
            return file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []

        asked = []
        for line in git(benchmark, "show", f"HEAD:Benchmark/{name}.jsonl").splitlines():
            question = json.loads(line)
            gold = cited(question["answer"], tree, lambda path: len(lines_of(path)))
            rows = [bare(lines_of(path)[n - 1]) for path, numbers in gold.items() for n in sorted(numbers)]
            lines = tuple(row for row in rows if len(row.split()) >= LEAST)
            if gold:
                asked.append(Cited(question["question"], frozenset(gold), lines))
        yield name, folder, asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("repositories", type=Path)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--work", type=Path, default=Path("swe-qa-work"))
    parser.add_argument("--budgets", type=int, nargs="+", default=[1000, 2000, 4000, 8000, 16000])
    options = parser.parse_args()
    cells: defaultdict[tuple[str, int, str], list[float]] = defaultdict(list)
    names = []
    for name, folder, asked in repositories(
        options.benchmark, options.repositories, options.work, options.only
    ):
        names.append(name)
        engine = engine_over(folder)
        for question in asked:
            for budget in options.budgets:
                context = engine.build(question.query, budget=budget)
                for figure, value in question.figures(context).items():
                    cells[name, budget, figure].append(value)
                    cells["all", budget, figure].append(value)
    say(
        f"| lines / files | {' | '.join(map(str, options.budgets))} |\n|{' --- |' * (1 + len(options.budgets))}"
    )
    for name in [*names, "all"]:
        row = [
            f"{mean(cells[name, b, 'lines']):.3f} / {mean(cells[name, b, 'files']):.3f}"
            for b in options.budgets
        ]
        say(f"| {name} | {' | '.join(row)} |")


if __name__ == "__main__":
    main()
