"""One computation for equal keys that are wanted at the same time, over threads and event loops alike."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from langchain_context_engine.embeddings.vectors import Vector
from langchain_context_engine.models.locks import ForkSafeLock

Flight = Future[Vector | None]


class Flights:
    """Who computes what right now. A caller gets flights of its own to land, and those of others to await.

    A flight lands with a vector, or with the error that its computation raised, the same for all who
    wait, or with None where its owner was interrupted: then whoever waits tries again.
    """

    def __init__(self) -> None:
        self._flights: dict[tuple[str, bool], Flight] = {}
        self._lock = ForkSafeLock(self._flights.clear)

    def claim(self, keys: Iterable[str], *, is_async: bool) -> tuple[dict[str, Flight], dict[str, Flight]]:
        """Return the flights that the caller must land, and those that others will.

        A thread awaits only threads: it may itself be the one that runs the event loop, where waiting
        for a coroutine of that loop would be for ever. A coroutine awaits both.
        """
        mine: dict[str, Flight] = {}
        theirs: dict[str, Flight] = {}
        with self._lock:
            for key in keys:
                flight = self._flights.get((key, False))
                if flight is None and is_async:
                    flight = self._flights.get((key, True))
                if flight is not None:
                    theirs[key] = flight
                    continue
                mine[key] = self._flights[key, is_async] = Future()
                # From here on the cancellation of one who waits does not reach the others.
                mine[key].set_running_or_notify_cancel()
        return mine, theirs

    @contextmanager
    def landing(self, mine: dict[str, Flight]) -> Iterator[dict[str, Vector]]:
        """Give a dictionary to fill, and land the caller's flights when the block ends, with it or an error.

        Yields:
            Where the vectors go.
        """
        landed: dict[str, Vector] = {}
        error: Exception | None = None
        try:
            yield landed
        except Exception as raised:
            error = raised
            raise
        finally:
            with self._lock:
                for key, is_async in itertools.product(mine, (False, True)):
                    if self._flights.get((key, is_async)) is mine[key]:
                        del self._flights[key, is_async]
            for key, flight in mine.items():
                if error is not None:
                    flight.set_exception(error)
                else:
                    flight.set_result(landed.get(key))


def awaited(theirs: dict[str, Flight]) -> dict[str, Vector]:
    """Wait for others and return what they computed; raises what they raised."""
    return {key: vector for key, flight in theirs.items() if (vector := flight.result()) is not None}


async def aawaited(theirs: dict[str, Flight]) -> dict[str, Vector]:
    """Wait for others without holding up the event loop; as `awaited`."""
    vectors = {key: await asyncio.wrap_future(flight) for key, flight in theirs.items()}
    return {key: vector for key, vector in vectors.items() if vector is not None}
