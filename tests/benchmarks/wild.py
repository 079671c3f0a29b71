"""How well contexts answer real questions on real repositories.

python -m tests.benchmarks.wild REPOSITORIES QUESTIONS.jsonl [--work DIR] [--budgets 500 1000 2000]

REPOSITORIES holds a clone of each repository, bare or not, under its short name. Each is checked out at the
commit that the questions name and indexed as users do; each question is asked with the defaults. A question
has `repository` (owner/name), `at` (the commit), `kind`, `query` and `gold`: for each piece of the answer
the places that hold it equally well ({"path" or "commit", "start", "end"}).

Printed: recall (the share of the gold whose words stand in a row in the text), junk (passages with fewer than
four words that tell something), twins (passages whose words stand in another one), and of questions that
nothing answers how many contexts come without a word of doubt.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import chromadb

from langchain_context_engine import ChromaSource, ContextEngine, LocalEmbeddings
from langchain_context_engine.text.boilerplate import LEAST_WORDS, telling_words
from tests.benchmarks.recall import say

_LEAST_LINE = 3
"""Words of a line that counts where a span stands there in part."""


def git(folder: Path, *arguments: str) -> str:
    asked = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=True)
    return asked.stdout.decode("utf-8", "replace")


def prepared(origin: Path, at: str, work: Path) -> Path:
    """Return a checkout of a repository at a commit, indexed with the command that users run."""
    folder = work / origin.name.removesuffix(".git")
    done = folder / ".git" / "indexed"
    if not done.exists():
        if not folder.exists():
            subprocess.run(["git", "clone", "--quiet", str(origin), str(folder)], check=True)
        git(folder, "checkout", "--quiet", at)
        command = [str(Path(sys.executable).with_name("context-engine")), "index", "."]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        done.touch()
    return folder


def engine_over(folder: Path) -> ContextEngine:
    """Return an engine with its defaults over all collections of a repository."""
    store = min((folder / ".context-engine").rglob("chroma.sqlite3"), key=lambda path: len(path.parts)).parent
    client = chromadb.PersistentClient(
        str(store), settings=chromadb.config.Settings(anonymized_telemetry=False)
    )
    embeddings = LocalEmbeddings()
    sources = [
        ChromaSource(collection, embeddings=embeddings, sequence=("document", "start"))
        for collection in sorted(client.list_collections(), key=lambda found: found.name)
    ]
    for source in sources:
        source.prepare()
    return ContextEngine(sources=sources, timeout_seconds=60.0)


def gold_of(question: dict, folder: Path) -> list[list[str]]:
    """Return, for each piece of the answer, the texts that hold it equally well."""

    def text(place: dict) -> str:
        if "path" in place:
            whole = git(folder, "show", f"{question['at']}:{place['path']}")
        else:
            whole = git(folder, "log", "-1", "--format=%B", place["commit"])
        return whole[place["start"] : place["end"]]

    return [[text(place) for place in ways] for ways in question["gold"]]


def bare(text: str) -> str:
    """Return the words of a text in a row, so that only words are compared."""
    return f" {' '.join(''.join(c if c.isalnum() or c == '_' else ' ' for c in text.lower()).split())} "


def held(span: str, text: str) -> float:
    """Return 1 where a span's words stand in a row in a bare text, else the share of its lines that do."""
    if bare(span).strip() and bare(span) in text:
        return 1.0
    lines = [line for line in map(bare, span.splitlines()) if len(line.split()) >= _LEAST_LINE]
    return sum(line in text for line in lines) / len(lines) if lines else 0.0


def twins(texts: list[str]) -> int:
    """Return how many of some bare texts stand in another one; of equal ones all but the first."""
    return sum(
        any(mine in other and (mine != other or i > j) for j, other in enumerate(texts) if i != j)
        for i, mine in enumerate(texts)
    )


def ask(engine: ContextEngine, question: dict, gold: list[list[str]], budget: int) -> dict[str, float]:
    """Return the figures of one question at one budget."""
    context = engine.build(question["query"], budget=budget)
    texts = [passage.text for passage in context.passages]
    junk = sum(telling_words(text, True) < LEAST_WORDS for text in texts)
    figures = {"junk": junk / max(1, len(texts)), "twins": twins([bare(text) for text in texts])}
    if not gold:
        return {**figures, "sure": context.status.value == "ok" and not context.warnings}
    text = bare(context.text)
    return {**figures, "recall": sum(max(held(way, text) for way in ways) for ways in gold) / len(gold)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repositories", type=Path)
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--work", type=Path, default=Path("wild-work"))
    parser.add_argument("--budgets", type=int, nargs="+", default=[500, 1000, 2000])
    options = parser.parse_args()
    questions = [
        json.loads(line) for path in options.questions for line in path.read_text("utf-8").splitlines()
    ]
    cells: defaultdict[tuple[str, int], list[dict[str, float]]] = defaultdict(list)
    options.work.mkdir(parents=True, exist_ok=True)
    for name in sorted({question["repository"] for question in questions}):
        mine = [question for question in questions if question["repository"] == name]
        origin = options.repositories / name.partition("/")[2]
        folder = prepared(origin, mine[0]["at"], options.work.resolve())
        engine = engine_over(folder)
        for question in mine:
            gold = gold_of(question, folder)
            for budget in options.budgets:
                figures = ask(engine, question, gold, budget)
                cells[question["kind"], budget].append(figures)
                cells["all", budget].append(figures)
    say("| kind | budget | n | recall | junk | twins | sure of nothing |\n|" + " --- |" * 7)
    for (kind, budget), found in sorted(cells.items()):
        means = [mean([f[name] for f in found if name in f]) for name in ("recall", "junk", "twins", "sure")]
        say(f"| {kind} | {budget} | {len(found)} | " + " | ".join(f"{m:.3f}" for m in means) + " |")


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


if __name__ == "__main__":
    main()
