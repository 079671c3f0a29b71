"""`context-engine explain`: why each candidate of a recorded answer is in its context, or not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from langchain_context_engine.answering.context import Context
from langchain_context_engine.commands import output
from langchain_context_engine.commands.options import DEFAULT_STORE, StoreOption
from langchain_context_engine.commands.store import Store
from langchain_context_engine.values.errors import ConfigError
from langchain_context_engine.values.types import Key

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
    from langchain_context_engine.answering.whatif import what_would_it_take
    from langchain_context_engine.commands.tables import fate_table, figures, label

    context = read_trace(trace, Store(store))
    if candidate is None:
        for warning in context.warnings:
            output.warn(warning)
        output.write_table(fate_table(context, near=len(context.decisions)))
        output.write_text(figures(context))
        return
    key = _key(candidate, context)
    output.write_text(label(key, context))
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
    from langchain_context_engine.commands.tables import place_of

    for marker, key in context.citations.items():
        if named in {marker, marker.strip("[]")}:
            return (key[0], key[1])
    known = {c.key: place_of(c) for c in context.candidates}
    exact = [key for key in known if named in {key[1], f"{key[0]}/{key[1]}"}]
    found = exact or [key for key, place in known.items() if place.endswith(named)]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(key[1] for key in found[:_MOST_LISTED])
        raise ConfigError(f"{len(found)} candidates are called {named!r}; give an id: {ids}")
    raise ConfigError(
        f"no candidate {named!r} in this answer: no source offered it; see: context-engine explain"
    )
