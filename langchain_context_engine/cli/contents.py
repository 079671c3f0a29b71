"""`context-engine index`, `prepare`, `ls` and `rm`: filling a store, and what it holds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_context_engine.cli import embedders, output
from langchain_context_engine.cli.options import (
    CollectionsOption,
    EmbeddingsOption,
    StoreOption,
    Texts,
)
from langchain_context_engine.cli.process import CommandFailedError, give_back, share_memory
from langchain_context_engine.cli.store import DEFAULT_STORE, Store, collections_of, store_to_fill
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.metadata import read_pairs

if TYPE_CHECKING:
    from langchain_context_engine.ingest import IndexReport

_JSON_LINES = frozenset({".jsonl", ".ndjson"})
_MEGABYTE = 1_000_000


def index(
    path: Annotated[
        Path, typer.Argument(help="A git repository, a folder, or a file; else the folder here.")
    ] = Path(),
    *,
    store: Annotated[
        Path, typer.Option("--store", "-s", metavar="DIR", help="Folder of the store.")
    ] = DEFAULT_STORE,
    name: Annotated[
        str | None,
        typer.Option("--name", "-n", help="Collection of a file; else goes before code, commits, docs."),
    ] = None,
    include: Annotated[
        Texts, typer.Option("--include", metavar="PATTERN", help="Only these, as in .gitignore; repeatable.")
    ] = None,
    exclude: Annotated[
        Texts, typer.Option("--exclude", metavar="PATTERN", help="Not these, as in .gitignore; repeatable.")
    ] = None,
    metadata: Annotated[
        Texts, typer.Option("--metadata", "-m", metavar="KEY=VALUE", help="For every record; repeatable.")
    ] = None,
    mapping: Annotated[
        Texts, typer.Option("--field", "-f", metavar="TARGET=FIELD", help="For .jsonl: text=body, id=key, …")
    ] = None,
    embeddings: EmbeddingsOption = embedders.AUTO,
    max_size: Annotated[
        float, typer.Option("--max-size", min=0, help="Megabytes of a file; ten times that of PDF and DOCX.")
    ] = 1,
    max_commits: Annotated[int, typer.Option("--max-commits", min=0, help="Latest commits to hold.")] = 5000,
    lists_skipped: Annotated[
        bool, typer.Option("--list-skipped", help="Print what is left out, one a line, with its reason.")
    ] = False,
) -> None:
    """Fill a store, or bring it up to date; what stands already is not written again.

    A git repository gives the collections code, commits and docs; a folder gives code and docs; a file
    gives one collection of its own. A second folder in one store goes before them by its name.
    """
    if not path.exists():
        raise ConfigError(f"there is no {path}; give a folder, a git repository or a file")
    from langchain_context_engine import ingest  # before a store is made: its extra may be missing

    share_memory(1)
    home = store_to_fill(store)
    chosen: dict[str, Any] = {
        "metadata": read_pairs("--metadata", metadata),
        "max_file_bytes": int(max_size * _MEGABYTE),
    }
    fields = {target: str(field) for target, field in read_pairs("--field", mapping).items()}
    embedder = embedders.embedder(embeddings)
    with home.filling(path) as client, output.progress_bar("indexing") as on_progress:
        chosen["on_progress"] = on_progress
        if path.is_dir():
            chosen |= {"include": include or (), "exclude": exclude or (), "max_commits": max_commits}
            prefix = f"{name}-" if name else None
            report = ingest.index_repository(path, client, embedder, prefix=prefix, **chosen)
        elif path.suffix.lower() in _JSON_LINES or fields:
            del chosen["max_file_bytes"]  # it is read line by line
            report = ingest.index_jsonl(path, name, client, embedder, fields, delete_missing=True, **chosen)
        else:
            report = ingest.index_file(path, client, embedder, name=name, **chosen)
        if report.written:
            give_back()
            _read_words(collections_of(client, list(report.collections)), on_progress)
    _tell(report, home.folder, lists_skipped=lists_skipped)


def prepare(*, store: StoreOption = DEFAULT_STORE, collection: CollectionsOption = None) -> None:
    """Read collections into their indexes of words; what was read before is not read again.

    It may be interrupted and goes on where it was. Without it the first question starts the reading, and
    answers without words until it is done.
    """
    from langchain_context_engine.search.store_overview import index_state

    share_memory(1)
    found = Store(store).collections(collection)
    with output.progress_bar("reading") as show:
        _read_words(found, show)
    for each in found:
        output.write_text(f"{each.name}: {index_state(each)}")


def _read_words(collections: Iterable[Any], show: Callable[..., None]) -> None:
    """Read what was written to collections since into their indexes of words."""
    from langchain_context_engine.sources.chroma import ChromaSource

    for each in collections:
        ChromaSource(each).prepare(progress=partial(show, label=f"words of {each.name}"))


def _tell(report: IndexReport, store: Path, *, lists_skipped: bool) -> None:
    for entry in report.left_out if lists_skipped else ():
        detail = f" ({entry.detail})" if entry.detail else ""
        output.write_text(output.without_controls(f"{entry.reason}\t{entry.where}{detail}"))
    for warning in report.warnings:
        output.warn(warning)
    skipped = ", ".join(f"{count} {reason}" for reason, count in sorted(report.skipped.items()))
    left_out = f"; left out: {skipped}" if skipped else ""
    if not report.written:
        stand = output.counted(report.unchanged, "record")
        output.write_text(f"nothing written: {stand} in {store} as before{left_out}")
        return
    for name, counts in report.collections.items():
        figures = ((getattr(counts, each), each) for each in ("added", "updated", "unchanged", "deleted"))
        told = ", ".join(f"{count:,} {each}" for count, each in figures if count)
        output.write_text(f"{name}: {told or 'empty'}")
    written = output.counted(report.written, "record")
    output.write_text(f"{written} written to {store} in {report.seconds:.1f} s{left_out}")
    output.write_text('next: context-engine ask "your question"')


def ls(*, store: StoreOption = DEFAULT_STORE) -> None:
    """List the store's collections: their records, embedder, and the folder that they mirror."""
    home = Store(store)
    found = collections_of(home.open())
    for each in found:
        known = embedders.remembered(each)
        by = ", ".join(map(str, filter(None, (known.model or "unknown embedder", known.dimension))))
        told = (f"{each.name}: {output.counted(each.count(), 'record')}", by)
        folder = (each.metadata or {}).get("indexed_folder")
        # A line each: whoever copies a name or a path wants it whole.
        output.write_text(output.without_controls("\n  ".join((*told, str(folder))[: 3 if folder else 2])))
    output.write_text(f"{output.counted(len(found), 'collection')} in {home.folder}")


def rm(
    names: Annotated[list[str], typer.Argument(metavar="COLLECTION...", help="What to delete.")],
    *,
    store: StoreOption = DEFAULT_STORE,
    is_sure: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete collections; recorded answers stay, and what was indexed can be indexed again."""
    from langchain_context_engine.ingest import delete_collection

    home = Store(store)
    client = home.open()
    found = collections_of(client, list(dict.fromkeys(names)))
    counts = {str(each.name): output.counted(each.count(), "record") for each in found}
    told = ", ".join(f"{name} ({count})" for name, count in counts.items())
    if not is_sure:
        question = f"delete {told} from {home.folder}?"
        if not sys.stdin.isatty():  # where nobody can answer nothing is deleted
            raise CommandFailedError(f"{question} Say so with --yes")
        if not typer.confirm(question, err=True):
            raise CommandFailedError("nothing was deleted")
    for name in counts:
        delete_collection(client, name)
    output.write_text(f"deleted {told} from {home.folder}")
