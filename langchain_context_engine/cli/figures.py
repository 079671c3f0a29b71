"""`context-engine evaluate` and `tune`: how good answers are to questions whose answers are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.options import (
    EngineOptions,
    JournalOption,
    StoreOption,
    Texts,
    with_engine_options,
)
from langchain_context_engine.cli.process import CommandFailedError
from langchain_context_engine.cli.store import DEFAULT_STORE, Store
from langchain_context_engine.models.metadata import read_pairs


@with_engine_options
def evaluate(
    options: EngineOptions,
    questions: Annotated[
        Path, typer.Argument(help='JSON Lines: {"query": "…", "gold": ["id"]} or "gold_spans": ["…"].')
    ],
    *,
    budgets: Annotated[
        list[int] | None, typer.Option("--budget", "-b", min=1, help="Tokens; repeatable.")
    ] = None,
    versus: Annotated[
        Texts, typer.Option("--versus", metavar="NAME=VALUE", help="A setting to compare with; repeatable.")
    ] = None,
) -> None:
    """Print evidence recall and precision for questions with known answers, at some budgets.

    With --versus, the same questions are asked with these settings too, and the difference is told with
    its 95 % interval.
    """
    from langchain_context_engine.evaluation import evaluate as evaluation

    asked = evaluation.load_questions(questions)
    engines = [options.engine(records=False, is_asked_by_others=True)]
    chosen = tuple(dict.fromkeys(budgets or evaluation.BUDGETS))
    if versus:
        engines.append(engines[0].with_settings(**read_pairs("--versus", versus)))
    reports = []
    for number, engine in enumerate(engines, 1):
        with output.progress_bar(f"asking with setting {number}") as on_progress:
            reports.append(evaluation.evaluate(engine, asked, budgets=chosen, progress=on_progress))
    for report in reports:
        output.write_text(f"{report.table()}\n")
    for budget in chosen if versus else ():
        found = evaluation.compare(reports[0], reports[1], budget)
        output.write_text(
            f"at {budget} tokens: recall {found.difference:+.3f} with --versus, 95 % interval"
            f" {found.low:+.3f} to {found.high:+.3f} over {found.pairs} questions:"
            f" {'beyond' if found.is_real else 'within'} chance"
        )


def tune(
    *,
    store: StoreOption = DEFAULT_STORE,
    journal: JournalOption = None,
) -> None:
    """Learn weights from judged questions, and say whether they are better on questions held out.

    Nothing is applied: the settings are printed to be copied. Ends with exit code 1 where the present
    weights should stay.
    """
    from langchain_context_engine.evaluation.tune import suggest
    from langchain_context_engine.journal import Journal

    path = journal or Store(store).journal_path
    if not path.is_file():
        raise CommandFailedError(
            f"there is no journal {path}; judge recorded answers first: context-engine inspect"
        )
    with Journal(path, read_only=True) as recorded:
        tuning = suggest(recorded)
    if not tuning.is_worth_it:
        raise CommandFailedError(tuning.reason)
    weights, now = dict(tuning.learned), tuning.present or {"relevance": 1.0}
    for name in sorted({*weights, *now}, key=lambda name: -weights.get(name, 0.0)):
        output.write_text(f"{name}: {now.get(name, 0.0):.2f} → {weights.get(name, 0.0):.2f}")
    output.write_text(
        f"\n{tuning.reason}"
        f"\n\nengine = engine.with_settings(weights={weights!r})\n{json.dumps({'weights': weights})}"
    )
