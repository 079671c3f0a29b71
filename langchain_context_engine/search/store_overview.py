"""Stores looked at from outside: opened without writing to them, their collections and indexes told of."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.executor import answer_of
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.collection_index import FILE, folder_of
from langchain_context_engine.search.segment import DamagedIndexError, facts_of
from langchain_context_engine.search.store_search import choose_search

DEADLINE_SECONDS = 10.0
"""How long a server may take to answer."""

Sheet = Mapping[str, Any]
"""What a collection is like, by name."""

_FILE = "chroma.sqlite3"
_LARGEST_COPY = 4_000_000_000
_MODEL = "embedding_model"
_SEEN = 200
_MEGABYTE = 2**20


def is_server(where: str) -> bool:
    """Return whether a place is a server's address rather than a folder.

    Example:
        >>> is_server("http://localhost:8000"), is_server("./chroma")
        (True, False)
    """
    return where.startswith(("http://", "https://"))


def chroma_folder(where: str) -> Path:
    """Return where Chroma's files are: in the folder, or in `chroma` in it, as `index` lays a store out.

    Raises:
        ConfigError: There is no store.
    """
    folder = Path(where).expanduser()
    for path in (folder, folder / "chroma"):
        if (path / _FILE).is_file():
            return path
    raise ConfigError(f"{where} holds no Chroma store (no {_FILE} in it, nor in its folder chroma)")


def open_client(where: str) -> Any:
    """Return a Chroma client over a server, or over a copy of a folder: opening one never writes to it.

    The copy lasts as long as this process. A folder that is larger than what is copied is refused.

    Raises:
        ConfigError: There is no store, it is too large to copy, or the server does not answer in time.
    """
    import chromadb

    if is_server(where):
        return _connected(where)
    folder = chroma_folder(where)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > _LARGEST_COPY:
        raise ConfigError(
            f"{where} has {size:,} bytes, more than the {_LARGEST_COPY:,} that are copied so that nothing "
            "writes to it; run a Chroma server there and give its address"
        )
    copy = Path(tempfile.mkdtemp(prefix="context-inspector-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    try:
        shutil.copytree(folder, copy / "chroma")
        return chromadb.PersistentClient(path=str(copy / "chroma"))
    except (OSError, shutil.Error) as error:
        raise ConfigError(f"{where} cannot be copied: {error}") from error


def _connected(where: str) -> Any:
    """Return a client of a server; one that says nothing is left behind after the deadline."""
    import chromadb

    parts = urlsplit(where)
    answer = Future[Any]()

    def connect() -> Any:
        host, port = parts.hostname or "localhost", parts.port or 8000
        return chromadb.HttpClient(host=host, port=port, ssl=parts.scheme == "https")

    def ask() -> None:
        answer.set_result(answer_of(connect))

    threading.Thread(target=ask, daemon=True, name="open-store").start()
    try:
        client = answer.result(timeout=DEADLINE_SECONDS)
    except TimeoutError:
        raise ConfigError(f"{where} did not answer within {DEADLINE_SECONDS:g} seconds") from None
    if isinstance(client, Exception):
        raise ConfigError(f"no Chroma server answers at {where}") from client
    return client


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """What there is of a collection's index.

    Attributes:
        told: That in one line.
        indexed: How many records the index has.
        is_whole: The collection was read to its end once.
    """

    told: str
    indexed: int = 0
    is_whole: bool = False

    def __str__(self) -> str:
        return self.told


def index_state(collection: Any, index_dir: str | Path | None = None) -> IndexState:
    """Return how far the index of a Chroma collection is, told without opening it for a question.

    Args:
        collection: A chromadb Collection, or a `langchain_chroma.Chroma`.
        index_dir: See `EngineConfig.index_dir`.

    Raises:
        SourceError: The collection could not be read.
    """
    handle = CollectionHandle(collection)
    records = handle.count()
    if choose_search(handle, "auto") is not None:
        return IndexState(told=f"searched by the store itself, {records:,} records; no index here")
    folder = folder_of(handle, index_dir)
    if folder is None:
        return IndexState(told="index in memory, made when a question comes")
    try:
        size, facts = (folder / FILE).stat().st_size, facts_of(folder / FILE)
    except FileNotFoundError:
        return IndexState(told="no index yet; make it with: context-engine prepare")
    except (DamagedIndexError, OSError):
        return IndexState(told="index of another version or damaged; the next question makes it anew")
    indexed, is_whole = int(facts.get("records", 0)), bool(facts.get("is_whole"))
    share = "" if is_whole else f" of {records:,}, not finished: context-engine prepare"
    told = f"index of {indexed:,}{share}, {size / _MEGABYTE:,.1f} MB"
    return IndexState(told=told, indexed=indexed, is_whole=is_whole)


def sheets(client: Any) -> list[Sheet]:
    """Return what each collection of a client is like, by name."""
    names = sorted(collection.name for collection in client.list_collections())
    return [describe(client.get_collection(name, embedding_function=None)) for name in names]


def describe(collection: Any) -> Sheet:
    """Return what a collection is like; metadata keys are those of its first records, the usual first."""
    handle = CollectionHandle(collection)
    sample = handle.rows(None, ("metadatas",), most=_SEEN).values()
    keys = Counter(key for row in sample for key in row["metadatas"] or {})
    first = collection.get(limit=1, include=["embeddings"])["embeddings"]
    named = (getattr(collection, "configuration", None) or {}).get("embedding_function")
    return {
        "collection": collection.name,
        "records": handle.count(),
        "dimension": len(first[0]) if first is not None and len(first) else None,
        "metric": handle.space,
        "index": str(index_state(collection)),
        "embedder": str(
            (collection.metadata or {}).get(_MODEL) or (type(named).__name__ if named else "") or "not said"
        ),
        "metadata keys": ", ".join(sorted(keys, key=lambda key: (-keys[key], key))),
    }


def doubts(found: Sequence[Sheet]) -> list[str]:
    """Return what a person should know before searching these collections together, one line a doubt."""
    filled = [sheet for sheet in found if sheet["records"]]
    metrics = sorted({str(sheet["metric"]) for sheet in filled})

    def names(sheets: Iterable[Sheet]) -> str:
        return ", ".join(str(sheet["collection"]) for sheet in sheets)

    told = []
    if len(metrics) > 1:
        told.append(
            f"The collections have different metrics ({', '.join(metrics)}): relevance is made 0–1 "
            "from each, but cosine everywhere compares best."
        )
    if those := names(sheet for sheet in found if sheet["metric"] == "l2"):
        told.append(f"{those}: metric l2 is Chroma's default, seldom meant for texts.")
    if those := names(sheet for sheet in found if not sheet["records"]):
        told.append(f"{those}: is empty.")
    if those := names(sheet for sheet in filled if sheet["embedder"] == "not said"):
        told.append(
            f"{those}: does not say what embedded it; a query embedded by another model of the same "
            "dimension finds nonsense without an error."
        )
    if len({sheet["dimension"] for sheet in filled}) > 1:
        told.append("The collections have different dimensions: each needs its own embeddings.")
    return told
