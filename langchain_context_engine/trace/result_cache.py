"""Cache of whole answers, for a short while: the same question within seconds asks no source again."""

from __future__ import annotations

import json
import math
import time
from array import array
from collections.abc import Callable
from hashlib import blake2b

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.freeze import with_fields
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.telemetry import record_cache
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.serialization import request_to_dict

Meant = str | Callable[[str, Context], bool] | None
"""What is to be forgotten: what a key contains, what a function of key and context says, or all."""


_LONGEST_SECONDS = 600.0
"""How long one serves however often it is used: what changed in a store, or who may see it, is felt."""


class ResultCache:
    """Contexts by the whole request that they answer; the least recently used makes room.

    Threads may share it: of two that look up one key at the very same time, one may miss it and ask anew.

    Args:
        max_entries: Contexts that are kept.
        ttl_seconds: How long one serves after it was last used.
        clock: Tells seconds.

    Raises:
        ConfigError: A number is not above 0.

    Example:
        >>> cache = ResultCache()
        >>> cache.set("question one", Context(text="answer"))
        >>> str(cache.get("question one")), cache.get("question two"), cache.hit_rate
        ('answer', None, 0.5)
    """

    def __init__(
        self,
        max_entries: int = 100,
        ttl_seconds: float = 30.0,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not min(max_entries, ttl_seconds) > 0:
            raise ConfigError(
                f"the numbers of a ResultCache must be above 0, got {max_entries!r} and {ttl_seconds!r}"
            )
        self.max_entries = int(max_entries)
        self.ttl_seconds = ttl_seconds
        self.hits = 0
        self.misses = 0
        self._clock = clock
        self._entries: dict[str, tuple[Context, float, float]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def hit_rate(self) -> float:
        """The share of look-ups that found something, 0–1; 0 before the first."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0

    def get(self, key: str) -> Context | None:
        """Return the context of a key, which then serves another `ttl_seconds`, or None."""
        context, born_at, expires_at = self._entries.pop(key, (None, 0.0, -math.inf))
        if self._clock() >= expires_at:
            context = None
        if context is not None:
            self._keep(key, context, born_at)
        self.hits += context is not None
        self.misses += context is None
        record_cache("results", is_hit=context is not None)
        return context

    def set(self, key: str, context: Context) -> None:
        """Keep a context, in place of an older one of that key."""
        self._entries.pop(key, None)
        self._keep(key, context, self._clock())
        for oldest in list(self._entries)[: -self.max_entries]:
            self._entries.pop(oldest, None)

    def _keep(self, key: str, context: Context, born_at: float) -> None:
        expires_at = min(self._clock() + self.ttl_seconds, born_at + _LONGEST_SECONDS)
        self._entries[key] = context, born_at, expires_at

    def invalidate(self, pattern: Meant = None) -> int:
        """Forget contexts and return how many.

        Args:
            pattern: Those whose key contains this text (a thread's or a user's id, a word of the
                question), or of which `pattern(key, context)` is true; None is all.
        """
        chosen = [
            key
            for key, (context, *_) in list(self._entries.items())
            if (pattern in key if isinstance(pattern, str) else pattern is None or pattern(key, context))
        ]
        return sum(self._entries.pop(key, None) is not None for key in chosen)


def request_key(request: ContextRequest, engine: str = "") -> str | None:
    """Return a text that two requests share only if they ask for the same, or None where none can tell.

    It holds every field: the question, the scope, the history, what is pinned, the budget, …; `request` is as
    it was asked, before the clock's time is filled in, and `engine` tells apart what answers.
    """
    told = {"engine": engine}
    if request.vector is not None:
        # As a digest: some hundred numbers would take longer to write than the answer to find.
        told["vector"] = blake2b(array("d", request.vector).tobytes(), digest_size=20).hexdigest()
        request = with_fields(request, vector=None)
    try:
        whole = {**told, **request_to_dict(request, is_whole=True)}
    except ConfigError:  # a function's or a Document's text would not tell it from another
        return None
    return json.dumps(whole, sort_keys=True, ensure_ascii=False)
