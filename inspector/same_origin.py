"""The inspector as it is served: its pages, for browsers that came to them and not for another page in one.

Streamlit lets every page of this machine, on whatever port, open the socket through which an app tells what
it shows. What is recorded here is for the inspector's own pages alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware

__all__ = ["OwnPagesAlone", "app"]

Message = MutableMapping[str, Any]


class OwnPagesAlone:
    """Refuses what a page of another address asks for; who sends no `Origin` is no page."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Answer 403, or hand on."""
        headers = {name.lower(): value.decode("latin-1") for name, value in scope.get("headers", ())}
        origin = headers.get(b"origin")
        if origin is None or origin.partition("://")[2] == headers.get(b"host"):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": b"for the inspector's own pages"})


app = st.App(Path(__file__).with_name("app.py"), middleware=[Middleware(OwnPagesAlone)])
