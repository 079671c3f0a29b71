"""`context-engine index`: bring a store up to date with a repository, a folder or JSON Lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_context_engine.commands import embedders, output
from langchain_context_engine.commands.options import (
    DEFAULT_STORE,
    EmbeddingsOption,
    StoreOption,
    read_pairs,
)
from langchain_context_engine.commands.store import Store, require_path

if TYPE_CHECKING:
    from langchain_context_engine.ingest import IndexReport


def index(
    path: Annotated[Path, typer.Argument(help="A git repository, a folder, or a .jsonl file.")],
    *,
    store: StoreOption = DEFAULT_STORE,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", "-n", help="Collection of a .jsonl file; else goes before code, commits, docs."
        ),
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option("--metadata", "-m", metavar="KEY=VALUE", help="More for every record; repeatable."),
    ] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option("--field", "-f", metavar="TARGET=FIELD", help="For .jsonl: text=body, id=key, …"),
    ] = None,
    embeddings: EmbeddingsOption = embedders.AUTO,
    max_commits: Annotated[int, typer.Option("--max-commits", min=0, help="Latest commits to hold.")] = 5000,
) -> None:
    """Fill a store, or bring it up to date; what stands already is not written again.

    A git repository gives the collections code, commits and docs; a folder gives code and docs; a .jsonl
    file gives one collection of its own.
    """
    from langchain_context_engine.ingest import index_jsonl, index_repository

    require_path(path)
    more = read_pairs("--metadata", metadata)
    fields = {target: str(field) for target, field in read_pairs("--field", mapping).items()}
    embedder = embedders.embedder(embeddings)
    client = Store(store).create()
    with output.progress_bar("indexing") as on_progress:
        if path.is_file():
            report = index_jsonl(
                path,
                name or path.stem,
                client,
                embedder,
                fields,
                metadata=more,
                delete_missing=True,
                on_progress=on_progress,
            )
        else:
            report = index_repository(
                path,
                client,
                embedder,
                prefix=f"{name}-" if name else "",
                max_commits=max_commits,
                metadata=more,
                on_progress=on_progress,
            )
    _tell(report, store)


def _tell(report: IndexReport, store: Path) -> None:
    from langchain_context_engine.commands.tables import index_table

    for warning in report.warnings:
        output.warn(warning)
    if not report.written:
        output.write_text(f"nothing written: {report.unchanged} records in {store} stand as they are")
        return
    output.write_table(index_table(report))
    skipped = ", ".join(f"{count} {reason}" for reason, count in sorted(report.skipped.items()))
    output.write_text(
        f"{report.written} records written to {store} in {report.seconds:.1f} s"
        + (f"; left out: {skipped}" if skipped else "")
    )
    output.write_text('next: context-engine ask "your question"')
