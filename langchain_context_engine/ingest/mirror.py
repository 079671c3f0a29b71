"""Keeping collections in step with a folder's files and a repository's commits."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from langchain_context_engine.ingest import git
from langchain_context_engine.ingest.files import (
    SourceFile,
    display_path,
    read_file,
)
from langchain_context_engine.ingest.grammars import GRAMMARS, load_parser
from langchain_context_engine.ingest.languages import language_of
from langchain_context_engine.ingest.reading import EXTRACTION_VERSION, kind_of, read_records
from langchain_context_engine.ingest.record import clean_metadata, content_id
from langchain_context_engine.ingest.report import OnProgress
from langchain_context_engine.ingest.skipped import SkippedError
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.ingest.writer import CollectionWriter

_COMMITS_AT_ONCE = 500


@dataclass(slots=True)
class _StoredFile:
    """What a collection holds of one file."""

    ids: set[str] = field(default_factory=set)
    states: set[tuple[Any, Any]] = field(default_factory=set)

    def is_complete(self, file_hash: str) -> bool:
        """All records are there and all of them are of this state: not so after a kill."""
        return self.states == {(file_hash, len(self.ids))}


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderMirror:
    """Brings collections to what a folder's files say now.

    Attributes:
        root: The folder.
        writers: `code`, `docs` → where their records go; what is not named is not read.
        splitter: How long units are cut.
        metadata: More for every record.
        max_file_bytes: Larger files are skipped as huge.
    """

    root: Path
    writers: Mapping[str, CollectionWriter]
    splitter: Splitter
    metadata: Mapping[str, Any]
    max_file_bytes: int

    def sync(
        self, paths: Sequence[str], changed_at: Mapping[str, int], on_progress: OnProgress
    ) -> tuple[Counter[str], tuple[str, ...]]:
        """Write what is new or changed, delete what is gone; return skipped counts and warnings.

        A file whose bytes and date are as stored is read but not parsed, embedded or written.

        Args:
            paths: The files, relative to the root.
            changed_at: Path → epoch seconds; a file without one gets its time of writing.
            on_progress: Called after each file.
        """
        stored = {kind: _stored_files(writer) for kind, writer in self.writers.items()}
        skipped: Counter[str] = Counter()
        for number, path in enumerate(paths, 1):
            kind = kind_of(path, _head(self.root / path))
            if kind is None or kind in self.writers:
                try:
                    self._sync_file(path, kind, changed_at.get(path), stored.get(kind or "", {}))
                except SkippedError as reason:
                    skipped[reason.reason] += 1
                    if reason.reason == "unreadable":  # it may be readable again: keep what is known
                        stored.get(kind or "", {}).pop(display_path(path), None)
            on_progress(number, len(paths), "files")
        for kind, writer in self.writers.items():
            writer.delete(record_id for gone in stored[kind].values() for record_id in gone.ids)
            writer.flush()
        return skipped, _missing_grammars(paths) if "code" in self.writers else ()

    def _sync_file(
        self, path: str, kind: str | None, changed_at: int | None, stored: dict[str, _StoredFile]
    ) -> None:
        source = read_file(self.root / path, max_bytes=self.max_file_bytes, is_supported=kind is not None)
        writer, shown = self.writers[str(kind)], display_path(path)
        created_at = source.modified_at if changed_at is None else changed_at
        file_hash = self._file_hash(path, source, created_at)
        known = stored.get(shown, _StoredFile())
        if known.is_complete(file_hash):
            del stored[shown]
            writer.count_unchanged(len(known.ids))
            return
        records = read_records(
            shown, source.data, splitter=self.splitter, metadata={**self.metadata, "created_at": created_at}
        ).records
        state = {"file_hash": file_hash, "file_records": len(records)}
        writer.put(replace(record, metadata={**record.metadata, **state}) for record in records)
        stored.pop(shown, None)
        ids = {record.id for record in records}
        gone = known.ids - ids
        writer.delete(gone)
        writer.count_replaced(min(len(gone), len(ids - known.ids)))

    def _file_hash(self, path: str, source: SourceFile, created_at: int) -> str:
        """Return what tells one state of a file, and of the way it is read, from another."""
        setup = (EXTRACTION_VERSION, self.splitter.chunk_size, self.splitter.overlap, created_at)
        has_parser = load_parser(language_of(path) or "") is not None
        extra = json.dumps([*setup, has_parser, clean_metadata(self.metadata)], sort_keys=True)
        return content_id(extra, source.data.hex())


def _head(path: Path) -> bytes:
    try:
        if path.is_symlink() or not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(8192)
    except OSError:
        return b""


def _stored_files(writer: CollectionWriter) -> dict[str, _StoredFile]:
    """Return path → what is stored of it; records that no run of this wrote are left alone."""
    files: dict[str, _StoredFile] = {}
    for record_id, metadata in writer.stored_metadata():
        if "file_hash" in metadata:
            known = files.setdefault(str(metadata.get("path")), _StoredFile())
            known.ids.add(record_id)
            known.states.add((metadata["file_hash"], metadata.get("file_records")))
    return files


def _missing_grammars(paths: Iterable[str]) -> tuple[str, ...]:
    languages = {language_of(path) or "" for path in paths} & GRAMMARS.keys()
    missing = sorted(language for language in languages if load_parser(language) is None)
    install = 'pip install "langchain-context-engine[code]"'
    return (f"{', '.join(missing)}: cut by lines, not by functions; {install}",) if missing else ()


def sync_commits(
    root: Path,
    writer: CollectionWriter,
    *,
    max_commits: int | None,
    splitter: Splitter,
    metadata: Mapping[str, Any],
    on_progress: OnProgress,
) -> None:
    """Bring a collection to the last commits of a repository; only new ones are read."""
    wanted = git.commit_ids(root, max_commits)
    common = clean_metadata(metadata)
    known, gone = set(), []
    still_there = set(wanted)
    for record_id, stored in writer.stored_metadata():
        if stored.get("kind") != "commit" or "sha" not in stored:
            continue
        if stored["sha"] not in still_there:
            gone.append(record_id)
        elif record_id == stored["sha"] and all(stored.get(k) == v for k, v in common.items()):
            known.add(record_id)
            writer.count_unchanged(1)
    new = [sha for sha in wanted if sha not in known]
    for start in range(0, len(new), _COMMITS_AT_ONCE):
        batch = new[start : start + _COMMITS_AT_ONCE]
        # The record that says a commit is known comes after its other parts, or a kill could lose these.
        writer.put(reversed(git.commit_records(root, batch, splitter, metadata)))
        on_progress(len(known) + start + len(batch), len(wanted), "commits")
    if not new:
        on_progress(len(wanted), len(wanted), "commits")
    writer.delete(gone)
    writer.flush()
