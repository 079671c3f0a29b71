"""How much of the gold evidence the engine's defaults put into a budget, on every data set.

python -m tests.benchmarks.recall --data DIR [--queries 100] [--sets wiki docs] [--against old.json]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from uuid import uuid4

import chromadb

from langchain_context_engine import ChromaSource, ContextEngine
from langchain_context_engine.embeddings.local import LocalEmbeddings
from langchain_context_engine.evaluation.evaluate import Report, evaluate
from langchain_context_engine.evaluation.metrics import paired_bootstrap
from tests.benchmarks.datasets import MEAN_OF, SEQUENCES, Dataset, arguments, collections, load

_PAGE = 2000


def engine_over(
    dataset: Dataset, cache: Path, embedder=LocalEmbeddings, *, on_disk=True, **settings
) -> ContextEngine:
    """Return an engine with its defaults over a set's collections."""
    embeddings = embedder()
    kept = collections(dataset, cache, embeddings)
    sources = [
        ChromaSource(
            collection if on_disk else in_memory(collection),
            embeddings=embeddings,
            name=name,
            sequence=SEQUENCES.get(name),
        )
        for name, collection in kept.items()
    ]
    engine = ContextEngine(sources=sources, **{"timeout_seconds": 60.0, **settings})
    read_all(engine)
    return engine


def in_memory(collection: chromadb.Collection) -> chromadb.Collection:
    """Return a copy without a folder, whose index is in memory too."""
    copy = chromadb.EphemeralClient().create_collection(
        f"{collection.name}-{uuid4()}", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    columns = ["documents", "metadatas", "embeddings"]
    for start in range(0, collection.count(), _PAGE):
        page = collection.get(limit=_PAGE, offset=start, include=columns)
        copy.add(ids=page["ids"], **{column: page[column] for column in columns})
    return copy


def read_all(engine: ContextEngine) -> None:
    """Read the collections, so that no question does without words."""
    for source in engine.sources:
        source.prepare()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def show_progress(name: str):
    """Return a function that tells, on one line of standard error, how far a set is."""
    started = time.monotonic()

    def show(done: int, total: int) -> None:
        if sys.stderr.isatty() or done == total:
            end = "\n" if done == total else "\r"
            sys.stderr.write(f"{name}: {done} of {total}, {time.monotonic() - started:.0f} s{end}")
            sys.stderr.flush()

    return show


def row(name: str, report: Report) -> str:
    """Return a set's line of the table."""
    figures = [report.figures(budget) for budget in report.budgets]
    ranking = report.ranking()
    cells = [
        name,
        str(figures[0]["questions"]),
        *(f"{f['recall']:.3f}" for f in figures),
        "/".join("–" if math.isnan(f["utilisation"]) else f"{f['utilisation']:.2f}" for f in figures),
        "/".join(f"{f['precision']:.2f}" for f in figures),
        f"{ranking['ndcg']:.3f}",
        f"{ranking['recall']:.3f}",
        f"{figures[-1]['milliseconds']:.1f}",
        f"{figures[-1]['milliseconds_p95']:.1f}",
        str(sum(int(f["violations"]) for f in figures)),
    ]
    return "| " + " | ".join(cells) + " |"


def heading(budgets: list[int]) -> str:
    """Return the head of the table."""
    names = ["set", "questions", *map(str, budgets), "budget used", "precision", "nDCG@10", "recall@10"]
    names += ["ms", "ms 95 %", "over"]
    return "| " + " | ".join(names) + " |\n|" + "|".join([" --- ", *[" ---: "] * (len(names) - 1)]) + "|"


def mean_row(reports: dict[str, Report], budgets: list[int]) -> str:
    """Return the line of the mean over the six sets, or over those of them that ran."""
    counted = [reports[name] for name in MEAN_OF if name in reports]
    means = [math.fsum(r.recall(b) for r in counted) / len(counted) if counted else math.nan for b in budgets]
    return f"| mean of {len(counted)} | | " + " | ".join(f"{m:.3f}" for m in means) + " |" + " |" * 7


def differences(reports: dict[str, Report], old: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the change of recall since an earlier run, with its 95 % interval, `*` beyond noise."""
    lines = []
    for name, report in reports.items():
        cells = []
        for budget in report.budgets:
            before, after = old.get(name, {}).get(str(budget), {}), report.scores(budget)
            shared = [question for question in after if question in before]
            if not shared:
                cells.append("–")
                continue
            change = paired_bootstrap([before[q] for q in shared], [after[q] for q in shared])
            star = "*" if change.is_real else ""
            cells.append(f"{change.difference:+.3f} [{change.low:+.3f}, {change.high:+.3f}]{star}")
        lines.append(f"{name}: " + "  ".join(cells))
    return "\n".join(lines)


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, help="write each question's recall, for a later --against")
    parser.add_argument("--against", type=Path, help="what --out wrote earlier: compare with it")
    parser.add_argument(
        "--in-memory", action="store_true", help="copies without a folder or an index on disk"
    )
    parser.add_argument("--settings", type=json.loads, default={}, help="engine settings as JSON")
    run(parser.parse_args())


def run(options: argparse.Namespace) -> None:
    reports: dict[str, Report] = {}
    say(heading(options.budgets))
    for name in options.sets:
        dataset = load(
            name, options.data, queries=options.queries, seed=options.seed, most_records=options.records
        )
        reports[name] = evaluate(
            engine_over(
                dataset, options.cache, options.embedder, on_disk=not options.in_memory, **options.settings
            ),
            dataset.questions,
            budgets=options.budgets,
            texts=dataset.texts,
            progress=show_progress(name),
        )
        say(row(name, reports[name]))
    say(mean_row(reports, options.budgets))
    if options.against:
        say(differences(reports, json.loads(options.against.read_text())))
    if options.out:
        scores = {name: {str(b): r.scores(b) for b in r.budgets} for name, r in reports.items()}
        options.out.write_text(json.dumps(scores))


if __name__ == "__main__":
    main()
