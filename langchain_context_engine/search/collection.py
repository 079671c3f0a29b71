"""A Chroma collection as sources use it: reopened when recreated, within its quota, one kind of error."""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from langchain_context_engine.errors import ConfigError, SourceError
from langchain_context_engine.executor import answer_of
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.search.records import Rows, rows_of, steady_all

FIELDS = ("documents", "metadatas")
"""What a record is made of beside its vector."""

QUOTA = 300
"""Records that Chroma Cloud gives and takes at once."""

_LEAST = 10
"""What refuses so few refuses for another reason."""
_UNLIMITED = 2**31 - 1
_BATCH = 5000
"""Ids a call; Chroma takes 5,461 in an add, and SQLite a limited number of variables."""
_LOOKED_AT = 2000
_ASKED = r"(?:\blimit|\bn_results|\btop_?k|results|records|\bids\b|items|documents|embeddings|batch size)"
_QUOTA_WORDS = re.compile(
    r"quota|exceed(?:ed|s).{0,40}limit|limit.{0,40}exceed|too many (?:results|records|ids|sql variables)"
    rf"|{_ASKED}.{{0,60}}(?:at most|no more than|less than|max|exceed|<=|≤|too (?:large|many|big)"
    r"|(?:greater|larger|higher|more) than)"
    rf"|(?:at most|no more than|up to|max\w*) .{{0,40}}{_ASKED}"
    r"|(?:payload|entity|request|message|body).{0,20}(?:too large|larger than)|\b413\b",
    re.IGNORECASE,
)
_DIMENSIONS = re.compile(
    r"dimension\D{0,20}(?P<expected>\d+)\D+got (?P<got>\d+)"
    r"|dimension (?P<given>\d+) does not match \D*(?P<held>\d+)"
)
_NO_SEARCH = re.compile(r"search\b.{0,30}not implemented", re.IGNORECASE)
_MISSING = re.compile(r"collection \S* ?does not exist", re.IGNORECASE)
T = TypeVar("T")


class QuotaError(SourceError):
    """A store gives fewer records at once than it was asked for."""


class NoSearchError(SourceError):
    """A store has no search of its own."""


