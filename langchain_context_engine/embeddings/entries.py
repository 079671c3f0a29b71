"""The entries of the embedding cache: exact vectors as bytes in a `ByteStore`, bounded by number and age."""

from __future__ import annotations

import struct
import time
import warnings
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.stores import ByteStore, InMemoryByteStore

from langchain_context_engine.embeddings.vectors import Vector
from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.redact import safe_message

# An entry is a mark, the array's type code, when it was written (epoch seconds), and the numbers.
_HEADER = struct.Struct("<2scd")
_MARK = b"e1"


class Entries:
    """Vectors under keys: the least recently used are evicted, those older than `ttl_seconds` forgotten.

    A store that fails costs one warning, and counts as empty until it works again.

    Args:
        store: Where; None is memory of its own.
        prefix: What all keys begin with: entries of others in the same store are left alone.
        max_size: Entries kept, those found in the store at first use included; None is no bound.
        ttl_seconds: How long an entry serves; None is for ever.
    """

    def __init__(
        self, store: ByteStore | None, *, prefix: str, max_size: int | None, ttl_seconds: float | None
    ) -> None:
        self.store: ByteStore = InMemoryByteStore() if store is None else store
        self.prefix = prefix
        self.max_size = max_size
        self.ttl_seconds = ttl_seconds
        # Keys by use, the latest last; None until the store has been listed, which without a bound is never.
        self._order: OrderedDict[str, None] | None = None
        if store is None and max_size is not None:
            self._order = OrderedDict()
        self._lock = ForkSafeLock()
        self._has_warned = False

    @property
    def is_in_memory(self) -> bool:
        """Whether reading and writing never wait, so that an event loop may do them itself."""
        return isinstance(self.store, InMemoryByteStore)

    def read(self, keys: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of those keys that have a usable one."""
        try:
            raw = zip(keys, self.store.mget(list(keys)), strict=True)
            vectors = {key: vector for key, value in raw if (vector := self._decoded(value)) is not None}
            if vectors:
                self._touch(vectors)
        except Exception as error:  # noqa: BLE001 - stores are anyone's and raise anything
            self._warn(error)
            return {}
        return vectors

    def write(self, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors, and evict what is then too much."""
        try:
            now = time.time()
            self.store.mset([(key, _encoded(vector, now)) for key, vector in vectors.items()])
            self._touch(vectors)
        except Exception as error:  # noqa: BLE001 - stores are anyone's and raise anything
            self._warn(error)

    def clear(self) -> None:
        """Forget every entry under the prefix."""
        with self._lock:
            if keys := self._keys():
                self.store.mdelete(keys)
            self._order = None if self.max_size is None else OrderedDict()

    def __len__(self) -> int:
        with self._lock:
            return len(self._keys())

    def _keys(self) -> list[str]:
        if self._order is not None:
            return list(self._order)
        # What stores take for a prefix differs: what a key begins with, a pattern (Redis), a folder (files).
        return self._listed(self.prefix) or self._by_pattern() or self._listed(None)

    def _by_pattern(self) -> list[str]:
        try:
            return self._listed(f"{self.prefix}*")
        except Exception:  # noqa: BLE001 - a store may refuse the sign, as that of files does
            return []

    def _listed(self, prefix: str | None) -> list[str]:
        return [key for key in self.store.yield_keys(prefix=prefix) if key.startswith(self.prefix)]

    def _touch(self, keys: Iterable[str]) -> None:
        """Note that keys were used, and delete those that are now beyond `max_size`."""
        if self.max_size is None:
            return
        with self._lock:
            if self._order is None:
                self._order = OrderedDict.fromkeys(self._keys())
            for key in keys:
                self._order[key] = None
                self._order.move_to_end(key)
            surplus = [self._order.popitem(last=False)[0] for _ in range(len(self._order) - self.max_size)]
        if surplus:
            self.store.mdelete(surplus)

    def _decoded(self, raw: bytes | None) -> Vector | None:
        if raw is None or len(raw) <= _HEADER.size:
            return None
        mark, code, written = _HEADER.unpack_from(raw)
        if mark != _MARK or (self.ttl_seconds is not None and time.time() - written >= self.ttl_seconds):
            return None
        try:
            numbers = array(code.decode("ascii"))
            numbers.frombytes(raw[_HEADER.size :])
        except ValueError:
            # Cut short or not ours: embedded anew, and then written over.
            return None
        return numbers.tolist()

    def _warn(self, error: Exception) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"the embedding cache's store fails, texts are embedded anew: {safe_message(error)}",
                stacklevel=2,
            )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make a lock of its own."""
        self.__dict__.update(state)
        self._lock = ForkSafeLock()


def _encoded(vector: Vector, now: float) -> bytes:
    # Half the size where no digit is lost, as with every embedder that computes in single precision.
    numbers = array("f", vector)
    if numbers.tolist() != vector:
        numbers = array("d", vector)
    return _HEADER.pack(_MARK, numbers.typecode.encode(), now) + numbers.tobytes()
