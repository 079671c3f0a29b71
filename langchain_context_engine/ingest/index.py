"""From a repository, a folder, a file or JSON Lines to Chroma collections, again and again."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_context_engine.errors import ConfigError, UnknownNameError
from langchain_context_engine.ingest.files import (
    FolderFiles,
    SourceFile,
    display_path,
    list_folder,
    selection,
)
from langchain_context_engine.ingest.generated import refuse_pointer
from langchain_context_engine.ingest.git_history import (
    COMMITS_VERSION,
    HeadFiles,
    History,
    commit_records,
    file_dates,
    list_files,
)
from langchain_context_engine.ingest.git_repository import open_git, small_cache
from langchain_context_engine.ingest.json_lines import JsonLines
from langchain_context_engine.ingest.languages import language_of
from langchain_context_engine.ingest.outline import GRAMMARS, load_grammar
from langchain_context_engine.ingest.readers.decoding import HEAD_BYTES, is_binary
from langchain_context_engine.ingest.reading import EXTRACTION_VERSION, bulk_of, kind_of, read_records
from langchain_context_engine.ingest.record import clean_metadata, content_id
from langchain_context_engine.ingest.report import IndexReport, OnProgress, Skipped, SkippedError
from langchain_context_engine.ingest.split import Splitter, check_number
from langchain_context_engine.ingest.writer import READING, CollectionWriter, check_collection_name

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from langchain_core.embeddings import Embeddings

KINDS = ("code", "commits", "docs")
_FOLDER, _FROM_STORE = "indexed_folder", "indexed_from_store"
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")
_LONGEST_NAME, _SHORTEST_NAME = 60, 3
MAX_FILE_BYTES = 1_000_000
_MOST_REMEMBERED = 100
_LEFT_OUT = "file_left_out"


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
    kinds = [collections] if isinstance(collections, str) else list(dict.fromkeys(collections))
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise UnknownNameError("collection", unknown[0], KINDS)
    check_number("max_commits", max_commits or 0, 0)
    wanted = selection(include, exclude)
    git, reason = open_git(root)
    warnings: list[str] = []
    if git is None and ("commits" in kinds or reason):
        kinds = [kind for kind in kinds if kind != "commits"]
        reason = reason or "it is in no git repository"
        warnings.append(f"{root} is read as a folder, without commits: {reason}")
    for kind in kinds:
        check_collection_name(f"{prefix or ''}{kind}")
    origin = Origin.of(root, client)
    if prefix is None:
        prefix, told = origin.choose_prefix(kinds)
        warnings += told
    names = {kind: f"{prefix}{kind}" for kind in kinds}
    origin.require_free(*names.values())
    writers = {
        kind: CollectionWriter(client, name, embeddings, remembers=origin.remembered)
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
        mirror = _FolderMirror(
            files=HeadFiles(git) if git and git.is_bare else FolderFiles(root),
            writers=of_files,
            date_of=file_dates(history, paths, progress),
            splitter=splitter,
            metadata=metadata,
            max_file_bytes=check_number("max_file_bytes", max_file_bytes, 0),
        )
        skipped += [entry for entry in listing.skipped if wanted(entry.where)]
        skipped += mirror.sync(paths, progress)
        warnings += _missing_grammars(paths) if "code" in of_files else ()
    if history is not None and "commits" in writers:
        missing, more = _sync_commits(
            history,
            writers["commits"],
            max_commits=max_commits,
            splitter=splitter,
            metadata=metadata,
            on_progress=progress,
        )
        skipped += missing
        warnings += more
    warnings += history.lacks() if history else ()
    return _report(writers.values(), skipped, started, warnings)


def index_folder(path: str | Path, client: ClientAPI, embeddings: Embeddings, **options: Any) -> IndexReport:
    """Bring the collections `code` and `docs` of a folder up to date; options are those of a repository.

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
    origin = Origin.of(file, client)
    collection = check_collection_name(name or origin.choose_name())
    origin.require_free(collection)
    writer = CollectionWriter(client, collection, embeddings, remembers=origin.remembered)
    mirror = _FolderMirror(
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
        raise ConfigError(
            f"{given} is left out: {whole.reason}{f' ({whole.detail})' if whole.detail else ''}"
        )
    return _report([writer], skipped, started, _missing_grammars([file.name]))


def index_jsonl(
    path: str | Path,
    collection_name: str | None,
    client: ClientAPI,
    embeddings: Embeddings,
    mapping: Mapping[str, str] | None = None,
    *,
    metadata: Mapping[str, Any] | None = None,
    delete_missing: bool = False,
    on_progress: OnProgress | None = None,
) -> IndexReport:
    """Bring a collection up to date with a JSON Lines file and report what was done.

    Lines without a text are skipped and counted, as earlier ones of one id are.

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
        on_progress: Called with (done, total, the collection's name).

    Raises:
        ConfigError: No such file, no line with a text, a bad name, or another embedding model.
        EmbeddingError: A vector is unusable.
    """
    started = time.perf_counter()
    lines = JsonLines(path=Path(path), mapping=mapping or {}, metadata=metadata or {})
    origin = None if collection_name is not None else Origin.of(lines.path.absolute(), client)
    name = check_collection_name(collection_name or (origin.choose_name() if origin else ""))
    last_lines, skipped = lines.survey()
    remembered = origin.remembered if origin else {}
    writer = CollectionWriter(client, name, embeddings, remembers=remembered)
    for done, record in enumerate(lines.records(last_lines), 1):
        writer.put([record])
        (on_progress or _silent)(done, len(last_lines), name)
    if delete_missing:
        writer.delete(each for each, _ in writer.stored_metadata() if each not in last_lines)
    writer.flush()
    return _report([writer], skipped, started)


def _report(
    writers: Iterable[CollectionWriter],
    left_out: Sequence[Skipped],
    started: float,
    warnings: Iterable[str] = (),
) -> IndexReport:
    return IndexReport(
        collections={writer.name: writer.report for writer in writers},
        skipped=dict(Counter(entry.reason for entry in left_out)),
        left_out=tuple(left_out),
        warnings=tuple(warnings),
        seconds=time.perf_counter() - started,
    )


def _silent(_done: int, _total: int, _label: str) -> None:
    """Show no progress."""


def _missing_grammars(paths: Iterable[str]) -> tuple[str, ...]:
    """Return a warning that names the languages whose grammar is not installed; () where none is missing."""
    languages = {language_of(path) or "" for path in paths} & GRAMMARS.keys()
    missing = sorted(language for language in languages if load_grammar(language) is None)
    install = 'pip install "langchain-context-engine[code]"'
    return (f"{', '.join(missing)}: cut by lines, not by functions; {install}",) if missing else ()


@dataclass(slots=True)
class _StoredFile:
    """What a collection holds of one file: all of it is of one state, but after a kill."""

    ids: set[str] = field(default_factory=set)
    states: set[tuple[Any, Any]] = field(default_factory=set)
    left_out: str = "[]"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _FolderMirror:
    """Brings collections (`code`, `docs`, or one of them) to what a folder's files say now."""

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
            if shown in files and files[shown].states == {(file_hash, len(files[shown].ids))}:
                file = files.pop(shown)
                self.writers[each].counts["unchanged"] += len(file.ids)
                return [Skipped(where=w, reason=r, detail=d) for w, r, d in json.loads(file.left_out)]
        dated = self.metadata if created_at is None else {**self.metadata, "created_at": created_at}
        read = read_records(shown, source.data, splitter=self.splitter, metadata=dated)
        writer, known = self.writers[read.kind], stored[read.kind].pop(shown, _StoredFile())
        records = [record for record in read.records if record.text.strip()]
        ids = {record.id for record in records}
        state: dict[str, Any] = {"file_hash": file_hash, "file_records": len(ids)}
        left_out = [[s.where, s.reason, s.detail] for s in read.skipped[:_MOST_REMEMBERED]]
        noted = {_LEFT_OUT: json.dumps(left_out, ensure_ascii=False)} if left_out else {}
        writer.put(
            replace(record, metadata={**record.metadata, **state, **({} if number else noted)})
            for number, record in enumerate(records)
        )
        gone = known.ids - ids
        writer.delete(gone)
        # What took the place of others is no more than changed.
        changed = min(len(gone), len(ids - known.ids))
        writer.counts.update(added=-changed, deleted=-changed, updated=changed)
        return read.skipped

    def _file_hash(self, path: str, source: SourceFile, created_at: int | None) -> str:
        """Return what tells one state of a file, and of the way it is read, from another."""
        cut = self.splitter
        setup = (EXTRACTION_VERSION, cut.chunk_size, cut.class_size, created_at)
        has_parser = load_grammar(language_of(path, source.data[:HEAD_BYTES]) or "") is not None
        extra = json.dumps([*setup, has_parser, clean_metadata(self.metadata)], sort_keys=True)
        return content_id(extra, source.data.hex())


def _sync_commits(
    history: History,
    writer: CollectionWriter,
    *,
    max_commits: int | None,
    splitter: Splitter,
    metadata: Mapping[str, Any],
    on_progress: OnProgress,
) -> tuple[list[Skipped], list[str]]:
    """Bring a collection to a repository's last commits; return those that cannot be read, and warnings."""
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
    writer.counts["unchanged"] += len(known) + sum(
        len(later_parts[sha]) for sha in known & later_parts.keys()
    )
    new = [sha for sha in wanted if sha not in known]
    on_progress(len(known), len(wanted), "commits")
    for number, commit_id in enumerate(new, len(known) + 1):
        if commit := history.read(commit_id.hex()):
            records = list(commit_records(commit, history.changes(commit), splitter, metadata))
            # The record that says a commit is known comes after its other parts, or a kill could lose these.
            writer.put(reversed(records))
            gone += {*later_parts[commit_id]} - {record.id for record in records}
        on_progress(number, len(wanted), "commits")
    writer.delete(gone)
    writer.flush()
    limit = f"only the latest {max_commits} commits are held, there are more; see --max-commits"
    return missing, [limit] if is_limited else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What is indexed, the way to it from the store ("" in memory), and what the collections remember."""

    path: Path
    from_store: str
    known: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, path: Path, client: ClientAPI) -> Origin:
        """Return what is indexed, as a store sees it."""
        settings = client.get_settings()
        store = Path(settings.persist_directory).resolve() if settings.is_persistent else None
        known = {str(c.name): c.metadata or {} for c in client.list_collections()}
        return cls(path=path, from_store=os.path.relpath(path, store) if store else "", known=known)

    @property
    def remembered(self) -> dict[str, Any]:
        """What a collection remembers of it."""
        return {_FOLDER: str(self.path)} | ({_FROM_STORE: self.from_store} if self.from_store else {})

    def choose_prefix(self, kinds: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """Return what goes before the collections' names, and a warning where it is none that anybody chose.

        It is what an earlier run over the same folder used, else nothing, else the folder's name.
        """
        own = {n.removesuffix(k) for n in self.known for k in KINDS if n.endswith(k) and self._owns(n)}
        for prefix in sorted(own) or [""]:
            if not self._taken(f"{prefix}{kind}" for kind in kinds):
                return prefix, ()
        names = (f"{name}-" for name in _names(self.path.name))
        prefix = next(name for name in names if not any(f"{name}{kind}" in self.known for kind in KINDS))
        others = sorted({folder for _, folder in self._taken(kinds)})
        told = (
            f"this store holds {' and '.join(others)} already: {self.path} goes into collections of its own,"
            f" {', '.join(f'{prefix}{kind}' for kind in kinds)}; --name gives it another name"
        )
        return prefix, (told,)

    def choose_name(self) -> str:
        """Return the collection of a single file: that of an earlier run, else it goes by its name."""
        if own := next(filter(self._owns, self.known), None):
            return own
        plain = [next(_names(self.path.stem)), next(_names(self.path.name))]
        names = chain(plain, (f"file-{name}" for name in _names(self.path.name)))
        free = (name for name in names if _FOLDER not in self.known.get(name, {}))
        return next(name for name in free if len(name) >= _SHORTEST_NAME)

    def require_free(self, *names: str) -> None:
        """Refuse (ConfigError) names whose collections mirror another folder, unless that has moved here."""
        for name, other in self._taken(names):
            if os.path.lexists(other):
                raise ConfigError(
                    f"collection {name!r} mirrors another folder, {other}; index this one under a name of its"
                    " own (--name, or prefix in Python), or delete the collection first (context-engine rm)"
                )

    def _owns(self, name: str) -> bool:
        """Say whether a collection mirrors this: the same folder, or one that moved here with its store."""
        metadata = self.known[name]
        has_moved = bool(self.from_store) and metadata.get(_FROM_STORE) == self.from_store
        return _FOLDER in metadata and (has_moved or metadata[_FOLDER] == str(self.path))

    def _taken(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """Return (collection, folder) of those that mirror something else."""
        found = [name for name in names if _FOLDER in self.known.get(name, {})]
        return [(name, str(self.known[name][_FOLDER])) for name in found if not self._owns(name)]


def _names(name: str) -> Iterator[str]:
    fit = _UNFIT.sub("-", name)[:_LONGEST_NAME].strip("-_") or "folder"
    return (f"{fit}{f'-{number}' if number > 1 else ''}" for number in count(1))
