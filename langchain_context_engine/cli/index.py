"""`context-engine index`: bring a store up to date with a repository, a folder or a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_context_engine.cli import embedders, output
from langchain_context_engine.cli.memory import give_back, share_memory
from langchain_context_engine.cli.options import (
    DEFAULT_STORE,
    EmbeddingsOption,
    read_pairs,
    read_size,
)
from langchain_context_engine.cli.prepare import read_words
from langchain_context_engine.cli.store import require_path, store_to_fill

if TYPE_CHECKING:
    from langchain_context_engine.ingest import IndexReport

_JSON_LINES = frozenset({".jsonl", ".ndjson"})
_MOST_LISTED = 10_000


def index(
    path: Annotated[Path, typer.Argument(help="A git repository, a folder, or a file.")],
    *,
    store: Annotated[Path, typer.Option("--store", "-s", metavar="DIR", help="Folder of the store.")] = (
        DEFAULT_STORE
    ),
    name: Annotated[
        str | None,
        typer.Option("--name", "-n", help="Collection of a file; else goes before code, commits, docs."),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="PATTERN", help="Only these files, as in .gitignore; repeatable."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="PATTERN", help="Not these files, as in .gitignore; repeatable."),
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
    max_size: Annotated[
        str,
        typer.Option(
            "--max-size",
            metavar="SIZE",
            help="Larger files are left out: 500kB, 2MB. Ten times that for notebooks, PDF and DOCX.",
        ),
    ] = "1MB",
    max_commits: Annotated[int, typer.Option("--max-commits", min=0, help="Latest commits to hold.")] = 5000,
    lists_skipped: Annotated[
        bool, typer.Option("--list-skipped", help="Print what is left out, one a line, with its reason.")
    ] = False,
    is_dry: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")
    ] = False,
) -> None:
    """Fill a store, or bring it up to date; what stands already is not written again.

    A git repository gives the collections code, commits and docs; a folder gives code and docs; a file
    gives one collection of its own. A second folder in one store goes before them by its name.
    """
    require_path(path)
    share_memory(1)
    home = store_to_fill(store, DEFAULT_STORE)
    chosen: dict[str, Any] = {
        "metadata": read_pairs("--metadata", metadata),
        "max_file_bytes": read_size("--max-size", max_size),
    }
    fields = {target: str(field) for target, field in read_pairs("--field", mapping).items()}
    embedder = embedders.embedder(embeddings)
    client = home.client_for(is_dry=is_dry)
    with output.progress_bar("indexing") as on_progress:
        chosen |= {"is_dry": is_dry, "on_progress": on_progress}
        if path.is_file():
            report = _index_file(path, (client, embedder), name=name, fields=fields, **chosen)
        else:
            from langchain_context_engine.ingest import index_repository

            report = index_repository(
                path,
                client,
                embedder,
                prefix=f"{name}-" if name else None,
                include=include or (),
                exclude=exclude or (),
                max_commits=max_commits,
                **chosen,
            )
        if report.written and not is_dry:
            names = report.collections
            words_of = [client.get_collection(each, embedding_function=None) for each in names]
            give_back()
            read_words(words_of, lambda done, total, each: on_progress(done, total, f"words of {each}"))
    if lists_skipped:
        _list(report)
    _tell(report, home.folder, is_dry=is_dry)


def _index_file(
    path: Path, into: tuple[Any, Any], *, name: str | None, fields: dict[str, str], **chosen: Any
) -> IndexReport:
    from langchain_context_engine.ingest import index_file, index_jsonl

    if path.suffix.lower() not in _JSON_LINES and not fields:
        return index_file(path, *into, name=name, **chosen)
    del chosen["max_file_bytes"]  # it is read line by line
    return index_jsonl(path, name, *into, fields, delete_missing=True, **chosen)


def _list(report: IndexReport) -> None:
    for entry in report.left_out[:_MOST_LISTED]:
        detail = f" ({entry.detail})" if entry.detail else ""
        output.write_text(output.without_controls(f"{entry.reason}\t{entry.where}{detail}"))
    if len(report.left_out) > _MOST_LISTED:
        output.write_text(f"and {len(report.left_out) - _MOST_LISTED} more")


def _tell(report: IndexReport, store: Path, *, is_dry: bool) -> None:
    from langchain_context_engine.cli.tables import index_table

    for warning in report.warnings:
        output.warn(warning)
    skipped = ", ".join(f"{count} {reason}" for reason, count in sorted(report.skipped.items()))
    left_out = f"; left out: {skipped}" if skipped else ""
    if not report.written:
        output.write_text(
            f"nothing written: {report.unchanged} records in {store} stand as they are{left_out}"
        )
        return
    output.write_table(index_table(report))
    done = "would be written" if is_dry else "written"
    output.write_text(f"{report.written} records {done} to {store} in {report.seconds:.1f} s{left_out}")
    if not is_dry:
        output.write_text('next: context-engine ask "your question"')
