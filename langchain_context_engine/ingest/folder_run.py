"""One run over a folder: its files, then its commits, and what a person should know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_context_engine.ingest.files import (
    FolderFiles,
    SourceFile,
    display_path,
    is_wanted,
)
from langchain_context_engine.ingest.git_files import HeadFiles, Listing, file_dates, list_files
from langchain_context_engine.ingest.git_history import History
from langchain_context_engine.ingest.git_repository import small_cache
from langchain_context_engine.ingest.mirror import FolderMirror, missing_grammars, sync_commits
from langchain_context_engine.ingest.report import OnProgress
from langchain_context_engine.ingest.selection import Selection
from langchain_context_engine.ingest.skipped import Skipped
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.ingest.walk import list_folder
from langchain_context_engine.ingest.writer import CollectionWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRun:
    """A run.

    Attributes:
        root: The folder.
        history: Its repository's; None where it is in none.
        writers: `code`, `docs`, `commits` → where their records go; what is not named is not read.
        wanted: Which files are.
        splitter: How long units are cut.
        metadata: More for every record.
        max_file_bytes: Larger files are skipped as huge.
        max_commits: How many commits are held at most; None is all.
        on_progress: Called with (done, total, label).
        warnings: What a person should know, so far.
        skipped: What was left out, so far.
    """

    root: Path
    history: History | None
    writers: Mapping[str, CollectionWriter]
    wanted: Selection
    splitter: Splitter
    metadata: Mapping[str, Any]
    max_file_bytes: int
    max_commits: int | None
    on_progress: OnProgress
    warnings: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def do(self) -> None:
        """Bring all collections up to date."""
        with small_cache():
            if self.writers.keys() - {"commits"}:
                self._sync_files()
            if "commits" in self.writers and self.history is not None:
                self._sync_commits(self.history)
        if self.history is not None:
            self.warnings.extend(self.history.lacks())
        for writer in self.writers.values():
            writer.finish()

    def _sync_files(self) -> None:
        listing = self._list()
        wanted = [p for p in listing.paths if is_wanted(p) and self.wanted(display_path(p))]
        mirror = FolderMirror(
            files=FolderFiles(self.root) if not self._bare else HeadFiles(self._bare.git),
            writers={kind: writer for kind, writer in self.writers.items() if kind != "commits"},
            date_of=file_dates(self.history, wanted, self.on_progress).date_of
            if self.history
            else date_of_writing,
            splitter=self.splitter,
            metadata=self.metadata,
            max_file_bytes=self.max_file_bytes,
        )
        left_out = mirror.sync(wanted, self.on_progress)
        self.skipped.extend(entry for entry in listing.skipped if self.wanted(entry.where))
        self.skipped.extend(left_out)
        if "code" in mirror.writers:
            self.warnings.extend(missing_grammars(wanted))

    @property
    def _bare(self) -> History | None:
        return self.history if self.history is not None and self.history.git.is_bare else None

    def _list(self) -> Listing:
        if self.history is None:
            found, skipped = list_folder(self.root)
            return Listing(paths=tuple(found), skipped=skipped)
        listing = list_files(self.history.git)
        if listing.absent:
            self.warnings.append(
                f"{listing.absent} tracked files are not in the working tree (deleted, not checked out, or a"
                " sparse checkout): they are not read"
            )
        return listing

    def _sync_commits(self, history: History) -> None:
        missing, told = sync_commits(
            history,
            self.writers["commits"],
            max_commits=self.max_commits,
            splitter=self.splitter,
            metadata=self.metadata,
            on_progress=self.on_progress,
        )
        self.skipped.extend(missing)
        self.warnings.extend(told)


def date_of_writing(_path: str, source: SourceFile) -> int | None:
    """Return when a file was last written, where no history tells more."""
    return source.modified_at
