"""`context-engine ask`: one question, its context, and a table of what is in it and what nearly was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.options import (
    EngineOptions,
    RecordsOption,
    ScopeOption,
    read_pairs,
    with_engine_options,
)
from langchain_context_engine.errors import ConfigError

if TYPE_CHECKING:
    from langchain_context_engine.trace.context import Context


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
    kinds: Annotated[
        list[str] | None, typer.Option("--kind", help="Only records of this kind; repeatable.")
    ] = None,
    scope: ScopeOption = None,
    where: Annotated[
        str | None, typer.Option("--where", metavar="JSON", help="A further filter, in Chroma's syntax.")
    ] = None,
    depth: Annotated[int, typer.Option("--depth", min=0, help="How many links to follow.")] = 0,
    near: Annotated[int, typer.Option("--near", min=0, help="How many near-missed candidates to show.")] = 5,
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
        "depth": depth,
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
        output.note(_nothing(context))
    if not text_only:
        output.write_table(output.fate_table(context, near, output.width()))
        output.write_text(output.figures(context))


def _nothing(context: Context) -> str:
    if context.budget == 0:
        return "a budget of 0 holds nothing; give a larger --budget"
    if context.candidates:
        return "nothing of it is in the context: the table says why of each candidate"
    return "nothing found: ask in other words, or look at --scope, --where and --kind"


def _read_where(where: str | None) -> dict[str, Any]:
    if where is None:
        return {}
    try:
        filters = json.loads(where)
    except ValueError as error:
        raise ConfigError(f'--where takes JSON such as {{"path": "README.md"}}: {error}') from error
    if not isinstance(filters, dict):
        raise ConfigError(f"--where takes a JSON object, got {where}")
    return filters
