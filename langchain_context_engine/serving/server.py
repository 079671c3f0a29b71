"""A small HTTP server for a context service; `openapi.py` describes its routes.

Whose records a caller may see is the server's own setting; a request can neither name nor widen it. Bodies
are JSON of a bounded size, answers and errors are JSON, and an error says nothing about the inside.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_context_engine.designs.prime import PrimeContextService
from langchain_context_engine.models.errors import AllSourcesFailedError, ConfigError, ContextEngineError
from langchain_context_engine.models.freeze import clean_text
from langchain_context_engine.serving.explaining import why
from langchain_context_engine.serving.hosts import (
    LOOPBACK,
    LOOPBACK_HOSTS,
    require_token_beyond_this_machine,
)
from langchain_context_engine.serving.openapi import openapi
from langchain_context_engine.serving.replies import as_json, crash, error, http_error, misdirected
from langchain_context_engine.serving.server_bodies import BodyError, read_build, read_feedback

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["LOOPBACK", "LOOPBACK_HOSTS", "create_app", "serve"]

MOST_BODY_BYTES = 256_000
MOST_ANSWERS = 100
"""Answers at once; who asks beyond that is told to come again (503)."""

_LOGGER = logging.getLogger(__name__)
_FAULTS: Mapping[type[ContextEngineError], tuple[int, str, str]] = {
    AllSourcesFailedError: (503, "unavailable", "no source could be asked; try again"),
    ContextEngineError: (500, "internal", "the context could not be built"),
}
"""What a caller hears of an error, the first that fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Callers:
    """Who may ask, and what each may see.

    Attributes:
        scope: What anybody may see who needs no token.
        tokens: (SHA-256 of a token, its scope); without any, no token is needed.
    """

    scope: Mapping[str, Any]
    tokens: Sequence[tuple[bytes, Mapping[str, Any]]] = ()

    def scope_of(self, authorization: str) -> Mapping[str, Any] | None:
        """Return the scope of a caller by the Authorization header, or None for a stranger.

        Every token is compared, each in constant time, so the time tells nothing.
        """
        if not self.tokens:
            return self.scope
        scheme, _, token = authorization.partition(" ")
        # Headers are read as Latin-1; a token is the bytes that were sent, UTF-8 among them.
        digest = hashlib.sha256(token.strip().encode("latin-1", "replace")).digest()
        found = None
        for known, scope in self.tokens:
            if hmac.compare_digest(known, digest):
                found = scope
        return found if scheme.lower() == "bearer" else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def create_app(
    service: PrimeContextService,
    *,
    scope: Mapping[str, Any] | None = None,
    tokens: Mapping[str, Mapping[str, Any]] | None = None,
    allowed_hosts: Sequence[str] | None = None,
    most_body_bytes: int = MOST_BODY_BYTES,
    body_seconds: float = 20.0,
) -> Starlette:
    """Return the server as an ASGI application.

    Args:
        service: What answers; `PrimeContextService.over(engine)` makes one of any engine.
        scope: What every caller may see.
        tokens: Bearer token → what its caller may see besides; then a token is needed.
        allowed_hosts: Names by which the server may be called; None is any. Name them where no token is
            needed, or a web page could reach the server by a name of its own.
        most_body_bytes: The largest body that is read.
        body_seconds: How long a body may take.

    Raises:
        ConfigError: A token is empty, or a caller's scope lacks a key that the engine demands.
    """
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route

    callers = _callers(service, scope or {}, tokens or {})
    endpoints = _Endpoints(
        service=service,
        callers=callers,
        most_body_bytes=most_body_bytes,
        allowed_hosts=None if allowed_hosts is None else frozenset(allowed_hosts),
        body_seconds=body_seconds,
    )
    return Starlette(
        routes=[
            Route("/build", endpoints.build, methods=["POST"]),
            Route("/feedback", endpoints.feedback, methods=["POST"]),
            Route("/traces/{trace_id}", endpoints.why, methods=["GET"]),
            Route("/health", endpoints.health, methods=["GET"]),
            Route("/openapi.json", endpoints.schema, methods=["GET"]),
        ],
        exception_handlers={HTTPException: http_error, Exception: crash},
    )


def serve(
    service: PrimeContextService, *, host: str = LOOPBACK, port: int = 8765, **app_settings: Any
) -> None:
    """Run the server until it is ended: by Ctrl-C or SIGTERM, once the answers in flight are given.

    Half-sent requests are ended after seconds, and connections and answers at once are bounded.

    Args:
        service: What answers.
        host: The address to listen at; only this machine by default.
        port: The port.
        **app_settings: See `create_app`.

    Raises:
        ConfigError: Others than this machine could ask, and no token is needed; or as `create_app`.
    """
    import uvicorn

    from langchain_context_engine.serving.limits import ENDING_SECONDS, BoundedProtocol, ending_in_order

    require_token_beyond_this_machine(host, app_settings.get("tokens"))
    if host in LOOPBACK_HOSTS:
        app_settings.setdefault("allowed_hosts", LOOPBACK_HOSTS)
    app = create_app(service, **app_settings)
    with ending_in_order():
        uvicorn.run(
            app, host=host, port=port, log_level="warning", http=BoundedProtocol, ws="none",
            timeout_graceful_shutdown=ENDING_SECONDS, limit_concurrency=MOST_ANSWERS,
        )  # fmt: skip


