"""Whole answers in a store that several machines share: what one answered, no other asks for."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

from langchain_core.stores import ByteStore, InMemoryByteStore

from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.trace.config import EngineConfig
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.result_cache import ResultCache, is_meant, request_key

__all__ = ["StoredResultCache"]

T = TypeVar("T")


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
            msg = f"store must be a LangChain ByteStore, got {type(store).__name__}"
            raise ConfigError(msg)
        if not isinstance(name, str) or not name.strip():
            msg = f"name says what the engines have in common that share these results, got {name!r}"
            raise ConfigError(msg)
        self.store = store
        self.name = name
        self._prefix = f"context-engine-result-{_digest(name)}-"
        self._has_warned = False
        self._told: tuple[EngineConfig, str] | None = None

    def __len__(self) -> int:
        return self._tried(lambda: len(self._entries_there()), 0)

    @property
    def is_in_memory(self) -> bool:
        """Whether looking something up never waits."""
        return isinstance(self.store, InMemoryByteStore)

    def key(self, request: ContextRequest, engine: str, config: EngineConfig) -> str | None:  # noqa: ARG002
        """Return the same for all engines with these settings, on whatever machine; see `ResultCache.key`."""
        if self._told is None or self._told[0] is not config:
            self._told = config, _digest(json.dumps(config.described(), sort_keys=True, default=str))
        return request_key(request, f"{self.name} {self._told[1]}")

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

    def invalidate(self, pattern: str | Callable[[str, Context], bool] | None = None) -> int:
        """Forget contexts, for all machines, and return how many; see `ResultCache.invalidate`."""
        nothing: list[tuple[str, str, Context]] = []
        there = self._tried(self._entries_there, nothing)
        # Outside of what is tried: an error of a function that chooses is its caller's.
        chosen = [place for place, key, context in there if is_meant(pattern, key, context)]
        return self._tried(lambda: self._forget(chosen), 0)

    def _forget(self, places: Sequence[str]) -> int:
        if places:
            self.store.mdelete(list(places))
        return len(places)

    def _entries_there(self) -> list[tuple[str, str, Context]]:
        """Return where each context stands that still serves, its key and itself."""
        # Stores differ in what a prefix is, a folder or a pattern, so it is applied here.
        places = [place for place in map(str, self.store.yield_keys()) if place.startswith(self._prefix)]
        found = []
        for place, raw in zip(places, self.store.mget(places), strict=True):
            key, context = self._read(raw)
            if context is not None:
                found.append((place, key, context))
        return found

    def _read(self, raw: bytes | None) -> tuple[str, Context | None]:
        """Return an entry's key and its context, or None where that serves no longer or is not ours."""
        entry = _entry(raw)
        key = str(entry.get("key", ""))
        if not entry.get("until", 0) > self._clock():
            return key, None
        try:
            return key, Context.from_dict(entry.get("context", {}))
        except ConfigError:  # of a newer version of this package: made anew, and then written over
            return key, None

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


def _entry(raw: bytes | None) -> Mapping[str, Any]:
    """Return what stands in an entry; nothing of one that is cut short or not ours."""
    try:
        found = json.loads(raw or b"null")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("until"), (int, float)) else {}


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
