"""`context-engine doctor`: what is installed, what would be used, and whether a store fits it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from langchain_context_engine.cli import embedders, output
from langchain_context_engine.cli.failure import DONE, FAILED, CommandFailedError, one_line
from langchain_context_engine.cli.options import EmbeddingsOption, StoreOption
from langchain_context_engine.cli.store import DEFAULT_STORE, Store, collections_of, told_of_unfinished
from langchain_context_engine.errors import ContextEngineError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

EXTRAS = ("cli", "ingest", "local", "openai", "inspector", "agents", "server", "mcp", "code", "documents")

_PACKAGE = "langchain-context-engine"
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
    own = _version_of(_PACKAGE) or "not installed, run from a checkout"
    python = ".".join(map(str, sys.version_info[:3]))
    yield _PACKAGE, f"{own}, Python {python} on {sys.platform}", True
    found = {name: _version_of(name) for name in _REQUIRED}
    told = ", ".join(f"{name} {number or 'missing'}" for name, number in found.items())
    yield "libraries", told, None not in found.values()
    for extra in EXTRAS:
        yield f"extra {extra}", _told_of_extra(extra), True


def _told_of_extra(extra: str) -> str:
    """Tell which versions there are of what an extra holds; one that is not here is no fault."""
    stated = packages_of(extra)
    if not stated:
        return "not known to what is installed here: install this version anew"
    numbers = {package.name: _version_of(package.name) for package in stated}
    told = ", ".join(f"{name} {number}" for name, number in numbers.items() if number)
    lacking = [
        f"{package.name} {number or 'missing'}, {package.specifier or 'any'} is needed"
        for package in stated
        if (number := numbers[package.name]) is None
        or not package.specifier.contains(number, prereleases=True)
    ]
    if not lacking:
        return told
    state = f"not whole ({'; '.join(lacking)})" if told else "not installed"
    return f'{state}: pip install "{_PACKAGE}[{extra}]"'


def packages_of(extra: str) -> list[Requirement]:
    """Return what an extra holds on this machine, as the package itself says; nothing where it is unknown."""
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    try:
        stated = map(Requirement, requires(_PACKAGE) or [])
    except PackageNotFoundError:
        return []
    return [
        package
        for package in stated
        if package.marker is not None
        and package.marker.evaluate({"extra": extra})
        and not package.marker.evaluate({"extra": ""})
    ]


def _version_of(name: str) -> str | None:
    """Return the version of a distribution, or None where there is none or only half of its papers."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except (PackageNotFoundError, KeyError):
        return None


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
        collections = collections_of(store.open())
    except CommandFailedError as error:
        yield "store", str(error), False
        return
    yield "store", f"{store.chroma_path}, {output.counted(len(collections), 'collection')}", True
    for path in store.unfinished:
        yield "unfinished", told_of_unfinished(path), False
    for collection in collections:
        yield from _collection(collection, embeddings)
    yield _sharing(store.chroma_path)
    if store.journal_path.is_file():
        yield _journal(store.journal_path)


def _collection(collection: Any, embeddings: str) -> Iterator[Finding]:
    from langchain_context_engine.search.stores import index_state

    name, count = f"collection {collection.name}", collection.count()
    if not count:
        yield name, "empty", True
        return
    known = embedders.remembered(collection)
    model = known.model or "an unnamed model"
    told = f"{output.counted(count, 'record')}, {known.dimension} dimensions by {model}"
    try:
        fits = f"{told}: fits {getattr(embedders.embedder_for(collection, embeddings), 'model', '')}"
        yield name, fits, True
    except CommandFailedError as error:
        yield name, f"{told}: {error}", False
    # What is not there yet, or is made anew by the next question, is no fault.
    yield f"index of {collection.name}", str(index_state(collection)), True


def _journal(path: Path) -> Finding:
    """Tell how many answers are recorded, and what could not be."""
    from langchain_context_engine.journal import Journal

    try:
        with Journal(path, read_only=True) as journal:
            lost = journal.lost()
            missing = f"; {lost:,} could not be kept" if lost else ""
            return "journal", f"{path}, {output.counted(journal.count(), 'answer')}{missing}", True
    except ContextEngineError as error:
        return "journal", str(error), False


def _sharing(chroma_path: Path) -> Finding:
    """Tell who else has the store open: one path shared by processes gives stale answers."""
    server = f"chroma run --path {chroma_path}"
    if others := _processes_with(chroma_path):
        told = (
            f"also open in process {', '.join(map(str, others))}: after it writes, searches from here are"
            f" stale until the store is opened anew; share it by a server instead: {server}"
        )
        return "sharing", told, False
    return (
        "sharing",
        f"one process at a time may have a Chroma folder open; several share it by: {server}",
        True,
    )


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
