"""What a server grants a stranger: so many connections, so long for a request, so long for its own end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["ENDING_SECONDS", "MOST_CONNECTIONS", "BoundedProtocol", "ending_in_order"]

HEADER_SECONDS = 10.0
"""How long a connection may take to say what it asks, from its first byte."""

ENDING_SECONDS = 5
"""How long answers in flight may take once the server is told to end."""

MOST_CONNECTIONS = 200
"""Connections at once; those beyond are closed."""


class BoundedProtocol(H11Protocol):
    """HTTP of a server that waits for nobody for ever."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many."""
        self._watch: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.close()
        else:
            self._watch_it()

    def data_received(self, data: bytes) -> None:
        """Read on, and begin to wait for the rest of a request."""
        if self._watch is None:
            self._watch_it()
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def _watch_it(self) -> None:
        self._watch = self.loop.call_later(HEADER_SECONDS, self._close_where_nothing_is_asked)

    def _close_where_nothing_is_asked(self) -> None:
        self._watch = None
        cycle: Any = self.cycle
        if (cycle is None or cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """Let SIGTERM end a server as Ctrl-C does, so that what it holds is written and closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        # Once it has answered what was in flight, the server raises the signal again for whoever began it.
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)
