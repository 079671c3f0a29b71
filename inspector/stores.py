"""What Chroma collections are like, and what is doubtful about them. Pure but for reading the store."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit

from langchain_context_engine import ConfigError, Context
from langchain_context_engine.searching.collection import CollectionHandle

__all__ = [
    "Sheet",
    "chroma_folder",
    "describe",
    "doubts",
    "is_server",
    "offered_table",
    "open_client",
    "read_scope",
    "sheets",
]

Sheet = Mapping[str, Any]
"""What a collection is like: a row of the table."""

DEADLINE_SECONDS = 10.0
"""How long a server may take to answer."""

_FILE = "chroma.sqlite3"
_LARGEST_COPY = 4_000_000_000
_MODEL = "embedding_model"
_SEEN = 200


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
    if is_server(where):
        return _within_deadline(lambda: _server(where), where)
    folder = chroma_folder(where)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > _LARGEST_COPY:
        raise ConfigError(
            f"{where} has {size:,} bytes, more than the {_LARGEST_COPY:,} that are copied so that nothing "
            "writes to it; run a Chroma server there and give its address"
        )
    import chromadb

    copy = Path(tempfile.mkdtemp(prefix="context-inspector-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    try:
        shutil.copytree(folder, copy / "chroma")
        return chromadb.PersistentClient(path=str(copy / "chroma"))
    except (OSError, shutil.Error) as error:
        raise ConfigError(f"{where} cannot be copied: {error}") from error


def _server(where: str) -> Any:
    import chromadb

    parts = urlsplit(where)
    return chromadb.HttpClient(
        host=parts.hostname or "localhost", port=parts.port or 8000, ssl=parts.scheme == "https"
    )


def _within_deadline(connect: Callable[[], Any], where: str) -> Any:
    """Return what connecting gives; a server that says nothing is left behind after the deadline."""
    answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def run() -> None:
        try:
            answers.put((connect(), None))
        except BaseException as error:  # noqa: BLE001 - whatever Chroma raises, in a thread of its own
            answers.put((None, error))

    threading.Thread(target=run, daemon=True, name="open-store").start()
    try:
        client, error = answers.get(timeout=DEADLINE_SECONDS)
    except Empty:
        raise ConfigError(f"{where} did not answer within {DEADLINE_SECONDS:g} seconds") from None
    if error is not None:
        raise ConfigError(f"no Chroma server answers at {where}") from error
    return client


def sheets(client: Any) -> list[Sheet]:
    """Return what each collection of a client is like, by name."""
    names = sorted(collection.name for collection in client.list_collections())
    return [describe(client.get_collection(name, embedding_function=None)) for name in names]


def describe(collection: Any) -> Sheet:
    """Return what a collection is like; metadata keys are those of its first records."""
    handle = CollectionHandle(collection)
    sample = collection.get(limit=_SEEN, include=["metadatas"])["metadatas"] or []
    keys = Counter(key for metadata in sample for key in metadata or {})
    first = collection.get(limit=1, include=["embeddings"])["embeddings"]
    own = collection.metadata or {}
    named = (getattr(collection, "configuration", None) or {}).get("embedding_function")
    return {
        "collection": collection.name,
        "records": handle.count(),
        "unindexed": unindexed(collection),
        "dimension": len(first[0]) if first is not None and len(first) else None,
        "metric": handle.space,
        "embedder": str(own.get(_MODEL) or (type(named).__name__ if named else "") or "not said"),
        "metadata keys": ", ".join(key for key, _ in keys.most_common()),
    }


def unindexed(collection: Any) -> int | None:
    """Return how many changes a collection has not indexed yet, or None where Chroma does not say.

    Only a distributed server says it; local Chroma and a single server do not.
    """
    try:
        return int(collection.get_indexing_status().num_unindexed_ops)
    except Exception:  # noqa: BLE001 - whatever a store without this answer raises
        return None


def doubts(found: Sequence[Sheet]) -> list[str]:
    """Return what a person should know before searching these collections together."""
    told = []
    metrics = {str(sheet["metric"]) for sheet in found if sheet["records"]}
    if len(metrics) > 1:
        told.append(
            f"The collections have different metrics ({', '.join(sorted(metrics))}): relevance is made 0–1 "
            "from each, but cosine everywhere compares best."
        )
    untold = [str(sheet["collection"]) for sheet in found if sheet["records"] and sheet["unindexed"] is None]
    if untold:
        told.append(
            f"How many changes are not indexed yet cannot be seen ({', '.join(untold)}): only a distributed "
            "Chroma server says it. The counts here include them."
        )
    for sheet in found:
        if sheet["unindexed"]:
            told.append(
                f"{sheet['collection']}: {sheet['unindexed']:,} changes are not indexed yet; a search may be "
                "slower, or miss them, until they are."
            )
        if sheet["metric"] == "l2":
            told.append(f"{sheet['collection']}: metric l2 is Chroma's default, seldom meant for texts.")
        if not sheet["records"]:
            told.append(f"{sheet['collection']} is empty.")
        if sheet["embedder"] == "not said" and sheet["records"]:
            told.append(
                f"{sheet['collection']} does not say what embedded it: a query embedded by another model of "
                "the same dimension finds nonsense without an error."
            )
    embedders = {(sheet["embedder"], sheet["dimension"]) for sheet in found if sheet["records"]}
    if len({dimension for _, dimension in embedders}) > 1:
        told.append("The collections have different dimensions: each needs its own embeddings.")
    return told


def read_scope(text: str) -> dict[str, Any]:
    """Return the scope that a line tells: key=value, by commas; numbers, true and false are read as such.

    Raises:
        ConfigError: A part of it is not key=value.

    Example:
        >>> read_scope('workspace_id=acme, team=7, code="7"')
        {'workspace_id': 'acme', 'team': 7, 'code': '7'}
    """
    scope = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not key:
            raise ConfigError(f"a scope is key=value by commas, got {part!r}")
        scope[key] = _value(value)
    return scope


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (str, int, float)) else text


def offered_table(contexts: Iterable[Context]) -> list[dict[str, Any]]:
    """Return what the sources of some traces offered: one row a source, known without any store."""
    rows: dict[str, dict[str, Any]] = {}
    for context in contexts:
        for candidate in context.candidates:
            row = rows.setdefault(
                candidate.source,
                {
                    "source": candidate.source,
                    "candidates": 0,
                    "kinds": Counter(),
                    "dated": 0,
                    "keys": Counter(),
                },
            )
            row["candidates"] += 1
            row["kinds"][candidate.kind or "–"] += 1
            row["dated"] += candidate.created_at is not None
            row["keys"].update(candidate.metadata.keys())
    return [
        {
            "source": source,
            "candidates": row["candidates"],
            "kinds": ", ".join(kind for kind, _ in row["kinds"].most_common()),
            "dated": row["dated"] / row["candidates"],
            "metadata keys": ", ".join(str(key) for key, _ in row["keys"].most_common()),
        }
        for source, row in sorted(rows.items())
    ]
