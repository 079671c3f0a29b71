"""The store that `index` fills and the other commands ask: a folder with Chroma and a journal in it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_context_engine.cli import embedders, output
from langchain_context_engine.cli.process import INTERRUPTED, CommandFailedError, working_on
from langchain_context_engine.errors import ContextEngineError, SourceError, UnknownNameError
from langchain_context_engine.models.redact import NO_RIGHT, disk_trouble

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

    from langchain_context_engine.engine import ContextEngine
    from langchain_context_engine.trace.context import Context

DEFAULT_STORE = Path(".context-engine")

_CHROMA_FILE = "chroma.sqlite3"
_UNFINISHED = "unfinished-"
# What `index` writes: the file or document that a record is from, and where in it.
_SEQUENCE = ("document", "start")
# A command waits for a cold disk rather than answer without a source.
_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Store:
    """A folder with `chroma/` and `journal.db`; any folder of a persistent Chroma serves too."""

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

    @property
    def unfinished(self) -> tuple[str, ...]:
        """What is being indexed into it, or was when somebody interrupted it."""
        return tuple(path.read_text(encoding="utf-8") for path in self.folder.glob(f"{_UNFINISHED}*"))

    @contextlib.contextmanager
    def filling(self, path: Path) -> Iterator[ClientAPI]:
        """Lend a client to index a folder or file by, and mark the store as unfinished meanwhile.

        The mark stays where the run is killed or interrupted; one that is refused leaves none of its own.
        """
        client = self.create()
        whole = str(path.absolute())
        mark = self.folder / f"{_UNFINISHED}{hashlib.blake2b(os.fsencode(whole), digest_size=6).hexdigest()}"
        was_marked = mark.exists()
        try:
            mark.write_text(whole, encoding="utf-8", errors="replace")
            yield client
        except ContextEngineError:
            if not was_marked:
                mark.unlink(missing_ok=True)
            raise
        except KeyboardInterrupt as error:
            count = sum(each.count() for each in collections_of(client))
            raise CommandFailedError(
                f"interrupted; {output.counted(count, 'record')} stand in {self.folder}, not all of {path};"
                f" the next run goes on: context-engine index {path}",
                exit_code=INTERRUPTED,
            ) from error
        mark.unlink(missing_ok=True)

    def create(self) -> ClientAPI:
        """Return a client; the folder is made where there is none, and kept out of git."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Only where everything is ours: a folder of somebody's own keeps its own .gitignore.
            if {path.name for path in self.folder.iterdir()} <= {"chroma", "demo"}:
                (self.folder / ".gitignore").write_text("*\n", encoding="utf-8")
        except OSError as error:
            told = disk_trouble(error) or error.strerror
            raise CommandFailedError(f"store {self.folder} cannot be written: {told}") from error
        return self._client()

    def open(self) -> ClientAPI:
        """Return a client of a store that exists."""
        if not self.exists:
            raise CommandFailedError(
                f"no store in {self.folder}; make one with: context-engine index PATH --store {self.folder}"
            )
        return self._client()

    def collections(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return the collections that hold something, by name; or those named, in that order."""
        found = [each for each in collections_of(self.open(), names) if each.count()]
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

        Args:
            names: The collections; None is all but those whose embedder is not known, which are warned of.
            embeddings: What embeds the questions, as `embedders.embedder_for` takes it.
            journal: Where the answers are recorded, if anywhere.
            **settings: Of the engine.

        Raises:
            CommandFailedError: No collection can be asked.
        """
        from langchain_context_engine.engine import ContextEngine
        from langchain_context_engine.sources.chroma import ChromaSource

        sources, reasons = [], []
        shared: dict[str, Any] = {}
        for collection in self.collections(names):
            try:
                found = embedders.embedder_for(collection, embeddings)
            except ContextEngineError as error:
                if names:
                    raise
                reasons.append(str(error))
                continue
            # One object for one model, so that a question is embedded once.
            found = shared.setdefault(embedders.describe(found), found)
            sources.append(ChromaSource(collection, embeddings=found, sequence=_SEQUENCE))
        if not sources:
            raise CommandFailedError(reasons[0])
        for reason in (*reasons, *map(told_of_unfinished, self.unfinished)):
            output.warn(reason)
        settings.setdefault("timeout_seconds", _TIMEOUT_SECONDS)
        engine = ContextEngine(sources=sources, journal=journal, **settings)
        for source in engine.sources:
            # One that cannot be read costs its own candidates and a warning, when it is asked.
            with contextlib.suppress(SourceError):
                source.prepare()
        return engine

    def trace(self, trace_id: str | None = None) -> Context:
        """Return a recorded context: that of an id, or the latest."""
        from langchain_context_engine.journal import Journal

        if not self.journal_path.is_file():
            raise CommandFailedError(
                f"nothing is recorded in {self.folder}; ask first: context-engine ask QUESTION"
            )
        with Journal(self.journal_path, read_only=True) as journal:
            latest = [row.id for row in journal.traces(limit=1)]
            if not latest:
                raise CommandFailedError(f"the journal {self.journal_path} is empty")
            return journal.trace(trace_id or latest[0])

    def _client(self) -> ClientAPI:
        import chromadb
        from chromadb.errors import ChromaError

        from langchain_context_engine.search.collection_index import opening

        working_on(self.folder)
        # In full: Chroma takes two folders for one where their relative paths are the same.
        place = str(self.chroma_path.absolute())
        try:
            with opening(place):
                return chromadb.PersistentClient(path=place)
        except (ChromaError, sqlite3.Error, LookupError, OSError, RuntimeError, ValueError) as error:
            # Whatever is raised here, from Rust or SQLite, it is the folder that cannot be opened.
            raise CommandFailedError(f"Chroma cannot open {self.chroma_path}: {self._why(error)}") from error

    def _why(self, error: Exception) -> str:
        told = disk_trouble(error, self.folder)
        if told == NO_RIGHT or (self.exists and not os.access(self.chroma_path / _CHROMA_FILE, os.W_OK)):
            return "it may not be written, which Chroma does even to read; give a copy by --store"
        if told:
            return f"{told}, and Chroma writes even to read; free some space, or give a copy by --store"
        return f"{type(error).__name__}; is it a Chroma folder of this version, and may you write there?"


def collections_of(client: ClientAPI, names: Sequence[str] | None = None) -> list[Any]:
    """Return a client's collections by name; or those named, in that order."""
    known = sorted(str(collection.name) for collection in client.list_collections())
    for name in names or ():
        if name not in known:
            raise UnknownNameError("collection", name, known)
    return [client.get_collection(name, embedding_function=None) for name in names or known]


def told_of_unfinished(path: str) -> str:
    """Return what a person should know where not everything was indexed."""
    return (
        f"{path} is not wholly indexed: that runs, or was interrupted; go on by: context-engine index {path}"
    )


def here() -> Path:
    """Return the folder that the command runs in."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise CommandFailedError("the folder you are in was deleted; go to another first") from error


def nearest_store(store: Path) -> Path:
    """Return the default store here or, as git does, in the nearest folder above; a named one as it is."""
    if store != DEFAULT_STORE or Store(store).exists:
        return store
    found = next((f / store for f in here().parents if Store(f / store).exists), None)
    if found is None:
        return store
    output.note(f"the store is {found}")
    return found


def store_to_fill(store: Path) -> Store:
    """Return the store to write: the default one is looked for up to the top of the repository here."""
    started = here()
    if store == DEFAULT_STORE and not Store(store).exists:
        top = next((folder for folder in (started, *started.parents) if (folder / ".git").exists()), started)
        for folder in started.parents:
            if folder.is_relative_to(top) and Store(folder / store).exists:
                return Store(folder / store)
    return Store(store)
