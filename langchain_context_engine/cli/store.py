"""The store that `index` fills and the other commands ask: a folder with Chroma and a journal in it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from langchain_context_engine.cli import embedders, output
from langchain_context_engine.cli.failure import CommandFailedError, working_on
from langchain_context_engine.models.disk import NO_RIGHT, disk_trouble
from langchain_context_engine.models.errors import ConfigError, SourceError, UnknownNameError

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

    from langchain_context_engine.engine import ContextEngine
    from langchain_context_engine.trace.context import Context

_CHROMA_FILE = "chroma.sqlite3"
_OURS = {"chroma", "demo"}
# What `index` writes: the file or document that a record is from, and where in it.
_SEQUENCE = ("document", "start")
# A command waits for a cold disk rather than answer without a source.
_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Store:
    """A folder with `chroma/` and `journal.db`; any folder of a persistent Chroma serves too.

    Attributes:
        folder: The folder.
    """

    folder: Path

    @property
    def chroma_path(self) -> Path:
        """Where Chroma's files are."""
        return self.folder if (self.folder / _CHROMA_FILE).is_file() else self.folder / "chroma"

    @property
    def journal_path(self) -> Path:
        """Where traces are recorded."""
        return self.folder / "journal.db"

    @property
    def exists(self) -> bool:
        """Whether there is a Chroma store in it; none where its folder cannot be looked into."""
        try:
            return (self.chroma_path / _CHROMA_FILE).is_file()
        except PermissionError:
            return False

    def create(self) -> ClientAPI:
        """Return a client; the folder is made where there is none, and kept out of git.

        Raises:
            CommandFailedError: It cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Only where everything is ours: a folder of somebody's own keeps its own .gitignore.
            if {path.name for path in self.folder.iterdir()} <= _OURS:
                (self.folder / ".gitignore").write_text("*\n", encoding="utf-8")
        except OSError as error:
            told = disk_trouble(error) or error.strerror
            raise CommandFailedError(f"store {self.folder} cannot be written: {told}") from error
        return self._client()

    def client_for(self, *, is_dry: bool) -> ClientAPI:
        """Return a client to write by; for a dry run, one that makes no store where there is none.

        Raises:
            CommandFailedError: The store cannot be written, or not be read.
        """
        if not is_dry:
            return self.create()
        if self.exists:
            return self._client()
        import chromadb

        # All clients in memory are one store: a database of its own has nothing of others in this process.
        name = f"dry-run-{uuid4()}"
        chromadb.AdminClient(chromadb.EphemeralClient().get_settings()).create_database(name)
        return chromadb.EphemeralClient(database=name)

    def open(self) -> ClientAPI:
        """Return a client of a store that exists.

        Raises:
            CommandFailedError: There is none, or Chroma cannot read it.
        """
        if not self.exists:
            raise CommandFailedError(
                f"no store in {self.folder}; make one with: context-engine index PATH --store {self.folder}"
            )
        return self._client()

    def collections(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return the collections that hold something, by name; or those named, in that order.

        Raises:
            UnknownNameError: There is no collection of a name.
            CommandFailedError: There is none at all.
        """
        client = self.open()
        known = sorted(collection.name for collection in client.list_collections())
        for name in names or ():
            if name not in known:
                raise UnknownNameError("collection", name, known)
        opened = [client.get_collection(name, embedding_function=None) for name in names or known]
        found = [collection for collection in opened if collection.count()]
        if not found:
            raise CommandFailedError(
                f"the store in {self.folder} holds nothing; fill it with: context-engine index PATH"
            )
        return found

    def engine(
        self,
        *,
        names: Sequence[str] | None = None,
        embeddings: str = embedders.AUTO,
        journal: str | None = None,
        **settings: Any,
    ) -> ContextEngine:
        """Return an engine over the store's collections, its words already read.

        A collection whose embedder is not known is left out with a warning, unless it was named.

        Raises:
            CommandFailedError: No collection can be asked.
            ConfigError: A setting is wrong.
        """
        from langchain_context_engine.engine import ContextEngine
        from langchain_context_engine.sources.chroma import ChromaSource

        sources, reasons = [], []
        shared: dict[str, Any] = {}
        for collection in self.collections(names):
            try:
                found = embedders.embedder_for(collection, embeddings)
                # One object for one model, so that a question is embedded once.
                found = shared.setdefault(embedders.describe(found), found)
            except CommandFailedError as error:
                if names:
                    raise
                reasons.append(str(error))
            else:
                sources.append(ChromaSource(collection, embeddings=found, sequence=_SEQUENCE))
        if not sources:
            raise CommandFailedError(reasons[0])
        for reason in reasons:
            output.warn(reason)
        engine = ContextEngine(
            sources=sources, journal=journal, **{"timeout_seconds": _TIMEOUT_SECONDS, **settings}
        )
        for source in engine.sources:
            # One that cannot be read costs its own candidates and a warning, when it is asked.
            with contextlib.suppress(SourceError):
                source.prepare()
        return engine

    def trace(self, trace_id: str | None = None) -> Context:
        """Return a recorded context: that of an id or of its beginning, or the latest.

        Raises:
            CommandFailedError: There is no journal or no trace in it, or none of that id.
        """
        from langchain_context_engine.journal import Journal

        if not self.journal_path.is_file():
            raise CommandFailedError(
                f"nothing is recorded in {self.folder}; ask first: context-engine ask QUESTION"
            )
        with Journal(self.journal_path, read_only=True) as journal:
            ids = [row.id for row in journal.traces(limit=1 if trace_id is None else 100_000)]
            matching = [found for found in ids if found.startswith(trace_id or "")]
            if len(matching) != 1:
                problem = "several traces begin with" if matching else "no trace has the id"
                raise CommandFailedError(
                    f"{problem} {trace_id!r}" if ids else f"the journal {self.journal_path} is empty"
                )
            return journal.trace(matching[0])

    def _client(self) -> ClientAPI:
        import chromadb

        working_on(self.folder)
        try:
            # In full: Chroma takes two folders for one where their relative paths are the same.
            return chromadb.PersistentClient(path=str(self.chroma_path.absolute()))
        except Exception as error:
            # Whatever Chroma raises here, from Rust or SQLite, it is the folder that cannot be opened.
            raise CommandFailedError(f"Chroma cannot open {self.chroma_path}: {self._why(error)}") from error

    def _why(self, error: Exception) -> str:
        told = disk_trouble(error, self.folder)
        if told and told != NO_RIGHT:
            return f"{told}, and Chroma writes even to read; free some space, or give a copy by --store"
        if self.exists and not os.access(self.chroma_path / _CHROMA_FILE, os.W_OK):
            return (
                "it may not be written, which Chroma does even to read; give a copy by --store,"
                " or the right to write"
            )
        return f"{type(error).__name__}; is it a Chroma folder of this version, and may you write there?"


def here() -> Path:
    """Return the folder that the command runs in.

    Raises:
        CommandFailedError: It is gone.
    """
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise CommandFailedError("the folder you are in was deleted; go to another first") from error


def store_to_fill(store: Path, default: Path) -> Store:
    """Return the store to write: the default one is looked for up to the top of the repository here."""
    started = here()
    if store == default and not Store(store).exists:
        top = next((folder for folder in (started, *started.parents) if (folder / ".git").exists()), started)
        for folder in started.parents:
            if folder.is_relative_to(top) and Store(folder / store).exists:
                return Store(folder / store)
    return Store(store)


def require_path(path: Path) -> Path:
    """Return a path that exists.

    Raises:
        ConfigError: It does not.
    """
    if not path.exists():
        raise ConfigError(f"there is no {path}; give a folder, a git repository or a file")
    return path
