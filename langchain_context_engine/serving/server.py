"""A small HTTP server for a context service; `GET /openapi.json` describes its routes.

Whose records a caller may see is the server's own setting; a request can neither name nor widen it. Bodies
are JSON of a bounded size, answers and errors are JSON, and an error says nothing about the inside.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException as RoutingError

from langchain_context_engine.designs.prime import PrimeContextService
from langchain_context_engine.errors import AllSourcesFailedError, ConfigError, ContextEngineError
from langchain_context_engine.models.freeze import clean_text
from langchain_context_engine.serving.bodies import (
    Answer,
    Built,
    Explanation,
    Item,
    Opinion,
    Question,
    Refusal,
    Use,
)
from langchain_context_engine.serving.connections import (
    ENDING_SECONDS,
    Connections,
    Door,
    refused,
)
from langchain_context_engine.serving.ending import ending_in_order
from langchain_context_engine.trace.context import Context

__all__ = ["LOOPBACK", "LOOPBACK_HOSTS", "create_app", "require_token_beyond_this_machine", "serve"]

LOOPBACK = "127.0.0.1"
LOOPBACK_HOSTS = (LOOPBACK, "localhost", "::1")
MOST_BODY_BYTES = 256_000

_LOGGER = logging.getLogger(__name__)
_CODES = {
    400: "invalid_request", 401: "unauthorized", 404: "not_found", 405: "method_not_allowed", 408: "too_slow",
    413: "too_large", 501: "not_kept",
}  # fmt: skip
_BEARER = HTTPBearer(auto_error=False)
_ROUTES = APIRouter(responses={"default": {"model": Refusal, "description": "It was refused, or failed."}})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Callers:
    """Who may ask, and what each may see.

    Attributes:
        scope: What anybody may see who needs no token.
        tokens: (SHA-256 of a token, its scope); without any, no token is needed.
    """

    scope: Mapping[str, Any]
    tokens: Sequence[tuple[bytes, Mapping[str, Any]]] = ()

    @classmethod
    def of(
        cls, service: PrimeContextService, scope: Mapping[str, Any], tokens: Mapping[str, Mapping[str, Any]]
    ) -> _Callers:
        """Check the callers of a service.

        Raises:
            ConfigError: A token is empty, or a caller's scope lacks a key that the engine demands.
        """
        known: list[tuple[bytes, Mapping[str, Any]]] = []
        for token, own in tokens.items():
            if not isinstance(token, str) or not token.strip():
                raise ConfigError("a token is a non-empty string")
            sent = token.strip().encode("utf-8", "surrogateescape")
            known.append((hashlib.sha256(sent).digest(), {**own, **scope}))
        for seen in [allowed for _, allowed in known] if known else [scope]:
            for key in service.engine.config.scope_keys:
                if seen.get(key) is None:
                    msg = f"the engine answers only within a scope: give every caller of the server {key!r}"
                    raise ConfigError(msg)
        return cls(scope=dict(scope), tokens=tuple(known))

    def scope_of(self, token: str | None) -> Mapping[str, Any] | None:
        """Return the scope of a caller by the token sent, or None for a stranger.

        Every token is compared, each in constant time, so the time tells nothing.
        """
        if not self.tokens:
            return self.scope
        # Headers are read as Latin-1; a token is the bytes that were sent, UTF-8 among them.
        digest = hashlib.sha256((token or "").strip().encode("latin-1", "replace")).digest()
        found = None
        for known, scope in self.tokens:
            if hmac.compare_digest(known, digest):
                found = scope
        return found


def _caller(
    request: Request, sent: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]
) -> Mapping[str, Any]:
    callers: _Callers = request.app.state.callers
    scope = callers.scope_of(None if sent is None else sent.credentials)
    if scope is None:
        needed = {"WWW-Authenticate": "Bearer"}
        raise HTTPException(401, "a valid bearer token is needed", headers=needed)
    return scope


def _service(request: Request) -> PrimeContextService:
    service: PrimeContextService = request.app.state.service
    return service


Scope = Annotated[Mapping[str, Any], Depends(_caller)]
Service = Annotated[PrimeContextService, Depends(_service)]


@_ROUTES.post("/build", response_model=Built, response_model_exclude_unset=True)
async def _build(asked: Question, scope: Scope, service: Service) -> Any:
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
def _feedback(told: Opinion, scope: Scope, service: Service) -> Any:
    """Remember whether an item was useful; the next ranking may feel it."""
    if service.engine.journal is None:
        raise HTTPException(501, "this server keeps no feedback")
    try:
        service.record_feedback(told.context_item_id, told.useful, scope=scope)
    except ConfigError:
        raise HTTPException(404, "there is no such item") from None
    return {"success": True}


@_ROUTES.post("/answers", response_model=dict[str, Use])
def _answers(told: Answer, scope: Scope, service: Service) -> Any:
    """Keep what a model answered beside its context; say which items it cites, and which it never used."""
    context = _trace(service, told.trace_id, scope)
    answer = service.engine.journal.record_answer(told.trace_id, told.answer)
    given = {passage.key: passage.key[1] for passage in context.passages}
    cited, unused = ([given[key] for key in keys] for keys in (answer.cited, answer.unused))
    return {"data": {"cited": cited, "unused": unused}}


@_ROUTES.get("/traces/{traceId}", response_model=dict[str, Explanation])
def _why(
    traceId: str,  # noqa: N803 - as the document names it
    scope: Scope,
    service: Service,
    item: Annotated[Item | None, Query(description="One candidate, by any of its names.")] = None,
) -> Any:
    """Say why an answer is as it is: `meta.traceId` of POST /build names it."""
    context = _trace(service, traceId, scope)
    try:
        explanation = context.explain(item)
    except ConfigError:
        raise _unknown() from None
    return {
        "data": {
            "traceId": traceId,
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
        raise _unknown() from None
    if dict(context.request.scope) != dict(scope):
        raise _unknown()
    return context


def _unknown() -> HTTPException:
    return HTTPException(404, "there is no such trace or item")


def create_app(
    service: PrimeContextService,
    *,
    scope: Mapping[str, Any] | None = None,
    tokens: Mapping[str, Mapping[str, Any]] | None = None,
    allowed_hosts: Sequence[str] | None = None,
    most_body_bytes: int = MOST_BODY_BYTES,
    body_seconds: float = 20.0,
) -> FastAPI:
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
    # No pages of documentation: they load programs from elsewhere.
    app = FastAPI(title="Context engine", version="1", docs_url=None, redoc_url=None)
    app.state.service = service
    app.state.callers = _Callers.of(service, scope or {}, tokens or {})
    app.include_router(_ROUTES)
    app.add_middleware(
        Door, allowed_hosts=allowed_hosts, most_body_bytes=most_body_bytes, body_seconds=body_seconds
    )
    app.add_exception_handler(RoutingError, _told)
    app.add_exception_handler(RequestValidationError, _told)
    app.add_exception_handler(ContextEngineError, _told)
    app.add_exception_handler(Exception, _told)
    return app


async def _told(request: Request, error: Any) -> Response:
    """Return what a caller hears of an error: what is wrong with the question, nothing about the inside."""
    if isinstance(error, RoutingError):
        code = _CODES.get(error.status_code, "refused")
        return refused(error.status_code, code, str(error.detail), error.headers)
    if isinstance(error, RequestValidationError):
        return refused(400, "invalid_request", "; ".join(map(_problem, error.errors()[:3])))
    # Its message may name sources, paths or other people's settings.
    _LOGGER.warning("%s failed: %s", request.url.path, type(error).__name__)
    if isinstance(error, AllSourcesFailedError):
        return refused(503, "unavailable", "no source could be asked; try again")
    return refused(500, "internal", "the request could not be answered")


def _problem(error: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in error["loc"][1:])
    if error["type"] == "extra_forbidden":
        return f"unknown field {place[:80]!r}; a field is written as in /openapi.json"
    return f"{place or 'the body'}: {error['msg']}"


def require_token_beyond_this_machine(host: str, tokens: Mapping[str, Any] | None) -> None:
    """Check that nobody in the network may ask without a token.

    Raises:
        ConfigError: Others than this machine could ask at `host`, and no token is needed.
    """
    if host not in LOOPBACK_HOSTS and not tokens:
        msg = f"listening at {host} needs a token, or anybody in the network could read what is served"
        raise ConfigError(msg)


def serve(
    service: PrimeContextService, *, host: str = LOOPBACK, port: int = 8765, **app_settings: Any
) -> None:
    """Run the server until it is ended: by Ctrl-C or SIGTERM, once the answers in flight are given.

    Half-sent requests are ended after seconds, and connections and answers at once are bounded. One process
    answers on about one core, some thirty questions a second; for more, run several on ports of their own
    behind a proxy: they share the store and the journal.

    Args:
        service: What answers.
        host: The address to listen at; only this machine by default.
        port: The port.
        **app_settings: See `create_app`.

    Raises:
        ConfigError: Others than this machine could ask, and no token is needed; or as `create_app`.
    """
    import uvicorn

    require_token_beyond_this_machine(host, app_settings.get("tokens"))
    if host in LOOPBACK_HOSTS:
        app_settings.setdefault("allowed_hosts", LOOPBACK_HOSTS)
    connections = Connections(create_app(service, **app_settings))
    with ending_in_order():
        uvicorn.run(
            connections, host=host, port=port, log_level="warning", http=connections.protocol(), ws="none",
            proxy_headers=False, timeout_graceful_shutdown=ENDING_SECONDS,
        )  # fmt: skip
