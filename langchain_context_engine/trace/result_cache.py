"""Whole answers, kept for a short while, in memory or in a store that several machines share."""

from __future__ import annotations

import json
import time
import warnings
from array import array
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeVar

from langchain_core.stores import ByteStore, InMemoryByteStore

from langchain_context_engine.config import EngineConfig
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.freeze import with_fields
from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.telemetry.instruments import record_cache
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.serialization import request_to_dict

__all__ = ["ResultCache", "StoredResultCache", "check_cache", "request_key"]

T = TypeVar("T")
Meant = str | Callable[[str, Context], bool] | None
"""What is to be forgotten: what a key contains, what a function of key and context says, or all."""


@dataclass(slots=True)
class _Entry:
    context: Context
    born_at: float
    expires_at: float


def check_cache(cache: Any) -> ResultCache | None:
    """Return a cache, or None, as it is.

    Raises:
        ConfigError: It is neither.
    """
    if cache is None or isinstance(cache, ResultCache):
        return cache
    raise ConfigError(f"cache must be a ResultCache, got {type(cache).__name__}")


class ResultCache:
    """Contexts by the whole request that they answer; the least recently used makes room. Thread-safe.

    Args:
        max_entries: Contexts that are kept.
        ttl_seconds: How long one serves after it was last used.
        longest_seconds: How long one serves however often it is used, so that what changed in a store, or
            who may see it, is felt.
        clock: Tells seconds.

    Raises:
        ConfigError: A number is not above 0.

    Example:
        >>> cache = ResultCache()
        >>> cache.set("question one", Context(text="answer"))
        >>> str(cache.get("question one")), cache.get("question two"), cache.hit_rate
        ('answer', None, 0.5)
    """

    is_in_memory = True
    """Whether looking something up never waits."""

    def __init__(
        self,
        max_entries: int = 100,
        ttl_seconds: float = 30.0,
        *,
        longest_seconds: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        given = {"max_entries": max_entries, "ttl_seconds": ttl_seconds, "longest_seconds": longest_seconds}
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise ConfigError(f"{name} must be a number above 0, got {value!r}")
        self.max_entries = int(max_entries)
        self.ttl_seconds = ttl_seconds
        self.longest_seconds = longest_seconds
        self.hits = 0
        self.misses = 0
        self._clock = clock
        self._lock = ForkSafeLock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)

    @property
    def hit_rate(self) -> float:
        """The share of look-ups that found something, 0–1; 0 before the first."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0

    def key(self, request: ContextRequest, engine: str, config: EngineConfig) -> str | None:  # noqa: ARG002
        """Return what an answer is kept under, or None where nothing tells it from others.

        Args:
            request: As it was asked.
            engine: What tells the engine from all others; here each has its own answers.
            config: Its settings.
        """
        return request_key(request, engine)

    def get(self, key: str) -> Context | None:
        """Return the context of a key, which then serves another `ttl_seconds`, or None."""
        with self._lock:
            now = self._clock()
            entry = self._entries.get(key)
            if entry is not None and now >= entry.expires_at:
                del self._entries[key]
                entry = None
            if entry is not None:
                entry.expires_at = min(now + self.ttl_seconds, entry.born_at + self.longest_seconds)
                self._entries.move_to_end(key)
        return self._looked_up(None if entry is None else entry.context)

    def _looked_up(self, found: Context | None) -> Context | None:
        with self._lock:
            self.hits += found is not None
            self.misses += found is None
        record_cache("results", is_hit=found is not None)
        return found

    def set(self, key: str, context: Context) -> None:
        """Keep a context, in place of an older one of that key."""
        with self._lock:
            now = self._clock()
            self._entries[key] = _Entry(context, now, now + min(self.ttl_seconds, self.longest_seconds))
            self._entries.move_to_end(key)
            while len(self._entries) > self.max_entries:
                self._entries.popitem(last=False)

    def invalidate(self, pattern: Meant = None) -> int:
        """Forget contexts and return how many.

        Args:
            pattern: Those whose key contains this text (a thread's or a user's id, a word of the
                question), or of which `pattern(key, context)` is true; None is all.
        """
        with self._lock:
            chosen = [key for key, entry in self._entries.items() if _is_meant(pattern, key, entry.context)]
            for key in chosen:
                del self._entries[key]
        return len(chosen)


def _is_meant(pattern: Meant, key: str, context: Context) -> bool:
    if pattern is None:
        return True
    return pattern in key if isinstance(pattern, str) else pattern(key, context)


def request_key(request: ContextRequest, engine: str = "") -> str | None:
    """Return a text that two requests share only if they ask for the same, or None where none can tell.

    It holds every field: the question, the scope, the history, what is pinned, the budget, ….

    Args:
        request: As it was asked, before the clock's time is filled in.
        engine: Tells apart what answers.

    Example:
        >>> request_key(ContextRequest(query="why?", scope={"user": "u1"}))
        '{"engine": "", "query": "why?", "scope": {"user": "u1"}}'
    """
    told = {"engine": engine}
    if request.vector is not None:
        # As a digest: some hundred numbers would take longer to write than the answer to find.
        told["vector"] = blake2b(array("d", request.vector).tobytes(), digest_size=20).hexdigest()
        request = with_fields(request, vector=None)
    try:
        return json.dumps(
            {**told, **request_to_dict(request, is_whole=True)}, sort_keys=True, ensure_ascii=False
        )
    except ConfigError:  # a function's or a Document's text would not tell it from another
        return None


class StoredResultCache(ResultCache):
    """A `ResultCache` whose contexts stand in a `ByteStore`, such as Redis, for all machines that reach it.

    Engines whose caches have one `name` and whose settings say the same answer for each other. So engines
    over other sources, or with other functions among their settings, take another name, and one whose
    sources change takes a new one. A context serves for `ttl_seconds` after it was made, by the machines'
    clocks, however often it is used; the store forgets by rules of its own. What `invalidate` forgets is
    forgotten on all machines. The texts of records stand in the store: it must be as private as they are.

    A store that fails costs one warning, and is as good as empty until it works again.

    Args:
        store: Where: any LangChain `ByteStore`. Give it a client that fails fast.
        name: What the engines that share it have in common.
        ttl_seconds: How long a context serves.

    Raises:
        ConfigError: `store` is no ByteStore, the name is empty, or `ttl_seconds` is not above 0.

    Example:
        >>> shared = InMemoryByteStore()
        >>> StoredResultCache(shared, "help-desk 1").set("question", Context(text="answer"))
        >>> str(StoredResultCache(shared, "help-desk 1").get("question"))
        'answer'
    """

    def __init__(self, store: ByteStore, name: str, ttl_seconds: float = 30.0) -> None:
        super().__init__(ttl_seconds=ttl_seconds, clock=time.time)
        if not all(callable(getattr(store, method, None)) for method in ("mget", "mset", "mdelete")):
            raise ConfigError(f"store must be a LangChain ByteStore, got {type(store).__name__}")
        if not isinstance(name, str) or not name.strip():
            raise ConfigError(
                f"name says what the engines have in common that share these results, got {name!r}"
            )
        self.store = store
        self.name = name
        self.is_in_memory = isinstance(store, InMemoryByteStore)
        self._prefix = f"context-engine-result-{_digest(name)}-"
        self._has_warned = False

    def __len__(self) -> int:
        return self._tried(lambda: len(self._entries_there()), 0)

    def key(self, request: ContextRequest, engine: str, config: EngineConfig) -> str | None:  # noqa: ARG002
        """Return the same for all engines with these settings, on whatever machine; see `ResultCache.key`."""
        return request_key(request, f"{self.name} {_digest(json.dumps(config.described(), sort_keys=True))}")

    def get(self, key: str) -> Context | None:
        """Return the context of a key, or None."""
        raw = self._tried(lambda: self.store.mget([self._place(key)])[0], None)
        told, context = self._read(raw)
        return self._looked_up(context if told == key else None)

    def set(self, key: str, context: Context) -> None:
        """Keep a context, in place of an older one of that key."""
        entry = {"key": key, "until": self._clock() + self.ttl_seconds, "context": context.to_dict()}
        written = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace")
        self._tried(lambda: self.store.mset([(self._place(key), written)]), None)

    def invalidate(self, pattern: Meant = None) -> int:
        """Forget contexts, for all machines, and return how many; see `ResultCache.invalidate`."""
        nothing: list[tuple[str, str, Context]] = []
        there = self._tried(self._entries_there, nothing)
        # Outside of what is tried: an error of a function that chooses is its caller's.
        chosen = [place for place, key, context in there if _is_meant(pattern, key, context)]
        return self._tried(lambda: self._forget(chosen), 0)

    def _forget(self, places: Sequence[str]) -> int:
        if places:
            self.store.mdelete(list(places))
        return len(places)

    def _entries_there(self) -> list[tuple[str, str, Context]]:
        """Return where each context stands that still serves, its key and itself."""
        # Stores differ in what a prefix is, a folder or a pattern, so it is applied here.
        places = [place for place in map(str, self.store.yield_keys()) if place.startswith(self._prefix)]
        read = zip(places, map(self._read, self.store.mget(places)), strict=True)
        return [(place, key, context) for place, (key, context) in read if context is not None]

    def _read(self, raw: bytes | None) -> tuple[str, Context | None]:
        """Return an entry's key and context; None where it serves no longer, is cut short or not ours."""
        try:
            entry = json.loads(raw or b"null")
            if not isinstance(entry, Mapping) or not entry.get("until", 0) > self._clock():
                return "", None
            return str(entry["key"]), Context.from_dict(entry["context"])
        except (ValueError, TypeError, LookupError, RecursionError):
            return "", None

    def _place(self, key: str) -> str:
        return f"{self._prefix}{_digest(key)}"

    def _tried(self, call: Callable[[], T], otherwise: T) -> T:
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - whatever a store raises, the answer stands
            if not self._has_warned:
                self._has_warned = True
                warnings.warn(
                    f"the result cache's store fails, answers are made anew: {safe_message(error)}",
                    stacklevel=3,
                )
            return otherwise


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
