"""What a server grants a stranger: its name, a bounded body, so many connections, so long for each.

`Door` looks at what is asked and stands before the application, whoever serves it. `Connections` looks at
who holds the line, and is uvicorn's part.
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

__all__ = ["ENDING_SECONDS", "Connections", "Door", "refused"]

HEADER_SECONDS = 10.0
"""How long a connection may take to say what it asks, and to take its answer."""

ANSWER_SECONDS = 120.0
"""How long a connection may last once it has asked."""

ENDING_SECONDS = 5
"""How long answers in flight may take once the server is told to end."""

MOST_CONNECTIONS = 200
"""Connections at once; beyond them the one that has been silent longest is closed."""

MOST_ANSWERS = 64
"""Answers at once; who asks beyond that is told to come again (503)."""

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")


def refused(status: int, code: str, message: str, headers: Any = None) -> JSONResponse:
    """Return an error as a response."""
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers=headers)


class Door:
    """An ASGI middleware that lets in what is meant for this server, and reads no body without end.

    Args:
        app: What answers.
        allowed_hosts: Names by which the server may be called; None is any.
        most_body_bytes: The largest body that is read.
        body_seconds: How long a body may take.
    """

    def __init__(
        self, app: ASGIApp, *, allowed_hosts: Sequence[str] | None, most_body_bytes: int, body_seconds: float
    ) -> None:
        self._app = app
        self._names = None if allowed_hosts is None else {name.strip("[]").lower() for name in allowed_hosts}
        self._most_body_bytes, self._body_seconds = most_body_bytes, body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = MutableHeaders(scope=message)
                # What was built for one caller is nothing for a proxy to keep.
                own["Cache-Control"] = "no-store"
                # Nobody piles up questions whose answers he does not take.
                own["Connection"] = "close"
            await send(message)

        app: ASGIApp = self._app
        # A web page can send a form to this machine unasked, but not this type.
        kind = headers.get("content-type", "").split(";")[0].strip().lower()
        if not self._is_meant(headers.getlist("host")):
            app = refused(421, "misdirected", "this server is not called by that name")
        elif scope["method"] == "POST" and kind != "application/json":
            app = refused(415, "unsupported_type", "the body must be sent as application/json")
        await app(scope, self._bounded(receive), marked)

    def _is_meant(self, hosts: Sequence[str]) -> bool:
        if self._names is None:
            return True
        found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        return found is not None and found[1].strip("[]").lower() in self._names

    def _bounded(self, receive: Receive) -> Receive:
        size, is_whole = 0, False
        until = asyncio.get_running_loop().time() + self._body_seconds

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
            if size > self._most_body_bytes:
                raise HTTPException(413, "the body is too large")
            is_whole = not message.get("more_body", False)
            return message

        return read


class Connections:
    """An ASGI application around another one, whose connections are bounded in number and in time.

    Args:
        app: What answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open: dict[Any, asyncio.Transport] = {}
        self._timers: dict[Any, asyncio.TimerHandle] = {}
        self._asking: set[Any] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one question."""
        peer = tuple(scope.get("client") or ())
        app = self._app
        if len(self._asking) >= MOST_ANSWERS:
            app = refused(503, "unavailable", "too many ask at once; try again")
        self._asking.add(peer)
        self._give(peer, ANSWER_SECONDS)
        try:
            await app(scope, receive, send)
        finally:
            self._asking.discard(peer)
            self._give(peer, HEADER_SECONDS)

    def protocol(self) -> type[H11Protocol]:
        """Return uvicorn's HTTP, told apart by connection."""
        connections = self

        class Watched(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                self._peer = tuple(transport.get_extra_info("peername") or ())[:2]
                connections._opened(self._peer, transport)

            def connection_lost(self, exc: Exception | None) -> None:
                super().connection_lost(exc)
                connections._lost(self._peer)

        return Watched

    def _opened(self, peer: Any, transport: asyncio.Transport) -> None:
        self._open[peer] = transport
        self._give(peer, HEADER_SECONDS)
        if len(self._open) > MOST_CONNECTIONS:
            self._end(next((one for one in self._open if one not in self._asking), peer))

    def _give(self, peer: Any, seconds: float) -> None:
        if (timer := self._timers.pop(peer, None)) is not None:
            timer.cancel()
        if peer in self._open:
            self._timers[peer] = asyncio.get_running_loop().call_later(seconds, self._end, peer)

    def _end(self, peer: Any) -> None:
        if (transport := self._open.get(peer)) is not None:
            transport.abort()

    def _lost(self, peer: Any) -> None:
        self._open.pop(peer, None)
        if (timer := self._timers.pop(peer, None)) is not None:
            timer.cancel()
