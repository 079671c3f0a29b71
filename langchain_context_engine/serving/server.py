"""An HTTP server for a context service; `GET /openapi.json` describes its routes.

Whose records a caller may see is the server's own setting; a request can neither name nor widen it. Bodies
are JSON of a bounded size, answers and errors are JSON, and an error says nothing about the inside.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import signal
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Path, Query, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt
from pydantic.alias_generators import to_camel
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException as RoutingError
from starlette.responses import JSONResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from langchain_context_engine.designs.prime import PrimeContextService
from langchain_context_engine.errors import AllSourcesFailedError, ConfigError, ContextEngineError
from langchain_context_engine.models.freeze import clean_text
from langchain_context_engine.models.types import Status
from langchain_context_engine.trace.context import Context

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["LOOPBACK_HOSTS", "create_app", "require_token_beyond_this_machine", "run"]

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
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

ENDING_SECONDS = 5
"""How long answers in flight may take once the server is told to end."""

_SAID = BeforeValidator(lambda value: clean_text(value) if isinstance(value, str) else value)
# JSON has one kind of number: 500.0 is a whole one.
_WHOLE = BeforeValidator(lambda n: int(n) if isinstance(n, float) and n.is_integer() else n)
Id = Annotated[str, Field(max_length=512, pattern=r"\S"), _SAID]
Item = Annotated[str, Field(max_length=1024, pattern=r"\S"), _SAID]
Text = Annotated[str, Field(max_length=20_000, pattern=r"\S"), _SAID]


class Body(BaseModel):
    """What is sent; an unknown field is refused: who sends a scope must not believe that it is heeded."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")


