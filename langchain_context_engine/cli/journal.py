"""`context-engine journal merge`: journals of several machines as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.failure import CommandFailedError

journal = typer.Typer(
    name="journal", help="Bring journals of several machines together.", no_args_is_help=True
)
journal.callback()(lambda: None)  # with a single command there would be no `merge`


@journal.command()
def merge(
    journals: Annotated[list[Path], typer.Argument(metavar="JOURNAL...", help="They are only read.")],
    *,
    into: Annotated[
        Path, typer.Option("--into", metavar="JOURNAL", help="The journal that is written; made if need be.")
    ],
    megabytes: Annotated[
        int, typer.Option("--megabytes", min=1, help="Its size; the oldest traces go first.")
    ] = 256,
) -> None:
    """Bring journals together; merging again adds what is new, and counts nothing twice.

    Each machine writes a journal of its own, and may go on writing meanwhile. A damaged or foreign file is
    told and left out.
    """
    from langchain_context_engine.journal import merge_journals

    merged = merge_journals(journals, into, max_bytes=megabytes * 1_000_000)
    for each in merged:
        if each.error:
            output.note(f"error: {each.error}")
            continue
        came = f"{each.traces:,} traces, {each.counts:,} counts, {each.judgments:,} judgments are new"
        output.write_text(f"{each.path}: {came}")
    if refused := sum(bool(each.error) for each in merged):
        raise CommandFailedError(f"{refused} of {len(merged)} journals could not be merged into {into}")
