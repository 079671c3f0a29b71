"""`context-engine explain`: why each candidate of a recorded answer is in its context, or not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.options import EngineOptions, with_engine_options
from langchain_context_engine.cli.store import Store
from langchain_context_engine.errors import ConfigError

if TYPE_CHECKING:
    from langchain_context_engine.models.types import Key
    from langchain_context_engine.trace.context import Context

_MOST_LISTED = 10


@with_engine_options
def explain(
    options: EngineOptions,
    candidate: Annotated[
        str | None, typer.Argument(help="One candidate: its marker, id, path, symbol or title; else all.")
    ] = None,
    *,
    trace: Annotated[
        str | None,
        typer.Option(
            "--trace", "-t", help="A trace's id, a file that `ask --json` gave, or -; else the latest."
        ),
    ] = None,
    other: Annotated[
        str | None,
        typer.Option(
            "--other",
            metavar="NAME",
            help="A record that is not among them, by id, place or a piece of its text: why not?",
        ),
    ] = None,
) -> None:
    """Say why each candidate of the latest answer is in its context, or what kept it out.

    With --other the store is asked once more, with this command's settings, about what was not offered.
    """
    context = read_trace(trace, options.home)
    if other is not None:
        if candidate is not None:
            raise ConfigError("give a candidate of the answer, or --other for a record that is none")
        _write_other(options, context, other)
        return
    if candidate is None:
        for warning in context.warnings:
            output.warn(warning)
        output.write_table(output.fate_table(context, len(context.decisions), output.width()))
        output.write_text(output.figures(context))
        return
    from langchain_context_engine.trace.what_if import what_would_it_take

    key = _key(candidate, context)
    output.write_text(output.without_controls(context.explain(key)))
    for change in what_would_it_take(context, key):
        output.write_text(f"  would be in: {output.without_controls(change.sentence)}")


def read_trace(trace: str | None, store: Store) -> Context:
    """Return the trace of a file, of standard input (-), of an id, or the latest."""
    from langchain_context_engine.trace.context import Context

    if trace is None or (trace != "-" and not Path(trace).is_file()):
        return store.trace(trace)
    try:
        text = sys.stdin.read() if trace == "-" else Path(trace).read_text(encoding="utf-8")
        return Context.from_dict(json.loads(text))
    except (ValueError, OSError) as error:
        raise ConfigError(f"{trace} is no trace that `context-engine ask --json` gave: {error}") from error


def _write_other(options: EngineOptions, context: Context, named: str) -> None:
    from langchain_context_engine.evaluation.known_item import why_not_offered

    found = why_not_offered(options.engine(records=False), context.request, named)
    if not found:
        raise ConfigError(
            f"the store holds nothing called {named!r} that this question may see: give an id, a path with or"
            " without lines, or an exact piece of the text"
        )
    for item in found:
        output.write_text(output.without_controls(item.sentence))


def _key(named: str, context: Context) -> Key:
    """Return the key of the one candidate that a person means."""
    from langchain_context_engine.trace.labels import labels, meant

    found = meant(named, context)
    if len(found) == 1:
        return found[0]
    if found:
        told = labels(context)
        listed = "; ".join(told[key] for key in found[:_MOST_LISTED])
        more = f"; and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
        raise ConfigError(f"{len(found)} candidates are called {named!r}; give one of: {listed}{more}")
    raise ConfigError(
        f"no candidate {named!r} in this answer: no source offered it; for why not:"
        f" context-engine explain --other {named!r}"
    )