def _callers(
    service: PrimeContextService, scope: Mapping[str, Any], tokens: Mapping[str, Mapping[str, Any]]
) -> _Callers:
    known: list[tuple[bytes, Mapping[str, Any]]] = []
    for token, own in tokens.items():
        if not isinstance(token, str) or not token.strip():
            msg = "a token is a non-empty string"
            raise ConfigError(msg)
        known.append((_digest(token.strip()), {**own, **scope}))
    for seen in [allowed for _, allowed in known] if known else [scope]:
        for key in service.engine.config.scope_keys:
            if seen.get(key) is None:
                msg = f"the engine answers only within a scope: give every caller of the server {key!r}"
                raise ConfigError(msg)
    return _Callers(scope=dict(scope), tokens=tuple(known))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Endpoints:
    """What the routes do."""

    service: PrimeContextService
    callers: _Callers
    most_body_bytes: int
    allowed_hosts: frozenset[str] | None
    body_seconds: float

    async def build(self, request: Request) -> Response:
        """Answer a message with its context."""
        return await self._answer(request, self._build)

    async def feedback(self, request: Request) -> Response:
        """Remember whether an item was useful."""
        return await self._answer(request, self._feedback)

    async def why(self, request: Request) -> Response:
        """Say why an answer is as it is."""
        return await self._answer(request, self._why, has_body=False)

    async def health(self, request: Request) -> Response:
        """Say that the server is there; nothing about what it serves."""
        return as_json({"status": "ok"}) if self._is_meant(request) else misdirected()

    async def schema(self, request: Request) -> Response:
        """Describe the routes and their bodies in OpenAPI; nothing about what is served."""
        return as_json(openapi()) if self._is_meant(request) else misdirected()

    async def _answer(
        self,
        request: Request,
        respond: Callable[[Any, Mapping[str, Any]], Awaitable[Response]],
        *,
        has_body: bool = True,
    ) -> Response:
        if not self._is_meant(request):
            return misdirected()
        scope = self.callers.scope_of(request.headers.get("authorization", ""))
        if scope is None:
            needed = {"WWW-Authenticate": "Bearer"}
            return error(401, "unauthorized", "a valid bearer token is needed", needed)
        from starlette.requests import ClientDisconnect

        try:
            return await respond(await self._body(request) if has_body else request, scope)
        except BodyError as refused:
            return error(refused.status, refused.code, str(refused))
        except ClientDisconnect:
            _LOGGER.info("%s: the caller went away", request.url.path)
            return error(400, "gone", "the body did not come to its end")
        except ContextEngineError as failed:
            # Its message may name sources, paths or other people's settings; the log may have it.
            _LOGGER.warning("%s failed: %s", request.url.path, type(failed).__name__)
            return error(*next(fault for kind, fault in _FAULTS.items() if isinstance(failed, kind)))

    async def _build(self, body: Any, scope: Mapping[str, Any]) -> Response:
        asked = read_build(body)
        context = await self.service.abuild_prime_context(
            asked.thread_id, asked.message, scope=scope, **asked.options
        )
        meta = {
            "tokenUsage": context.total_tokens,
            "sourceCount": len(context.items),
            "citationCount": len(context.citations),
            **({"traceId": context.trace.trace_id} if context.trace.trace_id else {}),
        }
        return as_json({"data": context.to_dict(), "meta": meta})

    async def _feedback(self, body: Any, scope: Mapping[str, Any]) -> Response:
        from starlette.concurrency import run_in_threadpool

        asked = read_feedback(body)
        if self.service.engine.journal is None:
            return error(501, "not_kept", "this server keeps no feedback")
        try:
            await run_in_threadpool(
                self.service.record_feedback, asked.context_item_id, asked.useful, scope=scope
            )
        except ConfigError:
            return error(404, "not_found", "there is no such item")
        return as_json({"success": True})

    async def _why(self, request: Any, scope: Mapping[str, Any]) -> Response:
        from starlette.concurrency import run_in_threadpool

        asked = clean_text(request.path_params["trace_id"]), scope, request.query_params.get("item")
        return await run_in_threadpool(why, self.service.engine.journal, *asked)

    def _is_meant(self, request: Request) -> bool:
        return self.allowed_hosts is None or (request.url.hostname or "") in self.allowed_hosts

    async def _body(self, request: Request) -> Any:
        """Return the body's JSON.

        Raises:
            BodyError: It is not JSON, or too large.
        """
        # A web page can send a form to this machine unasked, but not this type.
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise BodyError("the body must be sent as application/json", status=415, code="unsupported_type")
        raw = bytearray()
        try:
            async with asyncio.timeout(self.body_seconds):
                async for chunk in request.stream():
                    raw += chunk
                    if len(raw) > self.most_body_bytes:
                        raise BodyError("the body is too large", status=413, code="too_large")
        except TimeoutError:
            raise BodyError("the body took too long", status=408, code="too_slow") from None
        try:
            return json.loads(bytes(raw))
        except (ValueError, RecursionError):
            raise BodyError("the body is not JSON") from None
