"""`context-engine ls` and `rm`: what a store holds, and deleting of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import typer

from langchain_context_engine.cli import embedders, output
from langchain_context_engine.cli.failure import CommandFailedError
from langchain_context_engine.cli.options import JsonOption, StoreOption, Texts
from langchain_context_engine.cli.store import DEFAULT_STORE, Store, collections_of
from langchain_context_engine.errors import ConfigError

_PAGE = 300


def ls(*, store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> None:
    """List the store's collections: records, oldest and newest date, embedder, and what they mirror."""
    home = Store(store)
    found = [_holding(collection) for collection in collections_of(home.open())]
    size = sum(path.lstat().st_size for path in home.folder.rglob("*") if path.is_file())
    if as_json:
        held = {"store": str(home.folder), "bytes": size, "collections": found}
        output.write_json(json.dumps(held, indent=2))
        return
    for each in found:
        dates = f", {each['oldest']} to {each['newest']}" if each["oldest"] else ""
        head = f"{each['collection']}: {output.counted(each['records'], 'record')}{dates}"
        by = ", ".join(map(str, filter(None, (each["embedder"] or "unknown embedder", each["dimension"]))))
        # A line each: whoever copies a name or a path wants it whole.
        output.write_text(output.without_controls("\n  ".join(filter(None, (head, by, each["folder"])))))
    collections = output.counted(len(found), "collection")
    records = output.counted(sum(each["records"] for each in found), "record")
    output.write_text(f"{collections}, {records}, {size / 1e6:,.1f} MB in {home.folder}")


def rm(
    names: Annotated[Texts, typer.Argument(metavar="COLLECTION...", help="What to delete.")] = None,
    *,
    store: StoreOption = DEFAULT_STORE,
    is_all: Annotated[bool, typer.Option("--all", help="Every collection of the store.")] = False,
    is_sure: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete collections; recorded answers stay, and what was indexed can be indexed again."""
    from langchain_context_engine.ingest import delete_collection

    if bool(names) == is_all:
        raise ConfigError("give the collections to delete, or --all; context-engine ls lists them")
    home = Store(store)
    client = home.open()
    found = collections_of(client, None if is_all else list(dict.fromkeys(names or ())))
    counts = {str(each.name): output.counted(each.count(), "record") for each in found}
    told = ", ".join(f"{name} ({count})" for name, count in counts.items()) or "nothing"
    if counts and not is_sure:
        question = f"delete {told} from {home.folder}?"
        if not sys.stdin.isatty():  # where nobody can answer nothing is deleted
            raise CommandFailedError(f"{question} Say so with --yes")
        if not typer.confirm(question, err=True):
            raise CommandFailedError("nothing was deleted")
    for name in counts:
        delete_collection(client, name)
    output.write_text(f"deleted {told} from {home.folder}")


def _holding(collection: Any) -> dict[str, Any]:
    """Return what a collection holds; dates are days in UTC, "" where no record has one."""
    dates = sorted(_dates(collection))
    known = embedders.remembered(collection)
    return {
        "collection": str(collection.name),
        "records": collection.count(),
        "oldest": dates[0].date().isoformat() if dates else "",
        "newest": dates[-1].date().isoformat() if dates else "",
        "embedder": known.model,
        "dimension": known.dimension,
        "folder": str((collection.metadata or {}).get("indexed_folder", "")),
    }


def _dates(collection: Any) -> Iterator[datetime]:
    from langchain_context_engine.models.clock import read_instant

    for start in range(0, collection.count(), _PAGE):
        page = collection.get(include=["metadatas"], limit=_PAGE, offset=start)["metadatas"] or []
        read = (read_instant((metadata or {}).get("created_at")) for metadata in page)
        yield from (date for date in read if date is not None)
