"""What is worked out of texts, kept while these are small enough together: a count would bound no bytes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from langchain_context_engine.models.locks import ForkSafeLock

P = ParamSpec("P")
R = TypeVar("R")

_LOCK = ForkSafeLock()
"""Of all memos: it is held for as long as a result is put in."""


class Memo(Generic[P, R]):
    """A function whose results are kept by its positional arguments, see `memoize`."""

    def __init__(self, work_out: Callable[P, R], most_bytes: int, a_result: int, a_character: int) -> None:
        functools.update_wrapper(self, work_out)
        self.bytes = 0
        self._most_bytes, self._a_result, self._a_character = most_bytes, a_result, a_character
        self._work_out = work_out
        self._kept: dict[Any, R] = {}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what the function returns."""
        try:
            return self._kept[args]
        except KeyError:
            pass
        found, cost = self._work_out(*args, **kwargs), self._cost(args)
        if cost <= self._most_bytes // 8:
            with _LOCK:
                if args not in self._kept:
                    self._kept[args] = found
                    self.bytes += cost
                while self.bytes > self._most_bytes:
                    first = next(iter(self._kept))
                    del self._kept[first]
                    self.bytes -= self._cost(first)
        return found

    def __len__(self) -> int:
        return len(self._kept)

    def _cost(self, args: tuple[Any, ...]) -> int:
        characters = 0
        for each in args:  # not by a generator: a question misses some hundred times
            if isinstance(each, str):
                characters += len(each)
        return self._a_result + self._a_character * characters


def memoize(
    most_bytes: int, *, a_result: int = 200, a_character: int = 4
) -> Callable[[Callable[P, R]], Memo[P, R]]:
    """Return a decorator that keeps a function's results by its positional arguments, which are hashable.

    What was kept first goes first: a look-up that also noted when it was would cost several times as much.
    A text that takes more than an eighth of the bound is not kept. Threads may work out the same at once.

    Args:
        most_bytes: About what the texts among the arguments, and the results, may take together.
        a_result: Bytes that a result takes, however short its text.
        a_character: Bytes that a character of the texts takes, with all that is worked out of it, even later:
            by default the text itself, and about twice as much.

    Example:
        >>> @memoize(10_000)
        ... def length(text: str) -> int:
        ...     return len(text)
        >>> length("two"), length("two"), len(length)
        (3, 3, 1)
    """
    return lambda work_out: Memo(work_out, most_bytes, a_result, a_character)