class Portions:
    """How many records a store gives and takes at once: learnt from what it refuses, in whatever words.

    Args:
        most: The largest portion to begin with.
    """

    def __init__(self, most: int) -> None:
        self.most = most

    def ask(self, call: Callable[[int], T]) -> T:
        """Return what a call gives that is told how many records it may ask for.

        Raises:
            Exception: What the call raises, if that is no quota or the portion is the least.
        """
        while True:
            asked = self.most
            try:
                return call(asked)
            except Exception as error:  # a quota is told by errors of many libraries
                if asked <= _LEAST or not _is_quota(error):
                    raise
                self.most = QUOTA if asked > QUOTA else max(_LEAST, asked // 2)

    def each(self, items: Sequence[Any], call: Callable[[int, int], T]) -> Iterator[T]:
        """Yield what a call gives of each portion, told where it begins and ends; raises as `ask`."""
        place = 0
        while place < len(items):

            def portion(most: int, begin: int = place) -> tuple[T, int]:
                end = min(len(items), begin + min(most, _BATCH))
                return call(begin, end), end

            answer, place = self.ask(portion)
            yield answer

    def all_of(self, items: Sequence[Any], call: Callable[[int, int], Any]) -> None:
        """Do something with each portion; as `each`."""
        for _ in self.each(items, call):
            pass

    def pages(self, call: Callable[[int, int], Sequence[T]]) -> Iterator[T]:
        """Yield what a call gives page by page, told how many at most and from where; raises as `ask`."""
        place = 0
        while page := self.ask(lambda most, place=place: call(most, place)):  # type: ignore[misc]
            yield from page
            place += len(page)


class CollectionHandle:
    """A collection, found again by its name when somebody has recreated it.

    Args:
        collection: A Chroma collection of any synchronous client, or a `langchain_chroma.Chroma`.

    Attributes:
        name: Its name.
        id: Chroma's id of it as it is now.
        files: The store's files that a write changes; none where it is not in files of this machine.
        is_in_process: It is in files or memory that this process itself opens.

    Raises:
        ConfigError: It is no such collection.
    """

    def __init__(self, collection: Any) -> None:
        collection = getattr(
            collection, "_collection", collection
        )  # LangChain's store tells it by no other name
        methods = [getattr(collection, method, None) for method in ("query", "get", "count")]
        if isinstance(collection, type) or not all(map(callable, methods)):
            given = "a class" if isinstance(collection, type) else type(collection).__name__
            raise ConfigError(
                f"ChromaSource takes a chromadb Collection or langchain_chroma.Chroma, got {given}"
            )
        if inspect.iscoroutinefunction(collection.query):
            raise ConfigError(
                "ChromaSource takes a collection of a synchronous client, got one of AsyncHttpClient"
            )
        self._collection = collection
        self._space = ""
        settings = settings_of(collection)
        self.is_in_process = "rust" in str(getattr(settings, "chroma_api_impl", "")).lower()
        self.files: tuple[str, ...] = ()
        if settings is not None and settings.is_persistent:
            self.files = files_of(settings.persist_directory)
        self.id = str(getattr(collection, "id", ""))
        self._process = os.getpid()
        self._portions = Portions(QUOTA if is_cloud(collection) else _UNLIMITED)
        self.name: str = collection.name

    def __getstate__(self) -> Any:
        """Refuse to be pickled or copied."""
        told = "is asked by a live client, which cannot be pickled or copied; build the engine anew there"
        raise ConfigError(f"collection {self.name!r} {told}")

    @property
    def collection(self) -> Any:
        """The Chroma collection as it is now."""
        return self._collection

    @property
    def most(self) -> int:
        """How many records it gives at once, as far as is known."""
        return self._portions.most

    @property
    def space(self) -> str:
        """The metric: cosine, l2 or ip."""
        if not self._space:
            self._space = _space_of(self._collection)
        return self._space

    def count(self) -> int:
        """Return how many records there are."""
        return int(self._call("count"))

    def nearest(self, vector: Sequence[float], n: int, **among: Any) -> list[tuple[str, float]]:
        """Return (id, raw distance) of up to n of a `where` or of `ids`, nearest first, ties by id."""
        asked = {"query_embeddings": [list(vector)], "include": ["distances"], **among}
        answer = self._portions.ask(lambda most: self._call("query", **asked, n_results=min(n, most)))
        ids, distances = (answer["ids"] or [[]])[0], (answer["distances"] or [[]])[0]
        hits = sorted(zip(steady_all(distances), ids, strict=True))
        if not math.isfinite(sum(distances)):
            hits = [hit for hit in hits if math.isfinite(hit[0])]
        return [(id_, distance) for distance, id_ in hits]

    def search(self, make: Callable[[int], list[Any]]) -> Any:
        """Return what the store's own search answers; `make` is told how many rows a search may ask for."""
        return self._portions.ask(lambda most: self._call("search", searches=make(most)))

    def read(self, ids: Sequence[str], include: Sequence[str]) -> Rows:
        """Return id → {field: value} of the ids that exist, the fields being those of `include`.

        Embeddings are left out where Chroma cannot give them: a record that another process wrote is
        not yet in this process's vector index.
        """
        wanted, found = list(dict.fromkeys(ids)), Rows()

        def portion(begin: int, end: int) -> Rows:
            asked, fields = {"ids": wanted[begin:end]}, list(include)
            try:
                return rows_of(self._call("get", **asked, include=fields), fields)
            except SourceError as error:
                if isinstance(error, QuotaError) or "embeddings" not in fields:
                    raise
                fields.remove("embeddings")
                return rows_of(self._call("get", **asked, include=fields), fields)

        for rows in self._portions.each(wanted, portion):
            found |= rows
        return found

    def metadata_of(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return id → metadata of the ids that exist."""
        return {id_: row.get("metadatas") or {} for id_, row in self.read(ids, ("metadatas",)).items()}

    def find(self, where: dict[str, Any] | None = None) -> list[str]:
        """Return all ids, or those that a `where` lets through, in the collection's order."""
        return list(self.rows(where))

    def holding(self, text: str, where: dict[str, Any] | None, most: int) -> list[str]:
        """Return up to `most` ids of records in whose document a text stands verbatim."""
        held = self._call("get", where=where, where_document={"$contains": text}, limit=most, include=[])
        return list(held["ids"])

    def few(self, where: dict[str, Any] | None, include: Sequence[str], most: int) -> Rows | None:
        """Return id → fields of what a `where` lets through, or None where that is more than so many."""
        found = self.rows(where, include, most=most + 1)
        return found if len(found) <= most else None

    def rows(
        self,
        where: dict[str, Any] | None = None,
        include: Sequence[str] = (),
        *,
        start: int = 0,
        most: int = _UNLIMITED,
    ) -> Rows:
        """Return id → fields of what a `where` lets through, in the collection's order, that of adding.

        Args:
            where: Chroma's filter; None lets all through.
            include: The fields.
            start: So many are passed over.
            most: Records at most; they are read at once, or as many at a time as may be.
        """
        found: Rows = {}

        def portion(quota: int) -> tuple[Rows, bool]:
            size = min(quota, most - len(found))
            bounds = {} if size == _UNLIMITED else {"limit": size, "offset": start + len(found)}
            answer = self._call("get", where=where, include=list(include), **bounds)
            return rows_of(answer, include), len(answer["ids"]) < size

        while len(found) < most:
            page, is_all = self._portions.ask(portion)
            is_new = bool(page.keys() - found.keys())
            found |= page
            if is_all or not is_new:
                break
        return found

    def _call(self, method: str, **arguments: Any) -> Any:
        if os.getpid() != self._process and self.is_in_process:
            # Chroma's own threads did not come along: any call would wait for ever, and the process with it.
            raise SourceError(
                f"collection {self.name!r} was opened before this process was forked, where Chroma cannot be"
                " used; open it in each process (gunicorn: without --preload, or in post_fork)"
            )
        answer = answer_of(self._asked, method, arguments)
        if isinstance(answer, Exception) and _says_missing(answer):
            answer = answer_of(self._reopen) or answer_of(self._asked, method, arguments)
        if isinstance(answer, Exception):  # clients raise errors of many libraries
            raise self._explained(answer) from None
        return answer

    def _asked(self, method: str, arguments: Mapping[str, Any]) -> Any:
        return getattr(self._collection, method)(**arguments)

    def _reopen(self) -> None:
        from chromadb.api.models.Collection import Collection

        old, server = self._collection, server_of(self._collection)
        model = server.get_collection(name=self.name, tenant=old.tenant, database=old.database)
        # Without an embedding function: Chroma would else bind one that downloads a model.
        self._collection = Collection(client=server, model=model, embedding_function=None)
        self.id = str(self._collection.id)

    def _explained(self, error: Exception) -> SourceError:
        text = str(error)
        if _says_missing(error):
            return SourceError(
                f"collection {self.name!r} does not exist (any more); create it or leave the source out"
            )
        if _is_quota(error):
            return QuotaError(f"collection {self.name!r} could not be read: {safe_message(error)}")
        if _NO_SEARCH.search(text):
            return NoSearchError(f"the server of collection {self.name!r} has no search of its own")
        if match := _DIMENSIONS.search(text):
            return SourceError(
                f"collection {self.name!r} holds vectors of another length than the query's: expected "
                f"{match['expected'] or match['held']}, got {match['got'] or match['given']}; use the "
                "embeddings it was filled with"
            )
        return SourceError(f"collection {self.name!r} could not be read: {safe_message(error)}")


def server_of(collection: Any) -> Any:
    """Return Chroma's API that a collection asks, None where it has none.

    A Collection says by no public name where it is: neither its store's folder, which the index lies beside,
    nor how it is found again after somebody recreated it. This is the one place that reads it.
    """
    return getattr(collection, "_client", None)


def files_of(folder: str) -> tuple[str, ...]:
    """Return the files of a store in a folder that a write changes."""
    file = f"{folder}/chroma.sqlite3"
    return file, f"{file}-wal"


def settings_of(collection: Any) -> Any:
    """Return the settings of a collection's client, or None where it has none."""
    server = server_of(collection)
    return server.get_settings() if hasattr(server, "get_settings") else None


def is_cloud(collection: Any) -> bool:
    """Tell whether a collection is in Chroma Cloud, whose quota is known."""
    return "trychroma.com" in str(getattr(settings_of(collection), "chroma_server_host", "") or "")


def _space_of(collection: Any) -> str:
    configuration = getattr(collection, "configuration", None) or {}
    spaces = ((configuration.get(index) or {}).get("space") for index in ("hnsw", "spann"))
    return str(next(filter(None, spaces), None) or (collection.metadata or {}).get("hnsw:space", "l2"))


def _is_quota(error: Exception) -> bool:
    return isinstance(error, QuotaError) or _QUOTA_WORDS.search(str(error)[:_LOOKED_AT]) is not None


def _says_missing(error: Exception) -> bool:
    return type(error).__name__ == "NotFoundError" or _MISSING.search(str(error)) is not None
