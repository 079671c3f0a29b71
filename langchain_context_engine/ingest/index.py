"""From a repository, a folder, a file or JSON Lines to Chroma collections, again and again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_context_engine.errors import ConfigError, UnknownNameError
from langchain_context_engine.ingest.files import (
    FolderFiles,
    display_path,
    list_folder,
    selection,
)
from langchain_context_engine.ingest.git_files import HeadFiles, file_dates, list_files
from langchain_context_engine.ingest.git_history import History
from langchain_context_engine.ingest.git_repository import open_git, small_cache
from langchain_context_engine.ingest.json_lines import JsonLines
from langchain_context_engine.ingest.mirror import FolderMirror, missing_grammars, sync_commits
from langchain_context_engine.ingest.origin import KINDS, origin_of
from langchain_context_engine.ingest.report import IndexReport, OnProgress, Skipped
from langchain_context_engine.ingest.split import Splitter, check_number
from langchain_context_engine.ingest.writer import CollectionWriter, check_collection_name

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from langchain_core.embeddings import Embeddings

MAX_FILE_BYTES = 1_000_000


@small_cache()
def index_repository(
    path: str | Path,
    client: ClientAPI,
    embeddings: Embeddings,
    *,
    prefix: str | None = None,
    collections: Iterable[str] = KINDS,
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
        max_file_bytes: Larger files are skipped as huge; notebooks, PDF, and office's files, of which little
            is text, from ten times that.
        is_dry: Report what would be done, and embed and write nothing.
        on_progress: Called with (done, total, "dates", "files" or "commits").

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
    root = Path(path).expanduser().resolve()
    if not root.is_dir():
        raise ConfigError(f"no folder {root}")
    kinds = _chosen(collections)
    if max_commits is not None:
        check_number("max_commits", max_commits, 0)
    check_number("max_file_bytes", max_file_bytes, 0)
    wanted = selection(include, exclude)
    git, reason = open_git(root)
    warnings: list[str] = []
    if git is None and ("commits" in kinds or reason):
        kinds = [kind for kind in kinds if kind != "commits"]
        reason = reason or "it is in no git repository"
        warnings.append(f"{root} is read as a folder, without commits: {reason}")
    origin = origin_of(root, client)
    for kind in kinds:
        check_collection_name(f"{prefix or ''}{kind}")
    if prefix is None:
        prefix, told = origin.choose_prefix(kinds)
        warnings += told
    origin.require_free(*(f"{prefix}{kind}" for kind in kinds))
    names = {kind: f"{prefix}{kind}" for kind in kinds}
    writers = {
        kind: CollectionWriter(client, name, embeddings, remembers=origin.remembered, is_dry=is_dry)
        for kind, name in names.items()
    }
    history = None if git is None else History(git)
    splitter, metadata, progress = splitter or Splitter(), metadata or {}, on_progress or _silent
    skipped: list[Skipped] = []
    of_files = {kind: writer for kind, writer in writers.items() if kind != "commits"}
    if of_files:
        listing = list_files(git) if git else list_folder(root)
        if listing.absent:
            warnings.append(
                f"{listing.absent} tracked files are not in the working tree (deleted, not checked out, or a"
                " sparse checkout): they are not read"
            )
        paths = [path for path in listing.paths if wanted(display_path(path))]
        mirror = FolderMirror(
            files=HeadFiles(git) if git and git.is_bare else FolderFiles(root),
            writers=of_files,
            date_of=file_dates(history, paths, progress),
            splitter=splitter,
            metadata=metadata,
            max_file_bytes=max_file_bytes,
        )
        skipped += [entry for entry in listing.skipped if wanted(entry.where)]
        skipped += mirror.sync(paths, progress)
        warnings += missing_grammars(paths) if "code" in of_files else ()
    if history is not None and "commits" in writers:
        missing, told = sync_commits(
            history,
            writers["commits"],
            max_commits=max_commits,
            splitter=splitter,
            metadata=metadata,
            on_progress=progress,
        )
        skipped += missing
        warnings += told
    warnings += history.lacks() if history else ()
    return _report(writers.values(), skipped, started, warnings=warnings)


def index_folder(path: str | Path, client: ClientAPI, embeddings: Embeddings, **options: Any) -> IndexReport:
    """Bring the collections `code` and `docs` of a folder up to date.

    Args:
        path: The folder.
        client: Any Chroma client.
        embeddings: What embeds new texts.
        options: As `index_repository` takes them.
    """
    return index_repository(path, client, embeddings, **{"collections": ("code", "docs"), **options})


def index_file(
    path: str | Path,
    client: ClientAPI,
    embeddings: Embeddings,
    *,
    name: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    splitter: Splitter | None = None,
    max_file_bytes: int = MAX_FILE_BYTES,
    is_dry: bool = False,
    on_progress: OnProgress | None = None,
) -> IndexReport:
    """Bring a collection up to date with one file of any kind that a folder's would be read.

    Args:
        path: The file.
        client: Any Chroma client.
        embeddings: What embeds new texts.
        name: The collection; None is that of an earlier run over this file, else the file's name.
        metadata: As the other options for `index_repository`.
        splitter: The same.
        max_file_bytes: The same.
        is_dry: The same.
        on_progress: The same.

    Raises:
        ConfigError: No such file, it is of a kind that is not read, or left out as a whole (the message says
            why), a bad name, or another embedding model.
        EmbeddingError: A vector is unusable.
    """
    started = time.perf_counter()
    given = Path(path).expanduser().absolute()
    file = given.parent.resolve() / given.name
    if not file.is_file():
        raise ConfigError(f"no file {given}")
    git, _ = open_git(file.parent)
    origin = origin_of(file, client)
    collection = check_collection_name(name or origin.choose_name())
    origin.require_free(collection)
    writer = CollectionWriter(client, collection, embeddings, remembers=origin.remembered, is_dry=is_dry)
    mirror = FolderMirror(
        files=FolderFiles(file.parent),
        writers={"code": writer, "docs": writer},
        date_of=file_dates(History(git) if git else None, [file.name], _silent),
        splitter=splitter or Splitter(),
        metadata=metadata or {},
        max_file_bytes=max_file_bytes,
    )
    skipped = mirror.sync([file.name], on_progress or _silent)
    whole = next((entry for entry in skipped if entry.where == file.name), None)
    if whole is not None and not (writer.report.written or writer.report.unchanged):
        detail = f" ({whole.detail})" if whole.detail else ""
        raise ConfigError(f"{given} is left out: {whole.reason}{detail}")
    writer.flush()
    return _report([writer], skipped, started, warnings=missing_grammars([file.name]))


def index_jsonl(
    path: str | Path,
    collection_name: str | None,
    client: ClientAPI,
    embeddings: Embeddings,
    mapping: Mapping[str, str] | None = None,
    *,
    metadata: Mapping[str, Any] | None = None,
    delete_missing: bool = False,
    is_dry: bool = False,
    on_progress: OnProgress | None = None,
) -> IndexReport:
    """Bring a collection up to date with a JSON Lines file and report what was done.

    Args:
        path: The file: one object a line.
        collection_name: The collection; None is that of an earlier run over this file without a name, else
            the file's name.
        client: Any Chroma client.
        embeddings: What embeds new texts.
        mapping: Target (`text`, `id`, a metadata name) → field of the object, dots for nested ones;
            fields that are not named keep their own names.
        metadata: More for every record, for example `{"kind": "memory"}`.
        delete_missing: Delete what the collection holds and the file does not.
        is_dry: Report what would be done, and embed and write nothing.
        on_progress: Called with (done, total, the collection's name).

    Returns:
        Counts for the collection; lines without a text are skipped, as earlier ones of one id are.

    Raises:
        ConfigError: No such file, no line with a text, a bad name, or another embedding model.
        EmbeddingError: A vector is unusable.
    """
    started = time.perf_counter()
    lines = JsonLines(path=Path(path), mapping=mapping or {}, metadata=metadata or {})
    origin = None if collection_name is not None else origin_of(lines.path.absolute(), client)
    name = check_collection_name(collection_name or (origin.choose_name() if origin else ""))
    survey = lines.survey()
    last_lines = survey.last_lines
    remembered = origin.remembered if origin else {}
    writer = CollectionWriter(client, name, embeddings, remembers=remembered, is_dry=is_dry)
    progress = on_progress or _silent
    for done, record in enumerate(lines.records(last_lines), 1):
        writer.put([record])
        progress(done, len(last_lines), name)
    if delete_missing:
        writer.delete([record_id for record_id, _ in writer.stored_metadata() if record_id not in last_lines])
    writer.flush()
    return _report([writer], survey.skipped, started, counts=survey.counts)


def _report(
    writers: Iterable[CollectionWriter],
    left_out: Iterable[Skipped],
    started: float,
    *,
    counts: Mapping[str, int] | None = None,
    warnings: Iterable[str] = (),
) -> IndexReport:
    left_out = tuple(left_out)
    return IndexReport(
        collections={writer.name: writer.report for writer in writers},
        skipped=dict(Counter(entry.reason for entry in left_out) if counts is None else counts),
        left_out=left_out,
        warnings=tuple(warnings),
        seconds=time.perf_counter() - started,
    )


def _chosen(collections: Iterable[str]) -> list[str]:
    names = [collections] if isinstance(collections, str) else list(dict.fromkeys(collections))
    for name in names:
        if name not in KINDS:
            raise UnknownNameError("collection", name, KINDS)
    return names


def _silent(_done: int, _total: int, _label: str) -> None:
    """Show no progress."""
