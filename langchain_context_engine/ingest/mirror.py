"""Keeping collections in step with a folder's files, and with a repository's commits."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from langchain_context_engine.ingest.files import FolderFiles, SourceFile, display_path
from langchain_context_engine.ingest.generated import refuse_pointer
from langchain_context_engine.ingest.git_files import HeadFiles
from langchain_context_engine.ingest.git_history import COMMITS_VERSION, History, commit_records
from langchain_context_engine.ingest.languages import language_of
from langchain_context_engine.ingest.outline import GRAMMARS, load_grammar
from langchain_context_engine.ingest.readers.decoding import HEAD_BYTES, is_binary
from langchain_context_engine.ingest.reading import EXTRACTION_VERSION, bulk_of, kind_of, read_records
from langchain_context_engine.ingest.record import clean_metadata, content_id
from langchain_context_engine.ingest.report import OnProgress, Skipped, SkippedError
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.ingest.writer import READING, CollectionWriter

_MOST_REMEMBERED = 100
_LEFT_OUT = "file_left_out"


@dataclass(slots=True)
class _StoredFile:
    """What a collection holds of one file."""

    ids: set[str] = field(default_factory=set)
    states: set[tuple[Any, Any]] = field(default_factory=set)
    left_out: str = "[]"

    def is_complete(self, file_hash: str) -> bool:
        """All records are there and all of them are of this state: not so after a kill."""
        return self.states == {(file_hash, len(self.ids))}


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderMirror:
    """Brings collections to what a folder's files say now.

    Attributes:
        files: Where the files are read from: a folder, or the last commit of a bare repository.
        writers: `code`, `docs` → where their records go; what is not named is not read.
        date_of: The date of a file that was read, epoch seconds; None where it is unknown.
        splitter: How units are cut.
        metadata: More for every record.
        max_file_bytes: Larger files are skipped as huge; those of which little is text, from ten times that.
    """

    files: FolderFiles | HeadFiles
    writers: Mapping[str, CollectionWriter]
    date_of: Callable[[str, SourceFile], int | None]
    splitter: Splitter
    metadata: Mapping[str, Any]
    max_file_bytes: int

    def sync(self, paths: Sequence[str], on_progress: OnProgress) -> list[Skipped]:
        """Write what is new or changed, delete what is gone; return what was left out.

        A file whose bytes and date are as stored is read but not parsed, embedded or written.
        """
        # Both kinds may go into one collection.
        distinct = {id(writer): (writer, _stored_files(writer)) for writer in self.writers.values()}
        stored = {kind: distinct[id(writer)][1] for kind, writer in self.writers.items()}
        skipped: list[Skipped] = []
        for number, path in enumerate(paths, 1):
            shown = display_path(path)
            try:
                skipped += self._sync_file(path, shown, stored)
            except SkippedError as error:
                skipped.append(Skipped(where=shown, reason=error.reason, detail=error.detail))
                if error.reason == "unreadable":  # it may be readable again: keep what is known
                    for files in stored.values():
                        files.pop(shown, None)
            on_progress(number, len(paths), "files")
        for writer, left in distinct.values():
            writer.delete(record_id for gone in left.values() for record_id in gone.ids)
            writer.flush()
        return skipped

    def _sync_file(
        self, path: str, shown: str, stored: Mapping[str, dict[str, _StoredFile]]
    ) -> Sequence[Skipped]:
        head = self.files.read(path).data
        refuse_pointer(head)
        kind = kind_of(shown, head)
        if kind is None:
            raise SkippedError("binary" if is_binary(head) else "unsupported" if head.strip() else "empty")
        if kind not in self.writers:
            return ()
        source = self.files.read(path, self.max_file_bytes * bulk_of(shown))
        created_at = self.date_of(path, source)
        file_hash = self._file_hash(shown, source, created_at)
        for each, files in stored.items():  # its content may have said its kind, and not its name
            if shown in files and files[shown].is_complete(file_hash):
                file = files.pop(shown)
                self.writers[each].count_unchanged(len(file.ids))
                return [Skipped(where=w, reason=r, detail=d) for w, r, d in json.loads(file.left_out)]
        dated = self.metadata if created_at is None else {**self.metadata, "created_at": created_at}
        read = read_records(shown, source.data, splitter=self.splitter, metadata=dated)
        if read.kind not in self.writers:
            return read.skipped
        writer, known = self.writers[read.kind], stored[read.kind].pop(shown, _StoredFile())
        records = [record for record in read.records if record.text.strip()]
        ids = {record.id for record in records}
        state = {"file_hash": file_hash, "file_records": len(ids)}
        left_out = [[s.where, s.reason, s.detail] for s in read.skipped[:_MOST_REMEMBERED]]
        noted = {_LEFT_OUT: json.dumps(left_out, ensure_ascii=False)} if left_out else {}
        writer.put(
            replace(record, metadata={**record.metadata, **state, **({} if number else noted)})
            for number, record in enumerate(records)
        )
        gone = known.ids - ids
        writer.delete(gone)
        writer.count_replaced(min(len(gone), len(ids - known.ids)))
        return read.skipped

    def _file_hash(self, path: str, source: SourceFile, created_at: int | None) -> str:
        """Return what tells one state of a file, and of the way it is read, from another."""
        cut = self.splitter
        setup = (EXTRACTION_VERSION, cut.chunk_size, cut.overlap, cut.class_size, created_at)
        has_parser = load_grammar(language_of(path, source.data[:HEAD_BYTES]) or "") is not None
        extra = json.dumps([*setup, has_parser, clean_metadata(self.metadata)], sort_keys=True)
        return content_id(extra, source.data.hex())


def missing_grammars(paths: Iterable[str]) -> tuple[str, ...]:
    """Return a warning that names the languages whose grammar is not installed; () where none is missing."""
    languages = {language_of(path) or "" for path in paths} & GRAMMARS.keys()
    missing = sorted(language for language in languages if load_grammar(language) is None)
    install = 'pip install "langchain-context-engine[code]"'
    return (f"{', '.join(missing)}: cut by lines, not by functions; {install}",) if missing else ()


def _stored_files(writer: CollectionWriter) -> dict[str, _StoredFile]:
    """Return path → what is stored of it; records that no run of this wrote are left alone."""
    files: dict[str, _StoredFile] = defaultdict(_StoredFile)
    for record_id, metadata in writer.stored_metadata():
        if "file_hash" in metadata:
            known = files[str(metadata.get("path"))]
            known.ids.add(record_id)
            known.states.add((metadata["file_hash"], metadata.get("file_records")))
            known.left_out = str(metadata.get(_LEFT_OUT, known.left_out))
    return dict(files)


def sync_commits(
    history: History,
    writer: CollectionWriter,
    *,
    max_commits: int | None,
    splitter: Splitter,
    metadata: Mapping[str, Any],
    on_progress: OnProgress,
) -> tuple[list[Skipped], tuple[str, ...]]:
    """Bring a collection to the last commits of a repository; only new ones are looked at.

    Args:
        history: The commits.
        writer: Where their records go.
        max_commits: How many are held at most; None is all.
        splitter: How a long message is cut.
        metadata: More for every record.
        on_progress: Called with (commits that are there, all, "commits").

    Returns:
        Commits that cannot be read, and a warning where there are more than the limit.
    """
    common = clean_metadata(metadata)
    walk = history.commits()
    # As bytes: of a million commits their hashes are what takes the memory.
    wanted = [bytes.fromhex(commit.id) for commit in islice(walk, max_commits)]
    is_limited = max_commits is not None and next(walk, None) is not None
    missing = list(history.left_out)
    still_there, known = set(wanted), set()
    later_parts: dict[bytes, list[str]] = defaultdict(list)
    gone: list[str] = []
    for record_id, stored in writer.stored_metadata():
        sha = stored.get("sha")
        if stored.get("kind") != "commit" or not isinstance(sha, str):
            continue
        commit_id = bytes.fromhex(sha)
        if commit_id not in still_there:
            gone.append(record_id)
        elif record_id != sha:
            later_parts[commit_id].append(record_id)
        elif stored.get(READING) == COMMITS_VERSION and all(stored.get(k) == v for k, v in common.items()):
            known.add(commit_id)
    writer.count_unchanged(len(known) + sum(len(later_parts[sha]) for sha in known & later_parts.keys()))
    new = [sha for sha in wanted if sha not in known]
    on_progress(len(known), len(wanted), "commits")
    for number, commit_id in enumerate(new, 1):
        commit = history.read(commit_id.hex())
        if commit is not None:
            records = list(commit_records(commit, history.changes(commit), splitter, metadata))
            # The record that says a commit is known comes after its other parts, or a kill could lose these.
            writer.put(reversed(records))
            gone += {*later_parts[commit_id]} - {record.id for record in records}
        on_progress(len(known) + number, len(wanted), "commits")
    writer.delete(gone)
    writer.flush()
    limit = f"only the latest {max_commits} commits are held, there are more; see --max-commits"
    return missing, (limit,) if is_limited else ()
