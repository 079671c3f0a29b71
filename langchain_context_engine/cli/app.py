"""The commands of `context-engine`, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.ask import ask
from langchain_context_engine.cli.demo import demo
from langchain_context_engine.cli.doctor import doctor
from langchain_context_engine.cli.evaluate import evaluate
from langchain_context_engine.cli.explain import explain
from langchain_context_engine.cli.index import index, prepare
from langchain_context_engine.cli.inspect import inspect
from langchain_context_engine.cli.journal import journal
from langchain_context_engine.cli.ls import ls, rm
from langchain_context_engine.cli.mcp import mcp
from langchain_context_engine.cli.serve import serve
from langchain_context_engine.cli.tune import tune

app = typer.Typer(
    name="context-engine",
    help="One question, one context that fits the token budget, and a reason for every candidate's fate.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (demo, index, prepare, ls, rm, ask, explain, inspect, evaluate, tune, serve, mcp, doctor):
    app.command()(_command)
app.add_typer(journal)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        output.write_text(version("langchain-context-engine"))
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
