"""`context-engine ls`: what a store holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from langchain_context_engine.cli import embedders, output
from langchain_context_engine.cli.options import DEFAULT_STORE, StoreOption
from langchain_context_engine.cli.store import Store
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.search.quotas import Portions

_PAGE = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What one collection holds.

    Attributes:
        collection: Its name.
        records: How many.
        oldest: The earliest day among its records' dates, ISO 8601 in UTC; "" where none has one.
        newest: The latest.
        embedder: What embedded it, "" where it does not say.
        dimension: Length of its vectors; None where it is empty.
        folder: The folder or file that it mirrors, "" for none.
    """

    collection: str
    records: int
    oldest: str
    newest: str
    embedder: str
    dimension: int | None
    folder: str


def ls(
    *,
    store: StoreOption = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, nothing else.")] = False,
) -> None:
    """List the store's collections: records, oldest and newest date, embedder, and what they mirror."""
    home = Store(store)
    client = home.open()
    names = sorted(str(collection.name) for collection in client.list_collections())
    found = [holding(client.get_collection(name, embedding_function=None)) for name in names]
    size = _size(home.folder)
    if as_json:
        held = [asdict(item) for item in found]
        output.write_json(
            json.dumps({"store": str(home.folder), "bytes": size, "collections": held}, indent=2)
        )
        return
    if found:
        _write(found)
    records = sum(item.records for item in found)
    output.write_text(f"{len(found)} collections, {records} records, {_in_words(size)} in {home.folder}")


def holding(collection: Any) -> Holding:
    """Return what a collection holds."""
    dates = [at for at in map(_date, _metadatas(collection)) if at is not None]
    known = embedders.remembered(collection)
    return Holding(
        collection=str(collection.name),
        records=collection.count(),
        oldest=min(dates).date().isoformat() if dates else "",
        newest=max(dates).date().isoformat() if dates else "",
        embedder=known.model,
        dimension=known.dimension,
        folder=str((collection.metadata or {}).get("indexed_folder", "")),
    )


def _metadatas(collection: Any) -> Iterator[Mapping[str, Any]]:
    pages = Portions(_PAGE).pages(
        lambda most, place: collection.get(include=["metadatas"], limit=most, offset=place)["metadatas"] or []
    )
    yield from (metadata or {} for metadata in pages)


def _date(metadata: Mapping[str, Any]) -> datetime | None:
    return read_instant(metadata.get("created_at"))


def _write(found: list[Holding]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("collection", "records", "oldest", "newest", "embedder", "of"):
        table.add_column(head, justify="right" if head == "records" else "left", no_wrap=True)
    for item in found:
        cells = (item.collection, str(item.records), item.oldest, item.newest, _embedder(item), item.folder)
        table.add_row(*(Text(output.without_controls(cell)) for cell in cells))
    if output.fits(table):
        output.write_table(table)
    else:
        # No name or path is broken: whoever copies it wants it whole.
        for item in found:
            output.write_text(output.without_controls(_in_lines(item)))


def _embedder(item: Holding) -> str:
    return f"{item.embedder or 'unknown'}{f', {item.dimension}' if item.dimension else ''}"


def _in_lines(item: Holding) -> str:
    dates = f", {item.oldest} to {item.newest}" if item.oldest else ""
    lines = (f"{item.collection}: {item.records} records{dates}", _embedder(item), item.folder)
    return "\n  ".join(filter(None, lines)) + "\n"


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def _in_words(size: int) -> str:
    number = float(size)
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:  # noqa: PLR2004 (the step between the units)
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
