"""From a folder or a repository to Chroma collections, again and again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_context_engine.ingest.folder_run import FolderRun
from langchain_context_engine.ingest.git_history import History
from langchain_context_engine.ingest.git_repository import open_git
from langchain_context_engine.ingest.origin import choose_prefix, origin_of, require_free
from langchain_context_engine.ingest.report import IndexReport, OnProgress, silent
from langchain_context_engine.ingest.selection import Selection
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.ingest.writer import CollectionWriter, check_collection_name
from langchain_context_engine.models.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from langchain_core.embeddings import Embeddings

_KINDS = ("code", "commits", "docs")
MAX_FILE_BYTES = 1_000_000


def index_repository(
    path: str | Path,
    client: ClientAPI,
    embeddings: Embeddings,
    *,
    prefix: str | None = None,
    collections: Iterable[str] = _KINDS,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    max_commits: int | None = 5000,
    metadata: Mapping[str, Any] | None = None,
    splitter: Splitter | None = None,
    max_file_bytes: int = MAX_FILE_BYTES,
    is_dry: bool = False,
    on_progress: OnProgress | None = None,
) -> IndexReport:
    """Bring the collections of a git repository up to date and report what was done.

    `code` holds functions, methods, classes and what is left of modules; `docs` the sections of
    documents; `commits` the last commits that lead to HEAD. A run gives what a first run over the
    same files would give, and writes only the difference; one that was killed is completed by the
    next. A folder that is no repository works too, without commits; so does a bare repository, whose
    files are those of its last commit. Nothing of the repository is run, and git need not be installed.

    Args:
        path: The repository, or a folder within: then only what is below it.
        client: Any Chroma client.
        embeddings: What embeds new texts.
        prefix: Goes before the collections' names. None is what an earlier run over this folder used, else
            nothing, else, where the store holds another folder already, the folder's name; a warning says so.
        collections: Which of code, commits and docs.
        include: Patterns as in `.gitignore` of the files that are wanted; without any, all are.
        exclude: Patterns of files that are left out.
        max_commits: How many commits the collection holds at most; None is all. A warning says when there
            are more.
        metadata: More for every record, for example `{"workspace_id": "acme"}`.
        splitter: How long units and sections are cut; by default at 1,600 characters.
        max_file_bytes: Larger files are skipped as huge; notebooks, PDF, DOCX and XLSX, of which little is
            text, from ten times that.
        is_dry: Report what would be done, and embed and write nothing.
        on_progress: Called with (done, total, "dates", "files" or "commits").

    Returns:
        Counts for each collection, by its full name, and what was left out.

    Raises:
        ConfigError: No such folder, a name, a pattern or a number is not valid, or a collection was made
            with another embedding model or, where a prefix is given, from another folder.
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
    wanted = Selection(include, exclude)
    git, reason = open_git(root)
    warnings: list[str] = []
    if git is None and ("commits" in kinds or reason):
        kinds = [kind for kind in kinds if kind != "commits"]
        warnings.append(
            f"{root} is read as a folder, without commits: {reason or 'it is in no git repository'}"
        )
    origin = origin_of(root, client)
    for kind in kinds:
        check_collection_name(f"{prefix or ''}{kind}")
    if prefix is None:
        prefix, told = choose_prefix(client, origin, kinds)
        warnings += told
    require_free(client, origin, prefix, kinds)
    run = FolderRun(
        root=root,
        history=None if git is None else History(git),
        writers={
            kind: CollectionWriter(
                client, f"{prefix}{kind}", embeddings, remembers=origin.remembered, is_dry=is_dry
            )
            for kind in kinds
        },
        wanted=wanted,
        splitter=splitter or Splitter(),
        metadata=metadata or {},
        max_file_bytes=max_file_bytes,
        max_commits=max_commits,
        on_progress=on_progress or silent,
        warnings=warnings,
    )
    try:
        run.do()
    finally:
        if git is not None:
            git.repository.free()  # it holds itself and the objects that it read until somebody collects it
    return IndexReport(
        collections={writer.name: writer.report for writer in run.writers.values()},
        skipped=dict(Counter(entry.reason for entry in run.skipped)),
        left_out=tuple(run.skipped),
        warnings=tuple(run.warnings),
        seconds=time.perf_counter() - started,
    )


def index_folder(
    path: str | Path,
    client: ClientAPI,
    embeddings: Embeddings,
    *,
    prefix: str | None = None,
    collections: Iterable[str] = ("code", "docs"),
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    metadata: Mapping[str, Any] | None = None,
    splitter: Splitter | None = None,
    max_file_bytes: int = MAX_FILE_BYTES,
    is_dry: bool = False,
    on_progress: OnProgress | None = None,
) -> IndexReport:
    """Bring the collections `code` and `docs` of a folder up to date: see `index_repository`."""
    return index_repository(
        path,
        client,
        embeddings,
        prefix=prefix,
        collections=collections,
        include=include,
        exclude=exclude,
        metadata=metadata,
        splitter=splitter,
        max_file_bytes=max_file_bytes,
        is_dry=is_dry,
        on_progress=on_progress,
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
