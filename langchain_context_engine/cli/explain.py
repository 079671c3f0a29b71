"""`context-engine explain`: why each candidate of a recorded answer is in its context, or not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.options import DEFAULT_STORE, StoreOption
from langchain_context_engine.cli.store import Store
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.types import Key
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.names import labels, meant

_MOST_LISTED = 10


def explain(
    candidate: Annotated[
        str | None, typer.Argument(help="One candidate: its marker, id, path, symbol or title; else all.")
    ] = None,
    *,
    store: StoreOption = DEFAULT_STORE,
    trace: Annotated[
        str | None,
        typer.Option(
            "--trace", "-t", help="A trace's id, a file that `ask --json` gave, or -; else the latest."
        ),
    ] = None,
) -> None:
    """Say why each candidate of the latest answer is in its context, or what kept it out."""
    from langchain_context_engine.cli.tables import fate_table, figures
    from langchain_context_engine.trace.whatif import what_would_it_take

    context = read_trace(trace, Store(store))
    if candidate is None:
        for warning in context.warnings:
            output.warn(warning)
        output.write_table(fate_table(context, len(context.decisions), output.width()))
        output.write_text(figures(context))
        return
    key = _key(candidate, context)
    output.write_text(output.without_controls(context.explain(key)))
    for change in what_would_it_take(context, key):
        output.write_text(f"  would be in: {output.without_controls(change.sentence)}")


def read_trace(trace: str | None, store: Store) -> Context:
    """Return the trace of a file, of standard input (-), of an id, or the latest.

    Raises:
        ConfigError: The file is no trace.
        CommandFailedError: There is no such trace.
    """
    if trace is None or (trace != "-" and not Path(trace).is_file()):
        return store.trace(trace)
    try:
        text = sys.stdin.read() if trace == "-" else Path(trace).read_text(encoding="utf-8")
        return Context.from_dict(json.loads(text))
    except (ValueError, OSError) as error:
        raise ConfigError(f"{trace} is no trace that `context-engine ask --json` gave: {error}") from error


def _key(named: str, context: Context) -> Key:
    """Return the key of the one candidate that a person means.

    Raises:
        ConfigError: None is meant by it, or several are.
    """
    found = meant(named, context)
    if len(found) == 1:
        return found[0]
    if found:
        told = labels(context)
        listed = "; ".join(told[key] for key in found[:_MOST_LISTED])
        more = f"; and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
        raise ConfigError(f"{len(found)} candidates are called {named!r}; give one of: {listed}{more}")
    raise ConfigError(
        f"no candidate {named!r} in this answer: no source offered it; see: context-engine explain"
    )
