"""How far the index of a collection is, told without opening it for a question."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.collection_index import FILE
from langchain_context_engine.search.folders import folder_of
from langchain_context_engine.search.segment import DamagedIndexError, facts_of
from langchain_context_engine.search.store_search import choose_search

_MEGABYTE = 2**20


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
        size = self.size_bytes / _MEGABYTE
        return f"index of {self.indexed:,}{share}, {size:,.1f} MB"


def index_state(collection: Any, index_dir: str | Path | None = None) -> IndexState:
    """Return how far the index of a Chroma collection is.

    Args:
        collection: A chromadb Collection, or a `langchain_chroma.Chroma`.
        index_dir: See `EngineConfig.index_dir`.

    Raises:
        SourceError: The collection could not be read.
    """
    handle = CollectionHandle(getattr(collection, "_collection", collection))
    if choose_search(handle, "auto") is not None:
        return IndexState(folder=None, records=handle.count(), is_by_store=True)
    folder, records = folder_of(handle, index_dir), handle.count()
    try:
        size = 0 if folder is None else (folder / FILE).stat().st_size
        facts = {} if folder is None else facts_of(folder / FILE)
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
