"""From a single file to one Chroma collection, again and again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_context_engine.ingest.files import FolderFiles
from langchain_context_engine.ingest.folder_run import date_of_writing
from langchain_context_engine.ingest.git_files import file_dates
from langchain_context_engine.ingest.git_history import History
from langchain_context_engine.ingest.git_repository import open_git
from langchain_context_engine.ingest.index import MAX_FILE_BYTES
from langchain_context_engine.ingest.json_lines import JsonLines
from langchain_context_engine.ingest.mirror import FolderMirror, missing_grammars
from langchain_context_engine.ingest.origin import choose_name, origin_of, require_free
from langchain_context_engine.ingest.report import IndexReport, OnProgress, silent
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.ingest.writer import CollectionWriter, check_collection_name
from langchain_context_engine.models.errors import ConfigError

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from langchain_core.embeddings import Embeddings


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
        metadata: More for every record.
        splitter: How long units and sections are cut; by default at 1,600 characters.
        max_file_bytes: A larger file is refused; a notebook, PDF, DOCX or XLSX from ten times that.
        is_dry: Report what would be done, and embed and write nothing.
        on_progress: Called with (done, total, "files" or "dates").

    Returns:
        Counts for the collection, and what of the file was left out.

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
    collection = check_collection_name(name or choose_name(client, origin))
    require_free(client, origin, collection, ("",))
    dates = date_of_writing if git is None else file_dates(History(git), [file.name], silent).date_of
    writer = CollectionWriter(client, collection, embeddings, remembers=origin.remembered, is_dry=is_dry)
    mirror = FolderMirror(
        files=FolderFiles(file.parent),
        writers={"code": writer, "docs": writer},
        date_of=dates,
        splitter=splitter or Splitter(),
        metadata=metadata or {},
        max_file_bytes=max_file_bytes,
    )
    skipped = mirror.sync([file.name], on_progress or silent)
    whole = next((entry for entry in skipped if entry.where == file.name), None)
    if whole is not None and not writer.report.written:
        raise ConfigError(
            f"{given} is left out: {whole.reason}{f' ({whole.detail})' if whole.detail else ''}"
        )
    writer.finish()
    return IndexReport(
        collections={writer.name: writer.report},
        skipped=dict(Counter(entry.reason for entry in skipped)),
        left_out=skipped,
        warnings=missing_grammars([file.name]),
        seconds=time.perf_counter() - started,
    )


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
        Counts for the collection; lines that are no object with a text, or have none, are skipped, as
        are earlier lines with an id that comes again.

    Raises:
        ConfigError: No such file, no line with a text, a bad name, or another embedding model.
        EmbeddingError: A vector is unusable.
    """
    started = time.perf_counter()
    lines = JsonLines(path=Path(path), mapping=mapping or {}, metadata=metadata or {})
    origin = None if collection_name is not None else origin_of(lines.path.absolute(), client)
    name = check_collection_name(collection_name or (choose_name(client, origin) if origin else ""))
    survey = lines.survey()
    last_lines = survey.last_lines
    writer = CollectionWriter(
        client, name, embeddings, remembers=origin.remembered if origin else {}, is_dry=is_dry
    )
    progress = on_progress or silent
    for done, record in enumerate(lines.records(last_lines), 1):
        writer.put([record])
        progress(done, len(last_lines), name)
    if delete_missing:
        writer.delete([record_id for record_id, _ in writer.stored_metadata() if record_id not in last_lines])
    writer.finish()
    return IndexReport(
        collections={writer.name: writer.report},
        skipped=dict(survey.counts),
        left_out=tuple(survey.skipped),
        seconds=time.perf_counter() - started,
    )
