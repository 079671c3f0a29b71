"""`context-engine doctor`: what is installed, what would be used, and whether a store fits it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from langchain_context_engine.cli import embedders, output
from langchain_context_engine.cli.options import EmbeddingsOption, StoreOption
from langchain_context_engine.cli.process import DONE, EXTRA_OF, FAILED, one_line
from langchain_context_engine.cli.store import DEFAULT_STORE, Store, collections_of, told_of_unfinished
from langchain_context_engine.errors import ContextEngineError

_PACKAGE = "langchain-context-engine"

Finding = tuple[str, str, bool]
"""What was looked at, what was found, whether it is well."""


def doctor(*, store: StoreOption = DEFAULT_STORE, embeddings: EmbeddingsOption = embedders.AUTO) -> None:
    """Say what is installed, which tokenizer and embedder would be used, and whether the store fits.

    Ends with exit code 1 where something that would be used does not work.
    """
    findings = [*_installed(), _tokenizer(), _embedder(embeddings), *_store(Store(store), embeddings)]
    for name, found, is_well in findings:
        output.write_text(output.without_controls(f"{'✓' if is_well else '✗'} {name}: {found}"))
    raise typer.Exit(DONE if all(is_well for _, _, is_well in findings) else FAILED)


def _installed() -> Iterator[Finding]:
    python = f"Python {sys.version.split()[0]} on {sys.platform}"
    for name in (_PACKAGE, "langchain-core", "chromadb"):
        yield name, f"{version(name)}, {python}" if name == _PACKAGE else version(name), True
    for extra in dict.fromkeys(EXTRA_OF.values()):
        # One that is not here is no fault.
        held = [module for module, holder in EXTRA_OF.items() if holder == extra]
        lacking = [module for module in held if find_spec(module) is None]
        told = f'without {", ".join(lacking)}: pip install "{_PACKAGE}[{extra}]"' if lacking else "installed"
        yield f"extra {extra}", told, True


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
    except ContextEngineError as error:
        return "embedder", str(error), False
    place = "on this machine" if getattr(found, "is_in_process", False) else "by OpenAI's API"
    return "embedder", f"{embedders.describe(found)}, {place}", True


def _store(store: Store, embeddings: str) -> Iterator[Finding]:
    if not store.exists:
        yield "store", f"none in {store.folder}; make one with: context-engine index PATH", True
        return
    try:
        collections = collections_of(store.open())
    except ContextEngineError as error:
        yield "store", str(error), False
        return
    yield "store", f"{store.chroma_path}, {output.counted(len(collections), 'collection')}", True
    for path in store.unfinished:
        yield "unfinished", told_of_unfinished(path), False
    for collection in collections:
        yield from _collection(collection, embeddings)
    yield _sharing(store.chroma_path)


def _collection(collection: Any, embeddings: str) -> Iterator[Finding]:
    from langchain_context_engine.search.store_overview import index_state

    name, count = f"collection {collection.name}", collection.count()
    if not count:
        yield name, "empty", True
        return
    known = embedders.remembered(collection)
    model = known.model or "an unnamed model"
    told = f"{output.counted(count, 'record')}, {known.dimension} dimensions by {model}"
    try:
        found = embedders.embedder_for(collection, embeddings)
        yield name, f"{told}: fits {getattr(found, 'model', '')}", True
    except ContextEngineError as error:
        yield name, f"{told}: {error}", False
    # What is not there yet, or is made anew by the next question, is no fault.
    yield f"index of {collection.name}", str(index_state(collection)), True


def _sharing(folder: Path) -> Finding:
    """Tell which other processes have the store open: one path shared gives stale answers.

    Where /proc does not tell, none is known.
    """
    others, server = [], f"chroma run --path {folder}"
    for process in Path("/proc").glob("[0-9]*"):
        try:
            opened = [handle.readlink() for handle in (process / "fd").iterdir()]
        except OSError:
            continue
        if process.name != str(os.getpid()) and any(folder.resolve() in path.parents for path in opened):
            others.append(process.name)
    if not others:
        return "sharing", f"one process at a time may have it open; several share it by: {server}", True
    told = (
        f"also open in process {', '.join(others)}: after it writes, searches from here are stale until the"
        f" store is opened anew; share it by a server instead: {server}"
    )
    return "sharing", told, False
