"""`context-engine prepare`: read the collections of a store into their indexes ahead of any question."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.failure import CommandFailedError
from langchain_context_engine.cli.memory import share_memory
from langchain_context_engine.cli.options import DEFAULT_STORE, CollectionsOption, StoreOption
from langchain_context_engine.cli.store import Store
from langchain_context_engine.models.errors import UnknownNameError

if TYPE_CHECKING:
    from chromadb.api import ClientAPI


def prepare(
    *,
    store: StoreOption = DEFAULT_STORE,
    collection: CollectionsOption = None,
    server: Annotated[
        str | None,
        typer.Option("--server", metavar="HOST:PORT", help="A Chroma server, in place of a folder."),
    ] = None,
) -> None:
    """Read collections into their indexes of words; what was read before is not read again.

    It may be interrupted and goes on where it was. Without it the first question starts the reading, and
    answers without words until it is done.
    """
    from langchain_context_engine.search.state import index_state

    share_memory(1)
    found = Store(store).collections(collection) if server is None else _on_server(server, collection)
    with output.progress_bar("reading") as show:
        read_words(found, show)
    for each in found:
        output.write_text(f"{each.name}: {index_state(each)}")


def read_words(collections: Iterable[Any], show: Callable[[int, int, str], None]) -> None:
    """Read what was written to collections since into their indexes of words.

    Raises:
        SourceError: A collection could not be read, or its index not be written.
    """
    from langchain_context_engine.sources.chroma import ChromaSource

    for each in collections:
        ChromaSource(each).prepare(progress=_shown(str(each.name), show))


def _shown(name: str, show: Callable[[int, int, str], None]) -> Callable[[int, int], None]:
    return lambda done, total: show(done, total, name)


def _on_server(server: str, names: list[str] | None) -> list[Any]:
    client = _connected(server)
    known = sorted(str(collection.name) for collection in client.list_collections())
    for name in names or ():
        if name not in known:
            raise UnknownNameError("collection", name, known)
    return [client.get_collection(name, embedding_function=None) for name in names or known]


def _connected(server: str) -> ClientAPI:
    import chromadb

    host, _, port = server.rpartition(":")
    try:
        return chromadb.HttpClient(host=host or "127.0.0.1", port=int(port))
    except Exception as error:  # whatever Chroma raises here, it is the server that cannot be reached
        raise CommandFailedError(
            f"no Chroma server answers at {server}: {type(error).__name__}; give --server HOST:PORT"
        ) from error
