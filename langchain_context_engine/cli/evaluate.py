"""`context-engine evaluate`: how much of the evidence for your own questions a budget buys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.options import EngineOptions, JsonOption, read_pairs, with_engine_options

if TYPE_CHECKING:
    from langchain_context_engine.evaluation.evaluate import Report

_BUDGETS = (250, 500, 1000, 2000)


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
        list[str] | None,
        typer.Option("--versus", metavar="NAME=VALUE", help="A setting to compare with; repeatable."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print evidence recall and precision for questions with known answers, at some budgets.

    With --versus, the same questions are asked with these settings too, and the difference is told with
    its 95 % interval.
    """
    from langchain_context_engine.evaluation import evaluate as evaluation

    asked = evaluation.load_questions(questions)
    options.refuse_request()
    engine = options.engine(records=False)
    chosen = tuple(dict.fromkeys(budgets or _BUDGETS))
    engines = [engine]
    if versus:
        engines.append(engine.with_settings(**read_pairs("--versus", versus)))
    reports = []
    for number, subject in enumerate(engines, 1):
        with output.progress_bar(f"asking with setting {number}") as on_progress:
            reports.append(evaluation.evaluate(subject, asked, budgets=chosen, progress=on_progress))
    if as_json:
        output.write_json(json.dumps([report.to_dict() for report in reports], ensure_ascii=False))
        return
    for report in reports:
        output.write_text(f"{report.table()}\n")
    if versus:
        _compare(reports[0], reports[1], chosen)


def _compare(first: Report, second: Report, budgets: tuple[int, ...]) -> None:
    from langchain_context_engine.evaluation.evaluate import compare

    for budget in budgets:
        found = compare(first, second, budget)
        told = "beyond chance" if found.is_real else "within chance"
        output.write_text(
            f"at {budget} tokens: recall {found.difference:+.3f} with --versus, 95 % interval"
            f" {found.low:+.3f} to {found.high:+.3f} over {found.pairs} questions: {told}"
        )
