"""What was read lately, kept while it is small enough together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from langchain_context_engine.models.locks import ForkSafeLock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A cache bounded by bytes; thread-safe. What was not asked for longest goes first.

    Args:
        most_bytes: What it may hold, as those who put things in say. One thing that takes more than an
            eighth of it is not kept.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = ForkSafeLock()

    def __len__(self) -> int:
        return len(self._kept)

    def get_all(self, keys: Iterable[K]) -> dict[K, V]:
        """Return those that are here."""
        found: dict[K, V] = {}
        with self._lock:
            for key in keys:
                kept = self._kept.get(key)
                if kept is not None:
                    self._kept.move_to_end(key)
                    found[key] = kept[0]
        return found

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value that takes so many bytes."""
        if size > self.most_bytes // 8:
            return
        with self._lock:
            old = self._kept.pop(key, None)
            self._bytes += size - (old[1] if old else 0)
            self._kept[key] = (value, size)
            while self._bytes > self.most_bytes:
                _, (_, freed) = self._kept.popitem(last=False)
                self._bytes -= freed

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0
