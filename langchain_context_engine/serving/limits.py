"""What a server grants a stranger: its name, a bounded body, so many connections, so long for each.

`Door` looks at what is asked and stands before the application, whoever serves it. `Connection` is who
holds the line, and uvicorn's part.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER_SECONDS = 10.0
"""How long a connection may take to say what it asks, and to take its answer."""

BODY_SECONDS = 20.0
"""How long a body may take."""

ANSWER_SECONDS = 120.0
"""How long a connection may last once it has asked."""

MOST_BODY_BYTES = 256_000
"""The largest body that is read."""

MOST_CONNECTIONS = 200
"""Connections of a process at once; beyond them the one that has been silent longest is closed."""

MOST_ANSWERS = 64
"""Answers of a process at once; who asks beyond that is told to come again (503)."""

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")


def refused(status: int, code: str, message: str, headers: Any = None) -> JSONResponse:
    """Return an error as a response."""
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers=headers)


class Door:
    """An ASGI middleware that lets in what is meant for this server, and reads no body without end.

    Args:
        app: What answers.
        allowed_hosts: Names by which the server may be called; None is any.
    """

    def __init__(self, app: ASGIApp, *, allowed_hosts: Sequence[str] | None) -> None:
        self._app = app
        self._names = None if allowed_hosts is None else {name.strip("[]").lower() for name in allowed_hosts}
        self._asking = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = MutableHeaders(scope=message)
                # What was built for one caller is nothing for a proxy to keep.
                own["Cache-Control"] = "no-store"
                # Nobody piles up questions whose answers he does not take.
                own["Connection"] = "close"
            await send(message)

        app = self._refusal(scope["method"], Headers(scope=scope)) or self._app
        self._asking += 1
        try:
            await app(scope, self._bounded(receive), marked)
        finally:
            self._asking -= 1

    def _refusal(self, method: str, headers: Headers) -> ASGIApp | None:
        if not self._is_meant(headers.getlist("host")):
            return refused(421, "misdirected", "this server is not called by that name")
        # A web page can send a form to this machine unasked, but not this type.
        kind = headers.get("content-type", "").split(";")[0].strip().lower()
        if method == "POST" and kind != "application/json":
            return refused(415, "unsupported_type", "the body must be sent as application/json")
        if self._asking >= MOST_ANSWERS:
            return refused(503, "unavailable", "too many ask at once; try again")
        return None

    def _is_meant(self, hosts: Sequence[str]) -> bool:
        if self._names is None:
            return True
        found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        return found is not None and found[1].strip("[]").lower() in self._names

    def _bounded(self, receive: Receive) -> Receive:
        size, is_whole = 0, False
        until = asyncio.get_running_loop().time() + BODY_SECONDS

        async def read() -> Message:
            nonlocal size, is_whole
            if is_whole:
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "the body took too long") from None
            size += len(message.get("body", b""))
            if size > MOST_BODY_BYTES:
                raise HTTPException(413, "the body is too large")
            is_whole = not message.get("more_body", False)
            return message

        return read


class Connection(H11Protocol):
    """uvicorn's HTTP over a connection that ends: after its answer, or after the time that it has."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection; the one that has been silent longest goes where there are too many."""
        super().connection_made(transport)
        self.opened = self.loop.time()
        self._timer = self.loop.call_later(HEADER_SECONDS, transport.abort)
        if len(self.connections) > MOST_CONNECTIONS:
            silent = [each for each in self.connections if isinstance(each, Connection) and not each.cycle]
            min(silent or [self], key=lambda each: each.opened).transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read a request; once its head is whole, it has the time of an answer."""
        was_silent = not self.cycle
        super().data_received(data)
        if was_silent and self.cycle:
            self._give(ANSWER_SECONDS)

    def on_response_complete(self) -> None:
        """Leave the time to take what was answered."""
        super().on_response_complete()
        self._give(HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        super().connection_lost(exc)
        self._timer.cancel()

    def _give(self, seconds: float) -> None:
        self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self.transport.abort)
