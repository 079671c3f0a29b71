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

from langchain_context_engine import Context, ContextEngine, replay
from langchain_context_engine.evaluation.evaluate import evidence_of
from langchain_context_engine.evaluation.metrics import paired_bootstrap, score_evidence
from langchain_context_engine.ranking.fusion import Fusion
from tests.benchmarks import swe_qa
from tests.benchmarks.datasets import arguments, load
from tests.benchmarks.recall import engine_over, say
from tests.benchmarks.wild import bare, gold_of, held, prepared
from tests.benchmarks.wild import engine_over as repository_engine

Score = Callable[[Context], float]


def variants(engine: ContextEngine) -> dict[str, dict[str, Any]]:
    """Return part → the settings that turn it off."""
    budget = engine.config.budget
    off: dict[str, dict[str, Any]] = {
        f"fusion.{field.name}": {"fusion": replace(Fusion(), **{field.name: 0.0})} for field in fields(Fusion)
    }
    return off | {
        "recency": {"weights": {"relevance": 1.0}},
        "cutting in turn": {"budget": replace(budget, cut_from=1.0)},
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
    for name in options.sets:
        dataset = load(name, options.data, queries=options.queries, seed=options.seed)
        engine = engine_over(dataset, options.cache, options.embedder)
        asked = [
            (engine.build(question.query, **question.fields), _scored(question, dataset.texts))
            for question in dataset.questions
        ]
        table(name, engine, asked, options.budgets)
    if options.questions:
        for name, engine, asked in repositories(options):
            table(name, engine, asked, options.budgets)
    if options.swe_qa:
        cited = [
            (engine.build(question.query, budget=max(options.budgets)), _cited(question))
            for _, folder, questions in swe_qa.repositories(
                options.swe_qa, options.repositories, options.work, options.only
            )
            for engine in [repository_engine(folder)]
            for question in questions
            if len(question.lines) >= swe_qa.LEAST
        ]
        table("SWE-QA, cited lines", ContextEngine([]), cited, options.budgets)


def _cited(question: swe_qa.Cited) -> Score:
    return lambda context: question.figures(context)["lines"]


def _scored(question: Any, texts: dict[str, str]) -> Score:
    evidence = evidence_of(question, None, texts)
    assert evidence is not None
    return lambda context: score_evidence(context.text, evidence).recall


def repositories(options: Any) -> Iterator[tuple[str, ContextEngine, list[tuple[Context, Score]]]]:
    """Yield the questions about all repositories together, as one set."""
    asked: list[tuple[Context, Score]] = []
    lines = [line for path in options.questions for line in path.read_text("utf-8").splitlines()]
    questions = [question for question in map(json.loads, lines) if question["gold"]]
    options.work.mkdir(parents=True, exist_ok=True)
    engine = None
    for name in sorted({question["repository"] for question in questions}):
        mine = [question for question in questions if question["repository"] == name]
        folder = prepared(
            options.repositories / name.partition("/")[2], mine[0]["at"], options.work.resolve()
        )
        engine = repository_engine(folder)
        asked += [(engine.build(question["query"]), _held(gold_of(question, folder))) for question in mine]
    if engine is not None:
        yield "repositories", engine, asked


def _held(gold: list[list[str]]) -> Score:
    return lambda context: (
        sum(max(held(way, bare(context.text)) for way in ways) for ways in gold) / len(gold)
    )


def table(name: str, engine: ContextEngine, asked: list[tuple[Context, Score]], budgets: list[int]) -> None:
    """Print a set's figures with everything, and without each part."""
    full = {budget: scores(asked, budget, {}) for budget in budgets}
    means = " / ".join(f"{math.fsum(full[budget]) / len(asked):.3f}" for budget in budgets)
    say(
        f"\n| {name}, {len(asked)} questions | {' | '.join(map(str, budgets))} |\n|{' --- |' * (1 + len(budgets))}"
    )
    say(f"| with everything | {means.replace(' / ', ' | ')} |")
    for part, off in variants(engine).items():
        cells = []
        for budget in budgets:
            settings = dict(off)
            if "budget" in settings:
                settings["budget"] = replace(settings["budget"], tokens=budget)
            change = paired_bootstrap(full[budget], scores(asked, budget, settings))
            star = "*" if change.is_real else ""
            cells.append(f"{change.difference:+.3f} [{change.low:+.3f}, {change.high:+.3f}]{star}")
        say(f"| without {part} | {' | '.join(cells)} |")


def scores(asked: list[tuple[Context, Score]], budget: int, settings: dict[str, Any]) -> list[float]:
    """Return each question's recall when its trace is replayed with other settings."""
    return [score(replay(trace, **{"budget": budget, **settings})) for trace, score in asked]


if __name__ == "__main__":
    main()
