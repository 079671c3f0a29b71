"""`context-engine tune`: weights learned from the judgments in a journal, shown and never applied."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.failure import CommandFailedError
from langchain_context_engine.cli.options import JournalOption, JsonOption, StoreOption
from langchain_context_engine.cli.store import DEFAULT_STORE, Store


def tune(
    *,
    store: StoreOption = DEFAULT_STORE,
    journal: JournalOption = None,
    metric: Annotated[str, typer.Option("--metric", "-m", help="ndcg or recall, of the first ten.")] = "ndcg",
    signals: Annotated[
        list[str] | None,
        typer.Option("--signal", metavar="NAME", help="Weigh only these and the present ones; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Deals the questions into folds.")] = 0,
    as_json: JsonOption = False,
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
        tuning = suggest(recorded, metric=metric, signals=signals, seed=seed)
    if as_json:
        output.write_json(json.dumps(tuning.to_dict(), ensure_ascii=False))
    elif tuning.gain is not None:
        output.write_text(tuning.table())
    if not tuning.is_worth_it:
        raise CommandFailedError(tuning.reason)
    if not as_json:
        weights = dict(tuning.learned)
        output.write_text(
            f"\n{tuning.reason}"
            f"\n\nengine = engine.with_settings(weights={weights!r})\n{json.dumps({'weights': weights})}"
        )
