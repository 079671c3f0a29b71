"""Whether work grows no faster than its input: a ratio of two sizes, which no busy machine and no coverage changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from tests.measuring import unmeasured

__all__ = ["assert_linear", "repeated"]

Input = TypeVar("Input")

_TIMES = 8
_SLACK = 3  # what is quadratic takes _TIMES times too long
_SMALLEST_SECONDS = 0.01  # below it, a clock tells nothing
_ATTEMPTS = 3


def repeated(unit: str) -> Callable[[int], str]:
    """Return what makes a text of about so many characters out of one shape."""
    return lambda size: unit * (size // len(unit))


def assert_linear(call: Callable[[Input], object], make: Callable[[int], Input], size: int) -> None:
    """Assert that `call(make(n))` takes this thread no more than in proportion to n, up to `size`.

    A ratio beyond it is measured again, since other work on the machine only ever adds; with other
    sizes, so that nothing remembered helps.
    """
    ratios = []
    for attempt in range(_ATTEMPTS):
        small, large = (_seconds(call, make(n + attempt)) for n in (size // _TIMES, size))
        ratios.append(large / max(small, _SMALLEST_SECONDS))
        if ratios[-1] <= _TIMES * _SLACK:
            return
    message = f"{_TIMES} times the input took {ratios} times as long"
    raise AssertionError(message)


def _seconds(call: Callable[[Input], object], given: Input) -> float:
    with unmeasured():
        start = time.thread_time()
        call(given)
        return time.thread_time() - start
