"""How well doubt tells questions that the collections answer from those that they do not.

    python -m tests.benchmarks.doubt --data DIR [--queries 40] [--wild DIR --questions FILE]

Each set's questions are asked of its own collections, and those of the other sets beside them: nothing
there answers those. `--wild` names a folder of repositories, each indexed by `context-engine index .`,
`--questions` their questions (`repository`, `query`, `kind`; those of kind `none` have no answer). Printed
are the area under the curve of `confidence`, its expected calibration error, the share of good contexts that are doubted (good: some of
the evidence stands in 1,000 tokens; of a wild question, any) and of unanswerable ones that are, and the same
shares where any word of doubt counts, a warning beside an answer that is not doubtful too.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import chromadb

from langchain_context_engine import ChromaSource, Context, ContextEngine
from langchain_context_engine.embeddings.local import LocalEmbeddings
from langchain_context_engine.evaluation.evaluate import evidence_of
from langchain_context_engine.evaluation.metrics import score_evidence
from langchain_context_engine.models.types import Status
from langchain_context_engine.ranking.answerability import is_doubt
from tests.benchmarks.datasets import MEAN_OF, arguments, load
from tests.benchmarks.recall import engine_over, say

BUDGET = 1000
FOREIGN = 8
"""Questions of each other set."""


class Asked(NamedTuple):
    """One answer: whether it has one, its confidence, whether it was doubted, and whether any doubt was told."""

    has_answer: bool
    confidence: float
    is_doubted: bool
    is_unsure: bool


def told(context: Context, *, has_answer: bool) -> Asked:
    confidence = 1.0 if context.confidence is None else context.confidence
    is_unsure = any(map(is_doubt, context.warnings))
    return Asked(has_answer, confidence, context.status is Status.DOUBTFUL, is_unsure)


def area(asked: Sequence[Asked]) -> float:
    """Return the area under the curve: how often an answerable question is held surer than another."""
    sure = [a.confidence for a in asked if a.has_answer]
    unsure = [a.confidence for a in asked if not a.has_answer]
    won = sum((a > b) + (a == b) / 2 for a in sure for b in unsure)
    return won / (len(sure) * len(unsure)) if sure and unsure else float("nan")


BINS = 10


def calibration_error(asked: Sequence[Asked]) -> float:
    """Return the expected calibration error over ten bins of confidence: Guo et al. (2017), equation 3."""
    bins = [[a for a in asked if min(BINS - 1, int(a.confidence * BINS)) == i] for i in range(BINS)]
    off = (abs(sum(a.confidence for a in own) - sum(a.has_answer for a in own)) for own in bins)
    return sum(off) / max(1, len(asked))


def row(name: str, asked: Sequence[Asked]) -> str:
    groups = [[a for a in asked if a.has_answer is has] for has in (True, False)]
    cells = [
        name,
        *(str(len(group)) for group in groups),
        f"{area(asked):.3f}",
        f"{calibration_error(asked):.3f}",
    ]
    for tells in (lambda a: a.is_doubted, lambda a: a.is_unsure):
        cells += [f"{sum(map(tells, group)) / len(group):.3f}" if group else "–" for group in groups]
    return "| " + " | ".join(cells) + " |"


def of_sets(options: argparse.Namespace) -> Iterable[tuple[str, list[Asked]]]:
    sets = {
        name: load(
            name, options.data, queries=options.queries, seed=options.seed, most_records=options.records
        )
        for name in options.sets
    }
    for name, dataset in sets.items():
        engine, chosen, asked = (
            engine_over(dataset, options.cache, options.embedder),
            random.Random(options.seed),
            [],
        )
        for question in dataset.questions:
            context = engine.build(question.query, budget=BUDGET, **question.fields)
            evidence = evidence_of(question, engine, dataset.texts)
            if evidence and score_evidence(context.text, evidence).recall > 0:
                asked.append(told(context, has_answer=True))
        for other in (sets[o] for o in sets if o != name):
            for question in chosen.sample(list(other.questions), min(FOREIGN, len(other.questions))):
                fields = chosen.choice(dataset.questions).fields
                asked.append(told(engine.build(question.query, budget=BUDGET, **fields), has_answer=False))
        yield name, asked


def of_repositories(folder: Path, questions: Path, seed: int) -> Iterable[tuple[str, list[Asked]]]:
    lines = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    for name in sorted({line["repository"] for line in lines}):
        engine, chosen, asked = _engine(folder / name.partition("/")[2]), random.Random(seed), []
        foreign = [line for line in lines if line["repository"] != name]
        own = [line for line in lines if line["repository"] == name]
        for line in (*own, *chosen.sample(foreign, min(12, len(foreign)))):
            context = engine.build(line["query"], budget=BUDGET)
            asked.append(told(context, has_answer=line in own and line["kind"] != "none"))
        yield name, asked


def _engine(folder: Path) -> ContextEngine:
    store = next(path.parent for path in sorted((folder / ".context-engine").rglob("chroma.sqlite3")))
    client = chromadb.PersistentClient(str(store), chromadb.Settings(anonymized_telemetry=False))
    embeddings = LocalEmbeddings()
    sources = [
        ChromaSource(
            client.get_collection(c.name, embedding_function=None),
            embeddings=embeddings,
            sequence=("document", "start"),
        )
        for c in sorted(client.list_collections(), key=lambda c: c.name)
    ]
    engine = ContextEngine(sources=sources, timeout_seconds=60.0)
    for source in engine.sources:
        source.prepare()
    return engine


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--wild", type=Path, help="folder of indexed repositories")
    parser.add_argument("--questions", type=Path, help="their questions, JSON Lines")
    parser.set_defaults(sets=list(MEAN_OF), queries=40)
    options = parser.parse_args()
    everyone: list[Asked] = []
    names = ["good doubted", "unanswerable doubted", "good with a word of doubt", "unanswerable with one"]
    say(
        "| "
        + " | ".join(
            ["collections", "good", "unanswerable", "area under the curve", "calibration error", *names]
        )
        + " |"
    )
    say("| --- |" + " ---: |" * (4 + len(names)))
    groups = [*of_repositories(options.wild, options.questions, options.seed)] if options.wild else []
    for name, asked in (*groups, *of_sets(options)):
        say(row(name, asked))
        everyone += asked
    say(row("all", everyone))


if __name__ == "__main__":
    main()
