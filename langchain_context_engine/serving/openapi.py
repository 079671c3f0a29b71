"""The server's routes, bodies and answers as OpenAPI 3.1, with the bounds that `server_bodies` checks."""

from __future__ import annotations

from typing import Any

from langchain_context_engine.serving.openapi_answers import ANSWERS, ERROR
from langchain_context_engine.serving.server_bodies import (
    MOST_HISTORY,
    MOST_ID,
    MOST_MESSAGE,
    MOST_REFERENCES,
    MOST_TOKENS,
    ROLES,
)

__all__ = ["openapi"]


def _text(longest: int, description: str = "") -> dict[str, Any]:
    told = {"description": description} if description else {}
    return {"type": "string", "maxLength": longest, "pattern": r"\S", **told}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "additionalProperties": False, "required": required, "properties": properties,
    }  # fmt: skip


_BUILD = _object(
    ["message"],
    message=_text(MOST_MESSAGE, "The question."),
    threadId={**_text(MOST_ID, "The conversation; its records come first."), "type": ["string", "null"]},
    references={
        "type": ["array", "null"], "maxItems": MOST_REFERENCES, "items": _text(MOST_ID),
        "description": "Paths, titles or ids of what must come in.",
    },
    history={
        "type": ["array", "null"], "maxItems": MOST_HISTORY, "description": "Earlier turns, oldest first.",
        "items": _object(
            ["role", "content"], role={"enum": list(ROLES)}, content=_text(MOST_MESSAGE)
        ),
    },
    maxTokens={"type": ["integer", "null"], "minimum": 0, "maximum": MOST_TOKENS},
)  # fmt: skip
_FEEDBACK = _object(
    ["contextItemId", "useful"],
    contextItemId=_text(2 * MOST_ID, "An item's id in an answer."),
    useful={"type": "boolean"},
)
_ASKED = {
    "401": "A valid bearer token is needed.", "421": "The server is not called by that name.",
    "500": "The request could not be answered.",
    "503": "No source could be asked, or too many ask.",
}  # fmt: skip
_ERRORS = {
    **_ASKED, "400": "The body cannot be answered.", "408": "The body took too long.",
    "413": "The body is too large.", "415": "The body must be application/json.",
}  # fmt: skip


def openapi() -> dict[str, Any]:
    """Return the description that `GET /openapi.json` serves."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Context engine", "version": "1"},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}, {}],
        "paths": {
            "/build": {"post": _operation("/build", "Return the context for a message.", _BUILD)},
            "/feedback": {
                "post": _operation(
                    "/feedback",
                    "Remember whether an item was useful.",
                    _FEEDBACK,
                    **{"404": "No such item.", "501": "This server keeps no feedback."},
                )
            },
            "/traces/{traceId}": {
                "get": {
                    "summary": "Say why an answer is as it is: `meta.traceId` of POST /build names it.",
                    "parameters": [
                        {"name": "traceId", "in": "path", "required": True, "schema": _text(MOST_ID)},
                        {
                            "name": "item",
                            "in": "query",
                            "schema": _text(2 * MOST_ID),
                            "description": "One candidate, by any of its names.",
                        },
                    ],
                    "responses": _responses(
                        "/traces/{traceId}",
                        {
                            **_ASKED,
                            "404": "No such trace, or none that the caller may see.",
                            "501": "This server keeps no traces.",
                        },
                    ),
                }
            },
            "/health": {
                "get": {
                    "summary": "Say that the server is there.",
                    "responses": _responses("/health", {"421": _ASKED["421"]}),
                }
            },
        },
    }


def _operation(path: str, summary: str, body: dict[str, Any], **more: str) -> dict[str, Any]:
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": _responses(path, {**_ERRORS, **more}),
    }


def _responses(path: str, errors: dict[str, str]) -> dict[str, Any]:
    answers = {"200": ("Done.", ANSWERS[path]), **{code: (told, ERROR) for code, told in errors.items()}}
    return {
        code: {"description": told, "content": {"application/json": {"schema": schema}}}
        for code, (told, schema) in answers.items()
    }
