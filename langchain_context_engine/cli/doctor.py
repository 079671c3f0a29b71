"""`context-engine doctor`: what is installed, what would be used, and whether a store fits it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from langchain_context_engine.cli import embedders, output
from langchain_context_engine.cli.extras import EXTRAS, told_of_extra, version_of
from langchain_context_engine.cli.failure import DONE, FAILED, CommandFailedError, one_line
from langchain_context_engine.cli.options import DEFAULT_STORE, EmbeddingsOption, StoreOption
from langchain_context_engine.cli.store import Store
from langchain_context_engine.models.errors import ContextEngineError

_REQUIRED = ("langchain-core", "chromadb", "tiktoken")

Finding = tuple[str, str, bool]
"""What was looked at, what was found, whether it is well."""


def doctor(*, store: StoreOption = DEFAULT_STORE, embeddings: EmbeddingsOption = embedders.AUTO) -> None:
    """Say what is installed, which tokenizer and embedder would be used, and whether the store fits.

    Ends with exit code 1 where something that would be used does not work.
    """
    findings = [*_installed(), _tokenizer(), _embedder(embeddings), *_store(Store(store), embeddings)]
    output.write_lines((f"{'✓' if is_well else '✗'} {name}", found) for name, found, is_well in findings)
    raise typer.Exit(DONE if all(is_well for _, _, is_well in findings) else FAILED)


def _installed() -> Iterator[Finding]:
    own = version_of("langchain-context-engine") or "not installed, run from a checkout"
    python = ".".join(map(str, sys.version_info[:3]))
    yield "langchain-context-engine", f"{own}, Python {python} on {sys.platform}", True
    found = {name: version_of(name) for name in _REQUIRED}
    missing = [name for name, number in found.items() if number is None]
    told = ", ".join(f"{name} {number or 'missing'}" for name, number in found.items())
    yield "libraries", told, not missing
    for extra in EXTRAS:
        yield f"extra {extra}", *told_of_extra(extra)


def _tokenizer() -> Finding:
    from langchain_context_engine.text.tokens import resolve_tokenizer

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counter = resolve_tokenizer("auto")
    backend = type(counter.backend).__name__.lower()
    told = f"{counter.name} by {backend}, {'estimated, never too low' if counter.is_estimated else 'exact'}"
    return "tokenizer", "; ".join([told, *(one_line(str(w.message)) for w in caught)]), True


def _embedder(name: str) -> Finding:
    try:
        found = embedders.embedder(name)
    except CommandFailedError as error:
        return "embedder", str(error), False
    place = "on this machine" if getattr(found, "is_in_process", False) else "by OpenAI's API"
    return "embedder", f"{embedders.describe(found)}, {place}", True


def _store(store: Store, embeddings: str) -> Iterator[Finding]:
    if not store.exists:
        yield "store", f"none in {store.folder}; make one with: context-engine index PATH", True
        return
    try:
        client = store.open()
        collections = sorted(client.list_collections(), key=lambda collection: str(collection.name))
    except CommandFailedError as error:
        yield "store", str(error), False
        return
    yield "store", f"{store.chroma_path}, {len(collections)} collections", True
    for collection in collections:
        opened = client.get_collection(collection.name, embedding_function=None)
        yield _collection(opened, embeddings)
        yield f"index of {collection.name}", *_index(opened)
    yield _sharing(store.chroma_path)
    if store.journal_path.is_file():
        yield _journal(store.journal_path)


def _journal(path: Path) -> Finding:
    """Tell how many answers are recorded, and what could not be."""
    from langchain_context_engine.journal import Journal

    try:
        with Journal(path, read_only=True) as journal:
            return "journal", f"{path}, {journal.count():,} answers; {journal.losses()}", True
    except ContextEngineError as error:
        return "journal", str(error), False


def _collection(collection: Any, embeddings: str) -> Finding:
    name, count = f"collection {collection.name}", collection.count()
    if not count:
        return name, "empty", True
    known = embedders.remembered(collection)
    told = f"{count} records, {known.dimension} dimensions by {known.model or 'an unnamed model'}"
    try:
        found = embedders.embedder_for(collection, embeddings)
    except CommandFailedError as error:
        return name, f"{told}: {error}", False
    return name, f"{told}: fits {getattr(found, 'model', '')}", True


def _index(collection: Any) -> tuple[str, bool]:
    from langchain_context_engine.search.state import index_state

    state = index_state(collection)
    # What is not there yet, or is made anew by the next question, is no fault.
    return (f"{state}" if state.records else "empty"), True


def _sharing(chroma_path: Path) -> Finding:
    """Tell who else has the store open: one path shared by processes gives stale answers."""
    others = _processes_with(chroma_path)
    if others:
        told = (
            f"also open in process {', '.join(map(str, others))}: after it writes, searches from here are"
            " stale until the store is opened anew; share it by a server instead: chroma run --path"
            f" {chroma_path}"
        )
        return "sharing", told, False
    told = "one process at a time may have a Chroma folder open; several share it by: chroma run --path "
    return "sharing", f"{told}{chroma_path}", True


def _processes_with(folder: Path) -> list[int]:
    """Return the other processes that have a file of a folder open; none where /proc does not tell."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            opened = [handle.readlink() for handle in (process / "fd").iterdir()]
        except OSError:
            continue
        if int(process.name) != os.getpid() and any(folder.resolve() in path.parents for path in opened):
            found.append(int(process.name))
    return sorted(found)
