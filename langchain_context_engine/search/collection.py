"""A Chroma collection as sources use it: reopened when recreated, read in batches, one kind of error."""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from langchain_context_engine.errors import ConfigError, SourceError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.search.quotas import QUOTA, fewer, is_cloud, is_quota
from langchain_context_engine.search.records import Rows, rows_of, steady

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
_DIMENSIONS = re.compile(r"dimension\D{0,20}(\d+)\D+got (\d+)")
_OTHER_DIMENSIONS = re.compile(r"dimension (\d+) does not match \D*(\d+)")
FIELDS = ("documents", "metadatas")
"""What a record is made of beside its vector."""

_UNLIMITED = 2**31 - 1
_BATCH = 5000
"""Ids a call; Chroma takes 5,461 in an add, and SQLite a limited number of variables."""


_NO_SEARCH = re.compile(r"search\b.{0,30}not implemented", re.IGNORECASE)


class QuotaError(SourceError):
    """A store gives fewer records at once than it was asked for."""


class NoSearchError(SourceError):
    """A store has no search of its own."""


def check_collection_name(name: str) -> str:
    """Return the name if Chroma takes it.

    Raises:
        ConfigError: It is not 3–512 of `a-zA-Z0-9._-` that start and end with a letter or digit.

    Example:
        >>> check_collection_name("my-docs")
        'my-docs'
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or ".." in name:
        msg = (
            "a collection's name has 3 to 512 characters of a-z A-Z 0-9 . _ -, starts and ends with a "
            f"letter or digit and has no two dots in a row; got {name!r}"
        )
        raise ConfigError(msg)
    return name


class CollectionHandle:
    """A collection, found again by its name when somebody has recreated it.

    Args:
        collection: A Chroma collection of any synchronous client.

    Raises:
        ConfigError: It is no such collection.
    """

    def __init__(self, collection: Any) -> None:
        methods = [getattr(collection, method, None) for method in ("query", "get", "count")]
        if isinstance(collection, type) or not all(map(callable, methods)):
            given = "a class" if isinstance(collection, type) else type(collection).__name__
            msg = f"ChromaSource takes a chromadb Collection or langchain_chroma.Chroma, got {given}"
            raise ConfigError(msg)
        if inspect.iscoroutinefunction(collection.query):
            msg = "ChromaSource takes a collection of a synchronous client, got one of AsyncHttpClient"
            raise ConfigError(msg)
        self._collection = collection
        self._space = ""
        self._process = os.getpid()
        self.most = QUOTA if is_cloud(collection) else _UNLIMITED
        self.name: str = collection.name

    @property
    def collection(self) -> Any:
        """The Chroma collection as it is now."""
        return self._collection

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
        answer = self._within_quota(lambda most: self._call("query", **asked, n_results=min(n, most)))
        found = zip((answer["ids"] or [[]])[0], (answer["distances"] or [[]])[0], strict=True)
        return sorted(
            ((id_, steady(float(distance))) for id_, distance in found if math.isfinite(distance)),
            key=lambda pair: (pair[1], pair[0]),
        )

    def search(self, make: Callable[[int], list[Any]]) -> Any:
        """Return what the store's own search answers; `make` is told how many rows a search may ask for."""
        return self._within_quota(lambda most: self._call("search", searches=make(most)))

    def read(self, ids: Sequence[str], include: Sequence[str]) -> Rows:
        """Return id → {field: value} of the ids that exist, the fields being those of `include`.

        Embeddings are left out where Chroma cannot give them: a record that another process wrote is
        not yet in this process's vector index.
        """
        wanted = list(dict.fromkeys(ids))
        found: Rows = {}
        while wanted:
            size = min(_BATCH, self.most)
            batch, fields = wanted[:size], list(include)
            try:
                answer = self._call("get", ids=batch, include=fields)
            except QuotaError as error:
                self._learn(error, size)
                continue
            except SourceError:
                if "embeddings" not in fields:
                    raise
                fields.remove("embeddings")
                answer = self._call("get", ids=batch, include=fields)
            found |= rows_of(answer, fields)
            wanted = wanted[size:]
        return found

    def metadata_of(self, ids: Sequence[str]) -> Rows:
        """Return id → metadata of the ids that exist."""
        return {id_: row.get("metadatas") or {} for id_, row in self.read(ids, ("metadatas",)).items()}

    def find(self, where: dict[str, Any] | None = None) -> list[str]:
        """Return all ids, or those that a `where` lets through, in the collection's order."""
        return list(self.rows(where, ()))

    def holding(self, text: str, where: dict[str, Any] | None, most: int) -> list[str]:
        """Return up to `most` ids of records in whose document a text stands verbatim."""
        held = self._call("get", where=where, where_document={"$contains": text}, limit=most, include=[])
        return list(held["ids"])

    def ids_from(self, place: int, most: int) -> list[str]:
        """Return up to `most` ids from a place on, in the collection's order."""
        answer = self._within_quota(
            lambda quota: self._call("get", limit=min(most, quota), offset=place, include=[])
        )
        return list(answer["ids"])

    def page(self, place: int, most: int) -> Rows:
        """Return id → text and metadata of up to `most` records from a place on, in Chroma's order."""
        answer = self._within_quota(
            lambda quota: self._call("get", limit=min(most, quota), offset=place, include=list(FIELDS))
        )
        return rows_of(answer, FIELDS)

    def metadata(self, where: dict[str, Any] | None) -> Rows:
        """Return id → metadata of all records that a `where` lets through, in the collection's order."""
        found = self.rows(where, ("metadatas",))
        return {id_: fields["metadatas"] or {} for id_, fields in found.items()}

    def few(self, where: dict[str, Any] | None, include: Sequence[str], most: int) -> Rows | None:
        """Return id → fields of what a `where` lets through, or None where that is more than so many."""
        ask = {"where": where, "include": list(include)}
        answer = self._within_quota(lambda quota: self._call("get", **ask, limit=min(most + 1, quota)))
        found = rows_of(answer, include)
        return found if len(found) < min(most + 1, self.most) else None

    def rows(self, where: dict[str, Any] | None, include: Sequence[str]) -> Rows:
        """Return id → fields of all that a `where` lets through, at once or as many at a time as may be."""
        if self.most == _UNLIMITED:
            try:
                return rows_of(self._call("get", where=where, include=list(include)), include)
            except QuotaError as error:
                self._learn(error, _UNLIMITED)
        found: Rows = {}
        while True:
            answer = self._within_quota(
                lambda most, done: self._call(
                    "get", where=where, include=list(include), limit=most, offset=done
                ),
                len(found),
            )
            page = rows_of(answer, include)
            if not page.keys() - found.keys():
                return found
            found |= page

    def _within_quota(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a call gives that is told how many records it may ask for."""
        while True:
            try:
                return call(self.most, *arguments)
            except QuotaError as error:
                self._learn(error, self.most)  # ends it where there is nothing smaller to ask for

    def _learn(self, error: QuotaError, asked: int) -> None:
        """Ask for no more than a quota from now on."""
        self.most, self._process = fewer(asked, error), os.getpid()

    def id_at(self, place: int) -> str:
        """Return the id at a place in the collection's order, the order of adding; "" beyond the end."""
        return next(iter(self._call("get", limit=1, offset=place, include=[])["ids"]), "")

    def _call(self, method: str, **arguments: Any) -> Any:
        if os.getpid() != self._process and is_in_process(self._collection):
            # Chroma's own threads did not come along: any call would wait for ever, and the process with it.
            msg = (
                f"collection {self.name!r} was opened before this process was forked, where Chroma cannot be"
                " used; open it in each process (gunicorn: without --preload, or in post_fork)"
            )
            raise SourceError(msg)
        try:
            return getattr(self._collection, method)(**arguments)
        except Exception as error:  # noqa: BLE001 - clients raise errors of many libraries
            if not _says_missing(error):
                raise self._explained(error) from None
        self._reopen()
        try:
            return getattr(self._collection, method)(**arguments)
        except Exception as error:  # noqa: BLE001
            raise self._explained(error) from None

    def _reopen(self) -> None:
        from chromadb.api.models.Collection import Collection

        old = self._collection
        try:
            model = old._client.get_collection(name=self.name, tenant=old.tenant, database=old.database)  # noqa: SLF001
            # Without an embedding function: Chroma would else bind one that downloads a model.
            self._collection = Collection(client=old._client, model=model, embedding_function=None)  # noqa: SLF001
        except Exception as error:  # noqa: BLE001
            if _says_missing(error):
                msg = f"collection {self.name!r} does not exist (any more); create it or leave the source out"
                raise SourceError(msg) from None
            raise self._explained(error) from None

    def _explained(self, error: Exception) -> SourceError:
        text = str(error)
        if is_quota(error):
            return QuotaError(f"collection {self.name!r} could not be read: {safe_message(error)}")
        if _NO_SEARCH.search(text):
            return NoSearchError(f"the server of collection {self.name!r} has no search of its own")
        match = _DIMENSIONS.search(text)
        if match:
            expected, got = match.groups()
        else:
            match = _OTHER_DIMENSIONS.search(text)
            got, expected = match.groups() if match else ("", "")
        if match:
            return SourceError(
                f"collection {self.name!r} holds vectors of another length than the query's: "
                f"expected {expected}, got {got}; use the embeddings it was filled with"
            )
        return SourceError(f"collection {self.name!r} could not be read: {safe_message(error)}")


def _space_of(collection: Any) -> str:
    configuration = getattr(collection, "configuration", None) or {}
    spaces = ((configuration.get(index) or {}).get("space") for index in ("hnsw", "spann"))
    return str(next(filter(None, spaces), None) or (collection.metadata or {}).get("hnsw:space", "l2"))


def is_in_process(collection: Any) -> bool:
    """Tell whether a collection is in files or memory that this process itself opens."""
    settings = getattr(getattr(getattr(collection, "_client", None), "_system", None), "settings", None)
    return "rust" in str(getattr(settings, "chroma_api_impl", "")).lower()


def _says_missing(error: Exception) -> bool:
    return type(error).__name__ == "NotFoundError" or bool(
        re.search(r"collection \S* ?does not exist", str(error), re.IGNORECASE)
    )