class Turn(Body):
    """A turn of the conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: Text


class Question(Body):
    """The body of `POST /build`."""

    message: Text = Field(description="The question.")
    thread_id: Id | None = Field(None, description="The conversation; its records come first.")
    references: list[Id] | None = Field(None, max_length=50, description="Paths, titles or ids.")
    history: list[Turn] | None = Field(None, max_length=100, description="Earlier turns, oldest first.")
    max_tokens: Annotated[StrictInt, Field(ge=0, le=200_000), _WHOLE] | None = None

    def options(self) -> dict[str, Any]:
        """Return what the service is given beside message and thread, what was not sent left out."""
        turns = None if self.history is None else tuple((turn.role, turn.content) for turn in self.history)
        named = {"references": self.references, "history": turns, "budget": self.max_tokens}
        return {name: value for name, value in named.items() if value is not None}


class Opinion(Body):
    """The body of `POST /feedback`."""

    context_item_id: Item = Field(description="An item's id in an answer.")
    useful: StrictBool


class BuiltContext(Body):
    """The context."""

    text: str = Field(description="What to give to the model.")
    total_tokens: int
    status: Status
    items: list[dict[str, Any]] = Field(description="In text order.")
    citations: list[dict[str, Any]] = Field(description="In text order; the id is the marker.")
    stats: dict[str, int] = Field(description="How many records were found, by how, and left out.")


class Meta(Body):
    """Figures of the context, and the id of its trace where one is kept."""

    token_usage: int
    source_count: int
    citation_count: int
    trace_id: str = ""


class Built(Body):
    """What `POST /build` answers."""

    data: BuiltContext
    meta: Meta


class Refusal(Body):
    """What every other status answers."""

    error: dict[Literal["code", "message"], str]


_LOGGER = logging.getLogger(__name__)
_CODES = {
    400: "invalid_request", 401: "unauthorized", 404: "not_found", 405: "method_not_allowed", 408: "too_slow",
    413: "too_large", 501: "not_kept",
}  # fmt: skip
_UNKNOWN = "there is no such trace or item"
_BEARER = HTTPBearer(auto_error=False)
_ROUTES = APIRouter(responses={"default": {"model": Refusal, "description": "It was refused, or failed."}})


def _scopes(
    service: PrimeContextService, scope: Mapping[str, Any], tokens: Mapping[str, Mapping[str, Any]]
) -> dict[bytes, Mapping[str, Any]]:
    """Return what each caller may see by the SHA-256 of the token, b"" where none is needed."""
    known: dict[bytes, Mapping[str, Any]] = {}
    for token, own in tokens.items():
        if not isinstance(token, str) or not token.strip():
            raise ConfigError("a token is a non-empty string")
        sent = token.strip().encode("utf-8", "surrogateescape")
        known[hashlib.sha256(sent).digest()] = {**own, **scope}
    known = known or {b"": dict(scope)}
    for seen in known.values():
        for key in service.engine.config.scope_keys:
            if seen.get(key) is None:
                msg = f"the engine answers only within a scope: give every caller of the server {key!r}"
                raise ConfigError(msg)
    return known


def _caller(
    request: Request, sent: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]
) -> Mapping[str, Any]:
    scopes: dict[bytes, Mapping[str, Any]] = request.app.state.scopes
    # Headers are read as Latin-1; a token is the bytes that were sent, UTF-8 among them. How long a look-up
    # takes tells of the digest, from which nobody learns the token.
    token = ("" if sent is None else sent.credentials).strip().encode("latin-1", "replace")
    scope = scopes.get(b"", scopes.get(hashlib.sha256(token).digest()))
    if scope is None:
        needed = {"WWW-Authenticate": "Bearer"}
        raise HTTPException(401, "a valid bearer token is needed", headers=needed)
    return scope


def _service(request: Request) -> PrimeContextService:
    service: PrimeContextService = request.app.state.service
    return service


Seen = Annotated[Mapping[str, Any], Depends(_caller)]
Service = Annotated[PrimeContextService, Depends(_service)]


@_ROUTES.post("/build", response_model=Built, response_model_exclude_unset=True)
async def _build(asked: Question, scope: Seen, service: Service) -> Any:
    """Return the context for a message."""
    context = await service.abuild_prime_context(
        asked.thread_id, asked.message, scope=scope, **asked.options()
    )
    meta = {
        "tokenUsage": context.total_tokens,
        "sourceCount": len(context.items),
        "citationCount": len(context.citations),
        **({"traceId": context.trace.trace_id} if context.trace.trace_id else {}),
    }
    return {"data": context.to_dict(), "meta": meta}


@_ROUTES.post("/feedback", response_model=dict[str, bool])
def _feedback(told: Opinion, scope: Seen, service: Service) -> Any:
    """Remember whether an item was useful; the next ranking may feel it."""
    if service.engine.journal is None:
        raise HTTPException(501, "this server keeps no feedback")
    try:
        service.record_feedback(told.context_item_id, told.useful, scope=scope)
    except ConfigError:
        raise HTTPException(404, "there is no such item") from None
    return {"success": True}


@_ROUTES.get("/traces/{traceId}", response_model=dict[str, dict[str, Any]])
def _why(
    trace_id: Annotated[str, Path(alias="traceId")],
    scope: Seen,
    service: Service,
    item: Annotated[Item | None, Query(description="One candidate, by any of its names.")] = None,
) -> Any:
    """Say why an answer is as it is: `meta.traceId` of POST /build names it."""
    context = _trace(service, trace_id, scope)
    try:
        explanation = context.explain(item)
    except ConfigError:
        raise HTTPException(404, _UNKNOWN) from None
    return {
        "data": {
            "traceId": trace_id,
            "question": context.request.query,
            "status": context.status,
            "tokens": context.tokens,
            "budget": context.budget,
            "explanation": explanation,
            "warnings": list(context.warnings),
        }
    }


@_ROUTES.get("/health", response_model=dict[str, str])
async def _health() -> Any:
    """Say that the server is there; nothing about what it serves."""
    return {"status": "ok"}


def _trace(service: PrimeContextService, trace_id: str, scope: Mapping[str, Any]) -> Context:
    """Return a trace that was asked within exactly this scope; one of another is told as one there is not."""
    if service.engine.journal is None:
        raise HTTPException(501, "this server keeps no traces")
    try:
        context: Context = service.engine.journal.trace(clean_text(trace_id))
    except ConfigError:
        raise HTTPException(404, _UNKNOWN) from None
    if dict(context.request.scope) != dict(scope):
        raise HTTPException(404, _UNKNOWN)
    return context


def create_app(
    service: PrimeContextService,
    *,
    scope: Mapping[str, Any] | None = None,
    tokens: Mapping[str, Mapping[str, Any]] | None = None,
    allowed_hosts: Sequence[str] | None = None,
) -> FastAPI:
    """Return the server as an ASGI application.

    Args:
        service: What answers; `PrimeContextService.over(engine)` makes one of any engine. It is closed once
            the application ends.
        scope: What every caller may see.
        tokens: Bearer token → what its caller may see besides; then a token is needed.
        allowed_hosts: Names by which the server may be called; None is any. Name them where no token is
            needed, or a web page could reach the server by a name of its own.

    Raises:
        ConfigError: A token is empty, or a caller's scope lacks a key that the engine demands.
    """

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    # No pages of documentation: they load programs from elsewhere.
    app = FastAPI(title="Context engine", version="1", docs_url=None, redoc_url=None, lifespan=life)
    app.state.service = service
    app.state.scopes = _scopes(service, scope or {}, tokens or {})
    app.include_router(_ROUTES)
    app.add_middleware(Door, allowed_hosts=allowed_hosts)
    for kind in (RoutingError, RequestValidationError, ContextEngineError, Exception):
        app.add_exception_handler(kind, _told)
    return app


async def _told(request: Request, error: Any) -> Response:
    """Return what a caller hears of an error: what is wrong with the question, nothing about the inside."""
    if isinstance(error, RoutingError):
        code = _CODES.get(error.status_code, "refused")
        return refused(error.status_code, code, str(error.detail), error.headers)
    if isinstance(error, RequestValidationError):
        told = []
        for fault in error.errors()[:3]:
            place = ".".join(str(part) for part in fault["loc"][1:])
            if fault["type"] == "extra_forbidden":
                told.append(f"unknown field {place[:80]!r}; a field is written as in /openapi.json")
            else:
                told.append(f"{place or 'the body'}: {fault['msg']}")
        return refused(400, "invalid_request", "; ".join(told))
    # Its message may name sources, paths or other people's settings.
    _LOGGER.warning("%s failed: %s", request.url.path, type(error).__name__)
    if isinstance(error, AllSourcesFailedError):
        return refused(503, "unavailable", "no source could be asked; try again")
    return refused(500, "internal", "the request could not be answered")


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
        await app(scope, self._bounded(receive), marked)

    def _refusal(self, method: str, headers: Headers) -> ASGIApp | None:
        if not self._is_meant(headers.getlist("host")):
            return refused(421, "misdirected", "this server is not called by that name")
        # A web page can send a form to this machine unasked, but not this type.
        kind = headers.get("content-type", "").split(";")[0].strip().lower()
        if method == "POST" and kind != "application/json":
            return refused(415, "unsupported_type", "the body must be sent as application/json")
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


def require_token_beyond_this_machine(host: str, tokens: Mapping[str, Any] | None) -> None:
    """Check that nobody in the network may ask without a token."""
    if host not in LOOPBACK_HOSTS and not tokens:
        msg = f"listening at {host} needs a token, or anybody in the network could read what is served"
        raise ConfigError(msg)


def run(app: FastAPI | str, *, host: str, port: int, workers: int = 1) -> None:
    """Run an application until this process is ended: by Ctrl-C or SIGTERM, once answers in flight are given.

    A process answers on one core, which one client can keep busy; several do so in parallel, a core each.

    Args:
        app: It, or `module:function` that makes it: in each process anew, which opens the store itself.
        host: The address to listen at.
        port: The port.
        workers: Processes, where `app` is a name.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    uvicorn.run(
        app, factory=isinstance(app, str), workers=workers, host=host, port=port, log_level="warning",
        http=Connection, ws="none", proxy_headers=False, timeout_graceful_shutdown=ENDING_SECONDS,
        timeout_worker_healthcheck=60,  # one that is busy is not one that is dead
    )  # fmt: skip
