"""`context-engine ask` and `explain`: a question, its context, and why each candidate is in it or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.options import (
    EngineOptions,
    RecordsOption,
    ScopeOption,
    Texts,
    with_engine_options,
)
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.metadata import read_pairs
from langchain_context_engine.models.types import Verdict

if TYPE_CHECKING:
    from langchain_context_engine.cli.store import Store
    from langchain_context_engine.trace.context import Context

_NEAR = 5
"""How many near-missed candidates are shown, and records that were not offered."""


@with_engine_options
def ask(
    options: EngineOptions,
    question: Annotated[list[str], typer.Argument(help="What to ask; quotes are not needed.")],
    *,
    budget: Annotated[
        int | None, typer.Option("--budget", "-b", min=0, help="Tokens; 2000 by default.")
    ] = None,
    k: Annotated[int | None, typer.Option("-k", min=0, help="Passages at most; else as many as fit.")] = None,
    template: Annotated[str | None, typer.Option("--template", "-t", help="A template's name.")] = None,
    kinds: Annotated[Texts, typer.Option("--kind", help="Only records of this kind; repeatable.")] = None,
    scope: ScopeOption = None,
    where: Annotated[
        str | None, typer.Option("--where", metavar="JSON", help="A further filter, in Chroma's syntax.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole trace as JSON, nothing else.")
    ] = False,
    text_only: Annotated[bool, typer.Option("--text", help="Print the context alone.")] = False,
    records: RecordsOption = True,
) -> None:
    """Print the context for a question, and why each candidate is in it or not."""
    if as_json and text_only:
        raise ConfigError("--json and --text exclude each other; give one")
    asked = " ".join(question)
    if not asked.strip():
        raise ConfigError("the question is empty; write one")
    request = {
        "scope": read_pairs("--scope", scope),
        "where": _read_where(where),
        "kinds": kinds or None,
        "budget": budget,
        "k": k,
        "template": template,
    }
    # What an option says goes before what the file says.
    request |= {name: value for name, value in options.file.request.items() if not request.get(name)}
    engine = options.engine(records=records)
    try:
        context = engine.build(asked, **request)
    finally:
        if engine.journal is not None:
            engine.journal.close()
    for warning in context.warnings:
        output.warn(warning)
    if as_json:
        output.write_json(context.to_json())
        return
    if context.text:
        output.write_text(context.text)
    else:
        output.note("nothing of it is in the context; look at --budget, --scope, --where and --kind")
    if not text_only:
        _write_fates(context, _NEAR)


@with_engine_options
def explain(
    options: EngineOptions,
    candidate: Annotated[
        str | None, typer.Argument(help="One candidate: its marker, id, path, symbol or title; else all.")
    ] = None,
    *,
    trace: Annotated[
        str | None,
        typer.Option("--trace", "-t", help="A trace's id, or a file of `ask --json`; else the latest."),
    ] = None,
    other: Annotated[
        str | None,
        typer.Option("--other", metavar="NAME", help="A record that was not offered: id, place or text."),
    ] = None,
) -> None:
    """Say why each candidate of the latest answer is in its context, or what kept it out.

    With --other the store is asked once more, with this command's settings, about what was not offered.
    """
    context = _read_trace(trace, options.home)
    if other is not None:
        if candidate is not None:
            raise ConfigError("give a candidate of the answer, or --other for a record that is none")
        _write_other(options, context, other)
        return
    if candidate is None:
        for warning in context.warnings:
            output.warn(warning)
        _write_fates(context, len(context.decisions))
        return
    from langchain_context_engine.trace.labels import meant
    from langchain_context_engine.trace.what_if import what_would_it_take

    keys = meant(candidate, context)
    if not keys:
        raise ConfigError(
            f"no candidate {candidate!r} in this answer: no source offered it; for why not:"
            f" context-engine explain --other {candidate!r}"
        )
    output.write_text(output.without_controls(context.explain(candidate)))
    changes = what_would_it_take(context, keys[0])
    becomes = "in" if context.final_decisions()[keys[0]].verdict is Verdict.DROPPED else "whole"
    for change in changes:
        output.write_text(f"  would be {becomes}: {output.without_controls(change.sentence)}")
    if changes.untried:
        output.write_text(f"  not tried any further, for time: {', '.join(changes.untried)}")


def _write_fates(context: Context, near: int) -> None:
    output.console().print(output.fate_table(context, near))
    output.write_text(output.figures(context))


def _read_where(where: str | None) -> dict[str, Any]:
    try:
        filters = json.loads(where or "{}")
    except ValueError as error:
        raise ConfigError(f'--where takes JSON such as {{"path": "README.md"}}: {error}') from error
    if not isinstance(filters, dict):
        raise ConfigError(f"--where takes a JSON object, got {where}")
    return filters


def _read_trace(trace: str | None, store: Store) -> Context:
    """Return the trace of a file, of an id, or the latest."""
    from langchain_context_engine.trace.context import Context

    if trace is None or not Path(trace).is_file():
        return store.trace(trace)
    try:
        return Context.from_dict(json.loads(Path(trace).read_text(encoding="utf-8")))
    except (ValueError, OSError) as error:
        raise ConfigError(f"{trace} is no trace that `context-engine ask --json` gave: {error}") from error


def _write_other(options: EngineOptions, context: Context, named: str) -> None:
    from langchain_context_engine.evaluation.not_offered import why_not_offered

    found = why_not_offered(options.engine(records=False), context.request, named)
    if not found:
        raise ConfigError(
            f"the store holds nothing called {named!r} that this question may see: give an id, a path with or"
            " without lines, or an exact piece of the text"
        )
    for item in found[:_NEAR]:
        output.write_text(output.without_controls(item.sentence))
    if len(found) > _NEAR:
        output.write_text(f"and {len(found) - _NEAR:,} more; name one by its lines, its id or a piece of it")
