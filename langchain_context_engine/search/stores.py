"""Stores looked at from outside: opened without writing to them, their collections and indexes told of."""

from __future__ import annotations

import atexit
import itertools
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.search.collection import CollectionHandle, Portions
from langchain_context_engine.search.collection_index import FILE
from langchain_context_engine.search.index_folder import folder_of
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

    def connect() -> None:
        try:
            host, port = parts.hostname or "localhost", parts.port or 8000
            answer.set_result(chromadb.HttpClient(host=host, port=port, ssl=parts.scheme == "https"))
        except Exception as error:  # noqa: BLE001 - whatever Chroma raises, in a thread of its own
            answer.set_exception(error)

    threading.Thread(target=connect, daemon=True, name="open-store").start()
    try:
        return answer.result(timeout=DEADLINE_SECONDS)
    except TimeoutError:
        raise ConfigError(f"{where} did not answer within {DEADLINE_SECONDS:g} seconds") from None
    except Exception as error:
        raise ConfigError(f"no Chroma server answers at {where}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """What there is of a collection's index.

    Attributes:
        folder: Where it is kept; None in memory.
        records: How many records the collection has.
        indexed: How many of them the index has.
        is_whole: The collection was read to its end once.
        is_readable: It is of this version, and not damaged; True where there is none.
        size_bytes: What it takes on disk.
        is_by_store: The store searches by itself, so there is no index here.
    """

    folder: Path | None
    records: int
    indexed: int = 0
    is_whole: bool = False
    is_readable: bool = True
    size_bytes: int = 0
    is_by_store: bool = False

    def __str__(self) -> str:
        if self.is_by_store:
            return f"searched by the store itself, {self.records:,} records; no index here"
        if self.folder is None:
            return "index in memory, made when a question comes"
        if not self.is_readable:
            return "index of another version or damaged; the next question makes it anew"
        if not self.is_whole and not self.indexed:
            return "no index yet; make it with: context-engine prepare"
        share = "" if self.is_whole else f" of {self.records:,}, not finished: context-engine prepare"
        return f"index of {self.indexed:,}{share}, {self.size_bytes / _MEGABYTE:,.1f} MB"


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
        return IndexState(folder=None, records=records, is_by_store=True)
    folder = folder_of(handle, index_dir)
    if folder is None:
        return IndexState(folder=None, records=records)
    try:
        size, facts = (folder / FILE).stat().st_size, facts_of(folder / FILE)
    except FileNotFoundError:
        return IndexState(folder=folder, records=records)
    except (DamagedIndexError, OSError):
        return IndexState(folder=folder, records=records, is_readable=False)
    return IndexState(
        folder=folder,
        records=records,
        indexed=int(facts.get("records", 0)),
        is_whole=bool(facts.get("is_whole")),
        size_bytes=size,
    )


def sheets(client: Any) -> list[Sheet]:
    """Return what each collection of a client is like, by name."""
    names = sorted(collection.name for collection in client.list_collections())
    return [describe(client.get_collection(name, embedding_function=None)) for name in names]


def describe(collection: Any) -> Sheet:
    """Return what a collection is like; metadata keys are those of its first records."""
    sample = Portions(_SEEN).pages(
        lambda most, place: collection.get(limit=most, offset=place, include=["metadatas"])["metadatas"] or []
    )
    keys = Counter(key for metadata in itertools.islice(sample, _SEEN) for key in metadata or {})
    first = collection.get(limit=1, include=["embeddings"])["embeddings"]
    named = (getattr(collection, "configuration", None) or {}).get("embedding_function")
    state = index_state(collection)
    return {
        "collection": collection.name,
        "records": state.records,
        "unindexed": unindexed(collection),
        "dimension": len(first[0]) if first is not None and len(first) else None,
        "metric": CollectionHandle(collection).space,
        "index": str(state),
        "embedder": str(
            (collection.metadata or {}).get(_MODEL) or (type(named).__name__ if named else "") or "not said"
        ),
        "metadata keys": ", ".join(key for key, _ in keys.most_common()),
    }


def unindexed(collection: Any) -> int | None:
    """Return how many changes a collection has not indexed yet, or None where a server does not say.

    A distributed server indexes later and says how much; a single one does not know the question. Chroma in
    this process has nothing to say: whatever was written to a folder is searched at once.
    """
    try:
        return int(collection.get_indexing_status().num_unindexed_ops)
    except NotImplementedError:
        return 0
    except Exception:  # noqa: BLE001 - whatever a store without this answer raises
        return None


def doubts(found: Sequence[Sheet]) -> list[str]:
    """Return what a person should know before searching these collections together, one line a doubt."""
    filled = [sheet for sheet in found if sheet["records"]]
    told = []
    metrics = sorted({str(sheet["metric"]) for sheet in filled})
    if len(metrics) > 1:
        told.append(
            f"The collections have different metrics ({', '.join(metrics)}): relevance is made 0–1 "
            "from each, but cosine everywhere compares best."
        )
    if names := _named(filled, lambda sheet: sheet["unindexed"] is None):
        told.append(
            f"How many changes are not indexed yet cannot be seen ({names}): only a distributed "
            "Chroma server says it. The counts here include them."
        )
    told += [
        f"{sheet['collection']}: {sheet['unindexed']:,} changes are not indexed yet; a search may be "
        "slower, or miss them, until they are."
        for sheet in found
        if sheet["unindexed"]
    ]
    if names := _named(found, lambda sheet: sheet["metric"] == "l2"):
        told.append(f"{names}: metric l2 is Chroma's default, seldom meant for texts.")
    if names := _named(found, lambda sheet: not sheet["records"]):
        told.append(f"{names}: is empty.")
    if names := _named(filled, lambda sheet: sheet["embedder"] == "not said"):
        told.append(
            f"{names}: does not say what embedded it; a query embedded by another model of the same "
            "dimension finds nonsense without an error."
        )
    if len({sheet["dimension"] for sheet in filled}) > 1:
        told.append("The collections have different dimensions: each needs its own embeddings.")
    return told


def _named(found: Sequence[Sheet], is_doubtful: Callable[[Sheet], bool]) -> str:
    return ", ".join(str(sheet["collection"]) for sheet in found if is_doubtful(sheet))
