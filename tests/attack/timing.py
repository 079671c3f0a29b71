"""What a call costs the processor, which a busy machine does not change, and an end to what never ends."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

from tests.measuring import unmeasured


class TooSlowError(Exception):
    """A call used more of the processor than it may."""


def processor_seconds(call: Callable[..., Any], *args: Any, most: float) -> float:
    """Return the processor seconds of a call, in this process's main thread.

    Raises:
        TooSlowError: It used more than `most`; it is stopped there, also within an expression.
    """

    def stop(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    try:
        with unmeasured():
            start = time.thread_time()
            call(*args)
            return time.thread_time() - start
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
