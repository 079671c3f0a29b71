"""What the server answers with: JSON that no proxy keeps, errors that say nothing about the inside."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["as_json", "crash", "error", "http_error", "misdirected"]

_LOGGER = logging.getLogger("langchain_context_engine.serving.server")


def as_json(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return data as a response; what was built for one caller is nothing for a proxy to keep."""
    from starlette.responses import JSONResponse

    return JSONResponse(data, status, headers={"Cache-Control": "no-store", **(headers or {})})


def error(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error as a response."""
    return as_json({"error": {"code": code, "message": message}}, status, headers)


def misdirected() -> Response:
    """Return what somebody hears who calls the server by another name."""
    return error(421, "misdirected", "this server is not called by that name")


async def http_error(request: Request, raised: Any) -> Response:
    """Return an error of routing as a response."""
    del request
    code = {404: "not_found", 405: "method_not_allowed"}.get(raised.status_code, "refused")
    return error(raised.status_code, code, str(raised.detail), raised.headers)


async def crash(request: Request, raised: Exception) -> Response:
    """Return what a caller hears of a mistake of ours; the log has its type."""
    _LOGGER.error("%s failed: %s", request.url.path, type(raised).__name__)
    return error(500, "internal", "the request could not be answered")
