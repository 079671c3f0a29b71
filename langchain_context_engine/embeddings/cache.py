"""`CachedEmbeddings`: any embeddings with a memory of what they have embedded."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import struct
import threading
import time
import warnings
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.stores import ByteStore, InMemoryByteStore

from langchain_context_engine.embeddings.vectors import Vector, align, check_vectors, is_blank, refuse_blank
from langchain_context_engine.errors import ConfigError, EmbeddingError
from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.telemetry import record_cache

_QUERY, _DOCUMENT = "query", "document"
_NAMES = ("model", "model_name", "model_id", "deployment", "deployment_name", "azure_deployment")
_PLACES = ("azure_endpoint", "openai_api_base", "base_url", "endpoint_url", "revision", "dimensions")
"""Attributes by which embeddings differ that have one model's name: where they are asked, and for what."""
_OF_TRANSPORT = re.compile(
    "key|token|secret|passw|timeout|retr|progress|chunk|batch|header|prox|client|verbose"
)
"""In names of settings that change how embeddings are asked, and no vector."""

# An entry is a mark, the array's type code, when it was written (epoch seconds), and the numbers.
_HEADER = struct.Struct("<2scd")
_MARK = b"e1"

Call = Callable[[list[str]], object]


class CachedEmbeddings(Embeddings):
    """Embeds each text once: later, and at the same time, equal texts get the same vector, to the bit.

    Texts wanted at once cost one call; if it fails, all who wait get its error and nothing is kept. An answer
    with a NaN, infinite, zero or short vector is refused whole. Queries and documents are kept apart, since
    some models embed them differently. A store that fails costs one warning. Asked from an event loop it
    works in a thread. Blank texts: see `langchain_context_engine.embeddings`.

    Machines that share a store embed each text once in all. There leave the bound to the store
    (`max_size=None`, Redis' own `maxmemory`), and give its client a short timeout without retries.

    Args:
        embeddings: What embeds.
        store: Any LangChain `ByteStore`, for example one over Redis or files; None is memory.
        model: What names the vectors; entries of another model are never served. None takes it from the
            embeddings: their class, model, deployment, address, dimensions and other settings.
        max_size: Entries kept, the least recently used evicted first; None is no bound.
        ttl_seconds: How long an entry serves; None is for ever.

    Attributes:
        model: The name in use.
        dimensions: Length of a vector; None until it is known.

    Raises:
        ConfigError: `embeddings` cannot embed, `max_size` or `ttl_seconds` is not positive, or a store
            is given and nothing names the model: its vectors could then be served for another one's.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> cached = CachedEmbeddings(DeterministicFakeEmbedding(size=3), max_size=1000, ttl_seconds=3600)
        >>> cached.embed_query("a") == cached.embed_query("a"), len(cached)
        (True, 1)
    """

    def __init__(
        self,
        embeddings: Embeddings,
        store: ByteStore | None = None,
        model: str | None = None,
        *,
        max_size: int | None = 10_000,
        ttl_seconds: float | None = None,
    ) -> None:
        if max_size is not None and (not isinstance(max_size, int) or max_size < 1):
            raise ConfigError(
                f"max_size must be a whole number of 1 or more, or None for no bound, got {max_size!r}"
            )
        if ttl_seconds is not None and not (ttl_seconds > 0 and math.isfinite(ttl_seconds)):
            raise ConfigError(f"ttl_seconds must be above 0, or None for no limit, got {ttl_seconds!r}")
        kind, named = type(embeddings).__name__, _told_by(embeddings, _NAMES)
        if not callable(getattr(embeddings, "embed_query", None)):
            raise ConfigError(f"embeddings must be LangChain Embeddings, got {kind}")
        if store is not None and not (model or named):
            raise ConfigError(
                f"a store can serve several models, and {kind} does not name its own: pass model='…'"
            )
        self.embeddings = embeddings
        self.model = model or next(iter(named.values()), kind)
        self.dimensions: int | None = getattr(embeddings, "dimensions", None)
        settings = {*_PLACES, *getattr(type(embeddings), "model_fields", ())}
        identity = model or repr((kind, named, _told_by(embeddings, sorted(settings))))
        self._prefix = f"embedding-{_digest(identity)[:32]}-"
        self._store: ByteStore = InMemoryByteStore() if store is None else store
        self._max_size, self._ttl_seconds = max_size, ttl_seconds
        # Keys by use, the latest last; None until the store was listed, which without a bound is never.
        self._order: OrderedDict[str, None] | None = None
        self._has_warned = False
        self._begin()

    def _begin(self) -> None:
        self._flights: dict[str, Future[Vector]] = {}
        self._lock = ForkSafeLock(self._flights.clear)

    def key(self, text: str, *, role: str = _QUERY) -> str:
        """Return the key that a text's vector is kept under: of the model, what it is, and the text.

        `role` is `"query"` or `"document"`, here and elsewhere.
        """
        # Digests have a fixed length, so no two of model, role and text can join to one key; and they hold
        # only characters that every store takes in a key.
        return f"{self._prefix}{role}-{_digest(text)}"

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query.

        Raises:
            EmbeddingError: The query is empty or only spaces, or its vector is unusable.
        """
        refuse_blank(text)
        return self._embed([text], _QUERY, self._queries)[0]

    async def aembed_query(self, text: str) -> Vector:
        """Return the vector of a query; as `embed_query`, in a thread."""
        refuse_blank(text)
        return (await self._aembed([text], _QUERY, self._queries))[0]

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        """Return one vector for each text, in order; zeros for a text that is empty or only spaces.

        Only texts that are not known yet are sent, each once, in one call.

        Raises:
            EmbeddingError: A vector is missing or unusable; nothing of that call is then kept.
        """
        return self._embed(texts, _DOCUMENT, self.embeddings.embed_documents)

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        """Return one vector for each text; as `embed_documents`, in a thread."""
        return await self._aembed(texts, _DOCUMENT, self.embeddings.embed_documents)

    def get(self, text: str, *, role: str = _QUERY) -> Vector | None:
        """Return the vector kept for a text, or None; nothing is embedded."""
        key = self.key(text, role=role)
        return self._read([key]).get(key)

    def set(self, text: str, vector: Sequence[float], *, role: str = _QUERY) -> None:
        """Keep a vector for a text.

        Raises:
            EmbeddingError: The vector is unusable.
        """
        self._write({self.key(text, role=role): self._checked([vector], 1)[0]})

    def clear(self) -> None:
        """Forget every vector of this model, in the store too; entries of other models stay."""
        if keys := self._keys():
            self._store.mdelete(keys)
        self._order = None

    def __len__(self) -> int:
        """Count the entries of this model."""
        return len(self._keys())

    def _queries(self, texts: list[str]) -> list[Vector]:
        return [self.embeddings.embed_query(text) for text in texts]

    def _keys(self) -> list[str]:
        # All of a store's: what stores take for a prefix differs (a beginning, a pattern, a folder).
        return [key for key in self._store.yield_keys() if key.startswith(self._prefix)]

    def _embed(self, texts: list[str], role: str, call: Call) -> list[Vector]:
        flights, mine = self._claimed(texts, role)
        self._land(mine, call)
        return self._in_order(texts, role, {key: flight.result() for key, flight in flights.items()})

    async def _aembed(self, texts: list[str], role: str, call: Call) -> list[Vector]:
        flights, mine = self._claimed(texts, role)
        if mine:
            # A thread of its own: of a pool's many would wait their turn, and ask anew after a failure.
            threading.Thread(target=self._land, args=(mine, call), daemon=True).start()
        found = {key: await asyncio.wrap_future(flight) for key, flight in flights.items()}
        return self._in_order(texts, role, found)

    def _in_order(self, texts: list[str], role: str, found: Mapping[str, Vector]) -> list[Vector]:
        # Copies, so that whoever changes a vector changes it for no one else.
        spoken = (list(found[self.key(text, role=role)]) for text in texts if not is_blank(text))
        return align(texts, spoken, self.dimensions)

    def _claimed(self, texts: list[str], role: str) -> tuple[dict[str, Future[Vector]], dict[str, str]]:
        """Return the flights that bring each vector, and by key the texts of those that nobody else lands."""
        flights, mine = dict[str, Future[Vector]](), dict[str, str]()
        wanted = {self.key(text, role=role): text for text in texts if not is_blank(text)}
        with self._lock:
            for key, text in wanted.items():
                if key not in self._flights:
                    mine[key] = text
                    self._flights[key] = Future()
                    # From here on the cancellation of one who waits does not reach the others.
                    self._flights[key].set_running_or_notify_cancel()
                flights[key] = self._flights[key]
        return flights, mine

    def _land(self, wanted: Mapping[str, str], call: Call) -> None:
        """Land flights with what is known or is now embedded, or with what that raises."""
        landed: dict[str, Vector] = {}
        told: Exception = EmbeddingError("the embedding was interrupted")
        try:
            known = self._read(list(wanted)) if wanted else {}
            landed = {key: vector for key, vector in known.items() if self.dimensions in (None, len(vector))}
            for key in wanted:
                record_cache("embeddings", is_hit=key in landed)
            if new := {key: text for key, text in wanted.items() if key not in landed}:
                fresh = dict(zip(new, self._checked(call(list(new.values())), len(new)), strict=True))
                self._write(fresh)
                landed |= fresh
        except Exception as error:  # noqa: BLE001 - raised by whoever waits
            told, landed = error, {}
        finally:
            with self._lock:
                flights = {key: self._flights.pop(key) for key in wanted if key in self._flights}
            for key, flight in flights.items():
                if key in landed:
                    flight.set_result(landed[key])
                else:
                    flight.set_exception(told)

    def _checked(self, answer: object, count: int) -> list[Vector]:
        vectors = check_vectors(answer, count=count, model=self.model, dimensions=self.dimensions)
        self.dimensions = len(vectors[0])
        return vectors

    def _read(self, keys: Sequence[str]) -> dict[str, Vector]:
        with self._store_at_its_best():
            raw = zip(keys, self._store.mget(list(keys)), strict=True)
            vectors = {key: vector for key, value in raw if (vector := self._decoded(value)) is not None}
            self._touch(vectors)
            return vectors
        return {}

    def _write(self, vectors: Mapping[str, Vector]) -> None:
        with self._store_at_its_best():
            now = time.time()
            self._store.mset([(key, _encoded(vector, now)) for key, vector in vectors.items()])
            self._touch(vectors)

    @contextmanager
    def _store_at_its_best(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - stores are anyone's and raise anything
            if not self._has_warned:
                self._has_warned = True
                told = f"the store of embeddings failed, so texts are embedded anew: {safe_message(error)}"
                warnings.warn(told, stacklevel=2)

    def _touch(self, keys: Iterable[str]) -> None:
        """Note that keys were used, and delete those that are now beyond `max_size`."""
        if self._max_size is None:
            return
        with self._lock:
            if self._order is None:
                self._order = OrderedDict.fromkeys(self._keys())
            for key in keys:
                self._order[key] = None
                self._order.move_to_end(key)
            surplus = [self._order.popitem(last=False)[0] for _ in range(len(self._order) - self._max_size)]
        if surplus:
            self._store.mdelete(surplus)

    def _decoded(self, raw: bytes | None) -> Vector | None:
        if raw is None or len(raw) <= _HEADER.size:
            return None
        mark, code, written = _HEADER.unpack_from(raw)
        if mark != _MARK or (self._ttl_seconds is not None and time.time() - written >= self._ttl_seconds):
            return None
        try:
            return array(code.decode("ascii"), raw[_HEADER.size :]).tolist()
        except (ValueError, TypeError):
            return None  # cut short or not ours: embedded anew, and then written over

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is under way."""
        return {name: value for name, value in self.__dict__.items() if name not in {"_flights", "_lock"}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start with nothing under way."""
        self.__dict__.update(state)
        self._begin()


def _encoded(vector: Vector, now: float) -> bytes:
    # Half the size where no digit is lost, as with every embedder that computes in single precision.
    numbers = array("f", vector)
    if numbers.tolist() != vector:
        numbers = array("d", vector)
    return _HEADER.pack(_MARK, numbers.typecode.encode(), now) + numbers.tobytes()


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


def _told_by(embeddings: Embeddings, names: Iterable[str]) -> dict[str, str]:
    found = {name: getattr(embeddings, name, None) for name in names if not _OF_TRANSPORT.search(name)}
    return {name: str(value) for name, value in found.items() if _is_told(value)}


def _is_told(value: object) -> bool:
    """Tell whether a setting is set, and says the same in every process: it is of plain data alone."""
    if isinstance(value, dict):
        return bool(value) and all(map(_is_told, value.values()))
    return isinstance(value, (str, int, float)) and value != ""
