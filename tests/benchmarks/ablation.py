"""What each leg, rule and bound of ranking and packing earns, on questions that it was not chosen on.

python -m tests.benchmarks.ablation --data DIR [--sets wiki docs] [--queries 40]
    [--repositories FOLDER [--questions wild.jsonl] [--swe-qa BENCHMARK --only flask] --work FOLDER]
    [--budgets 500 1000 2000]

Each question is asked once with the defaults; its trace is then replayed with one part off in turn, which
needs no store. Printed: the mean recall of evidence with everything, and for each part what it changes to be
without it (negative: the part earns that much), with a paired 95 % interval, `*` where it excludes 0. What earns
less than .01 everywhere, or loses anywhere beyond noise, is to be deleted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from langchain_context_engine import Budget, Context, replay
from langchain_context_engine.evaluation.evaluate import evidence_of
from langchain_context_engine.evaluation.metrics import paired_bootstrap, score_evidence
from langchain_context_engine.ranking.fusion import Fusion
from tests.benchmarks import swe_qa
from tests.benchmarks.datasets import arguments, load
from tests.benchmarks.recall import engine_over, say
from tests.benchmarks.wild import bare, gold_of, held, prepared
from tests.benchmarks.wild import engine_over as repository_engine

Score = Callable[[Context], float]
Asked = tuple[Context, Score]
"""What was answered, and what tells how much of the evidence a context holds."""


def variants() -> dict[str, dict[str, Any]]:
    """Return part → the settings that turn it off."""
    off: dict[str, dict[str, Any]] = {
        f"fusion.{field.name}": {"fusion": replace(Fusion(), **{field.name: 0.0})} for field in fields(Fusion)
    }
    return off | {
        "recency": {"weights": {"relevance": 1.0}},
        "cutting in turn": {"budget": Budget(cut_from=1.0)},
        "extracts (whole passages first)": {"selection": "score"},
        "near duplicates": {"dedupe_threshold": None},
        "identity rules": {"dedupe_rules": ()},
    }


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--repositories", type=Path, help="clones under their short names")
    parser.add_argument("--questions", type=Path, nargs="+", default=[], help="as `wild` takes them")
    parser.add_argument("--swe-qa", type=Path, help="a clone of SWE-QA-Bench")
    parser.add_argument("--only", nargs="+", default=[], help="repositories of SWE-QA-Bench")
    parser.add_argument("--work", type=Path, default=Path("wild-work"))
    options = parser.parse_args()
    table(dict(asked_of(options)), options.budgets)


def asked_of(options: Any) -> Iterator[tuple[str, list[Asked]]]:
    """Yield each set's name and its questions, asked once."""
    for name in options.sets:
        dataset = load(name, options.data, queries=options.queries, seed=options.seed)
        engine = engine_over(dataset, options.cache, options.embedder)
        yield (
            name,
            [
                (engine.build(question.query, **question.fields), _scored(question, dataset.texts))
                for question in dataset.questions
            ],
        )
    if options.questions:
        yield "repositories", list(repositories(options))
    if options.swe_qa:
        yield (
            "SWE-QA, lines",
            [
                (engine.build(question.query, budget=max(options.budgets)), _cited(question))
                for _, folder, questions in swe_qa.repositories(
                    options.swe_qa, options.repositories, options.work, options.only
                )
                for engine in [repository_engine(folder)]
                for question in questions
                if len(question.lines) >= swe_qa.LEAST
            ],
        )


def _cited(question: swe_qa.Cited) -> Score:
    return lambda context: question.figures(context)["lines"]


def _scored(question: Any, texts: dict[str, str]) -> Score:
    evidence = evidence_of(question, None, texts)
    assert evidence is not None
    return lambda context: score_evidence(context.text, evidence).recall


def repositories(options: Any) -> Iterator[Asked]:
    """Yield the questions about all repositories together, as one set."""
    lines = [line for path in options.questions for line in path.read_text("utf-8").splitlines()]
    questions = [question for question in map(json.loads, lines) if question["gold"]]
    options.work.mkdir(parents=True, exist_ok=True)
    for name in sorted({question["repository"] for question in questions}):
        mine = [question for question in questions if question["repository"] == name]
        folder = prepared(
            options.repositories / name.partition("/")[2], mine[0]["at"], options.work.resolve()
        )
        engine = repository_engine(folder)
        for question in mine:
            yield engine.build(question["query"]), _held(gold_of(question, folder))


def _held(gold: list[list[str]]) -> Score:
    return lambda context: (
        sum(max(held(way, bare(context.text)) for way in ways) for ways in gold) / len(gold)
    )


def table(sets: dict[str, list[Asked]], budgets: list[int]) -> None:
    """Print, for each budget, the figures of all sets with everything, and without each part."""
    for budget in budgets:
        full = {name: scores(asked, budget, {}) for name, asked in sets.items()}
        names = " | ".join(f"{name} ({len(asked)})" for name, asked in sets.items())
        say(f"\n| {budget} tokens | {names} |\n|{' --- |' * (1 + len(sets))}")
        say(f"| with everything | {' | '.join(f'{math.fsum(f) / len(f):.3f}' for f in full.values())} |")
        for part, off in variants().items():
            cells = []
            for name, asked in sets.items():
                change = paired_bootstrap(full[name], scores(asked, budget, off))
                star = "*" if change.is_real else ""
                is_none = not (change.low or change.high)
                cells.append(
                    "0"
                    if is_none
                    else f"{change.difference:+.3f} [{change.low:+.3f}, {change.high:+.3f}]{star}"
                )
            say(f"| without {part} | {' | '.join(cells)} |")


def scores(asked: list[Asked], budget: int, settings: dict[str, Any]) -> list[float]:
    """Return each question's recall when its trace is replayed with other settings."""
    if "budget" in settings:
        settings = {**settings, "budget": replace(settings["budget"], tokens=budget)}
    return [score(replay(trace, **{"budget": budget, **settings})) for trace, score in asked]


if __name__ == "__main__":
    main()
