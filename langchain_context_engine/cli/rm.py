"""`context-engine rm`: delete collections of a store."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.failure import CommandFailedError
from langchain_context_engine.cli.options import DEFAULT_STORE, StoreOption
from langchain_context_engine.cli.store import Store
from langchain_context_engine.models.errors import ConfigError, UnknownNameError


def rm(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="COLLECTION...", help="What to delete.")
    ] = None,
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
    known = sorted(str(collection.name) for collection in client.list_collections())
    wanted = known if is_all else list(dict.fromkeys(names or ()))
    for name in wanted:
        if name not in known:
            raise UnknownNameError("collection", name, known)
    counts = {name: client.get_collection(name, embedding_function=None).count() for name in wanted}
    told = ", ".join(f"{name} ({count} records)" for name, count in counts.items()) or "nothing"
    if counts and not is_sure and not _agrees(f"delete {told} from {home.folder}?"):
        raise CommandFailedError("nothing was deleted")
    for name in counts:
        delete_collection(client, name)
    output.write_text(f"deleted {told} from {home.folder}")


def _agrees(question: str) -> bool:
    """Ask a person; where none can answer nothing is deleted."""
    if not sys.stdin.isatty():
        raise CommandFailedError(f"{question} Say so with --yes")
    return typer.confirm(question, err=True)
