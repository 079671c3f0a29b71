"""From a folder, a repository or JSON Lines to Chroma collections, again and again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_context_engine.ingest import git
from langchain_context_engine.ingest.files import is_wanted, list_folder
from langchain_context_engine.ingest.json_lines import JsonLines
from langchain_context_engine.ingest.mirror import FolderMirror, sync_commits
from langchain_context_engine.ingest.report import IndexReport, OnProgress
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.ingest.writer import CollectionWriter, check_collection_name
from langchain_context_engine.values.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from langchain_core.embeddings import Embeddings

_KINDS = ("code", "commits", "docs")
_MAX_FILE_BYTES = 1_000_000


def index_repository(
    path: str | Path,
    client: ClientAPI,
    embeddings: Embeddings,
    *,
    prefix: str = "",
    collections: Iterable[str] = _KINDS,
    max_commits: int | None = 5000,
    metadata: Mapping[str, Any] | None = None,
    splitter: Splitter | None = None,
    max_file_bytes: int = _MAX_FILE_BYTES,
    on_progress: OnProgress | None = None,
) -> IndexReport:
    """Bring the collections of a git repository up to date and report what was done.

    `code` holds functions, methods, classes and what is left of modules; `docs` the sections of
    documents, settings, tables, notebooks and mail; `commits` the last commits that lead to HEAD. A
    run gives what a first run over the same files would give, and writes only the difference; one that
    was killed is completed by the next. A folder that is no repository works too, without commits.

    Args:
        path: The repository, or a folder within: then only what is below it.
        client: Any Chroma client.
        embeddings: What embeds new texts.
        prefix: Goes before the collections' names.
        collections: Which of code, commits and docs.
        max_commits: How many commits the collection holds at most; None is all.
        metadata: More for every record, for example `{"workspace_id": "acme"}`.
        splitter: How long units and sections are cut; by default at 1,600 characters.
        max_file_bytes: Larger files are skipped as huge.
        on_progress: Called with (done, total, "files" or "commits").

    Returns:
        Counts for each collection, by its full name.

    Raises:
        ConfigError: No such folder, a name or a number is not valid, or a collection was made with
            another embedding model or from another folder.
        EmbeddingError: A vector is unusable.

    Example:
        >>> import chromadb
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> report = index_repository(
        ...     ".", chromadb.EphemeralClient(), DeterministicFakeEmbedding(size=8),
        ...     prefix="example-", collections=["docs"],
        ... )
        >>> report["example-docs"].deleted
        0
    """
    started = time.perf_counter()
    root = _folder(path)
    kinds = _chosen(collections)
    _check_number("max_commits", max_commits, may_be_none=True)
    _check_number("max_file_bytes", max_file_bytes)
    for kind in kinds:
        check_collection_name(f"{prefix}{kind}")
    is_repository = git.is_repository(root)
    warnings: tuple[str, ...] = ()
    if "commits" in kinds and not is_repository:
        kinds.remove("commits")
        warnings = (f"{root} is no git repository, or git is not installed: there are no commits",)
    writers = {
        kind: CollectionWriter(client, f"{prefix}{kind}", embeddings, root=str(root)) for kind in kinds
    }
    progress = on_progress or _silent
    splitter = splitter or Splitter()
    paths = [p for p in (git.list_files(root) if is_repository else list_folder(root)) if is_wanted(p)]
    mirror = FolderMirror(
        root=root,
        writers={kind: writers[kind] for kind in kinds if kind != "commits"},
        splitter=splitter,
        metadata=metadata or {},
        max_file_bytes=max_file_bytes,
    )
    skipped: Mapping[str, int] = {}
    if mirror.writers:
        changed_at = git.last_changes(root, paths) if is_repository else {}
        skipped, more = mirror.sync(paths, changed_at, progress)
        warnings += more
    if "commits" in kinds:
        sync_commits(
            root,
            writers["commits"],
            max_commits=max_commits,
            splitter=splitter,
            metadata=metadata or {},
            on_progress=progress,
        )
    return IndexReport(
        collections={writer.name: writer.report for writer in writers.values()},
        skipped=dict(skipped),
        warnings=warnings,
        seconds=time.perf_counter() - started,
    )


def index_folder(
    path: str | Path,
    client: ClientAPI,
    embeddings: Embeddings,
    *,
    prefix: str = "",
    collections: Iterable[str] = ("code", "docs"),
    metadata: Mapping[str, Any] | None = None,
    splitter: Splitter | None = None,
    max_file_bytes: int = _MAX_FILE_BYTES,
    on_progress: OnProgress | None = None,
) -> IndexReport:
    """Bring the collections `code` and `docs` of a folder up to date: see `index_repository`."""
    return index_repository(
        path,
        client,
        embeddings,
        prefix=prefix,
        collections=collections,
        metadata=metadata,
        splitter=splitter,
        max_file_bytes=max_file_bytes,
        on_progress=on_progress,
    )


def index_jsonl(
    path: str | Path,
    collection_name: str,
    client: ClientAPI,
    embeddings: Embeddings,
    mapping: Mapping[str, str] | None = None,
    *,
    metadata: Mapping[str, Any] | None = None,
    delete_missing: bool = False,
    on_progress: OnProgress | None = None,
) -> IndexReport:
    """Bring a collection up to date with a JSON Lines file and report what was done.

    Args:
        path: The file: one object a line.
        collection_name: The collection.
        client: Any Chroma client.
        embeddings: What embeds new texts.
        mapping: Target (`text`, `id`, a metadata name) → field of the object, dots for nested ones;
            fields that are not named keep their own names.
        metadata: More for every record, for example `{"kind": "memory"}`.
        delete_missing: Delete what the collection holds and the file does not.
        on_progress: Called with (done, total, the collection's name).

    Returns:
        Counts for the collection; lines that are no object with a text, or have none, are skipped, as
        are earlier lines with an id that comes again.

    Raises:
        ConfigError: No such file, no line with a text, a bad name, or another embedding model.
        EmbeddingError: A vector is unusable.
    """
    started = time.perf_counter()
    lines = JsonLines(path=Path(path), mapping=mapping or {}, metadata=metadata or {})
    check_collection_name(collection_name)
    survey = lines.survey()
    last_lines, skipped = survey.last_lines, survey.counts
    writer = CollectionWriter(client, collection_name, embeddings)
    progress = on_progress or _silent
    for done, record in enumerate(lines.records(last_lines), 1):
        writer.put([record])
        progress(done, len(last_lines), collection_name)
    if delete_missing:
        writer.delete([record_id for record_id, _ in writer.stored_metadata() if record_id not in last_lines])
    writer.flush()
    return IndexReport(
        collections={writer.name: writer.report},
        skipped=dict(skipped),
        seconds=time.perf_counter() - started,
    )


def _folder(path: str | Path) -> Path:
    root = Path(path).expanduser().resolve()
    if not root.is_dir():
        raise ConfigError(f"no folder {root}")
    return root


def _chosen(collections: Iterable[str]) -> list[str]:
    names = [collections] if isinstance(collections, str) else list(dict.fromkeys(collections))
    for name in names:
        if name not in _KINDS:
            raise UnknownNameError("collection", name, _KINDS)
    return names


def _check_number(name: str, value: object, *, may_be_none: bool = False) -> None:
    if value is None and may_be_none:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ConfigError(f"{name} must be a whole number of 0 or more, got {value!r}")


def _silent(_done: int, _total: int, _label: str) -> None:
    """Show no progress."""
