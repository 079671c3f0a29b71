"""What a request to the server may say, checked field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.models.freeze import clean_text

__all__ = ["BodyError", "BuildBody", "FeedbackBody", "read_build", "read_feedback"]

MOST_MESSAGE = 20_000
MOST_ID = 512
MOST_REFERENCES = 50
MOST_HISTORY = 100
MOST_TOKENS = 200_000
ROLES = ("system", "user", "assistant", "tool")


class BodyError(Exception):
    """A body that cannot be answered; its message is for the caller."""

    def __init__(self, message: str, *, status: int = 400, code: str = "invalid_request") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildBody:
    """The body of `POST /build`.

    Attributes:
        thread_id: `threadId`, or None.
        message: `message`.
        options: `references`, `history`, and `maxTokens` as `budget`, those that are given.
    """

    thread_id: str | None
    message: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackBody:
    """The body of `POST /feedback`: `contextItemId` and `useful`."""

    context_item_id: str
    useful: bool


def read_build(body: Any) -> BuildBody:
    """Return what a body asks for.

    Raises:
        BodyError: A field is missing, unknown, of the wrong type or too long.

    Example:
        >>> read_build({"threadId": "t1", "message": "Why?", "maxTokens": 500}).options
        {'budget': 500}
    """
    known = _fields(body, required=("message",), optional=("threadId", "references", "history", "maxTokens"))
    options: dict[str, Any] = {}
    if known.get("references") is not None:
        names = _list("references", known["references"], MOST_REFERENCES)
        options["references"] = tuple(_text("references", name, MOST_ID) for name in names)
    if known.get("history") is not None:
        turns = _list("history", known["history"], MOST_HISTORY)
        options["history"] = tuple(_turn(turn) for turn in turns)
    if known.get("maxTokens") is not None:
        options["budget"] = _tokens(known["maxTokens"])
    thread = known.get("threadId")
    return BuildBody(
        thread_id=None if thread is None else _text("threadId", thread, MOST_ID),
        message=_text("message", known["message"], MOST_MESSAGE),
        options=options,
    )


def read_feedback(body: Any) -> FeedbackBody:
    """Return what a body says.

    Raises:
        BodyError: A field is missing, unknown or of the wrong type.

    Example:
        >>> read_feedback({"contextItemId": "a", "useful": True})
        FeedbackBody(context_item_id='a', useful=True)
    """
    known = _fields(body, required=("contextItemId", "useful"))
    if not isinstance(known["useful"], bool):
        raise BodyError("useful must be true or false")
    return FeedbackBody(
        context_item_id=_text("contextItemId", known["contextItemId"], 2 * MOST_ID), useful=known["useful"]
    )


def _fields(body: Any, *, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise BodyError("the body must be an object")
    known = (*required, *optional)
    listed = f"known are {', '.join(known)}"
    # Refused rather than ignored: who sends a scope must not believe that it is heeded.
    for name in body.keys() - set(known):
        meant = next((each for each in known if _bare(each) == _bare(name)), "")
        raise BodyError(f"unknown field; {f'{meant} is written so; ' if meant else ''}{listed}")
    missing = [name for name in required if name not in body]
    if missing:
        raise BodyError(f"{missing[0]} is missing; {listed}")
    return body


def _bare(name: str) -> str:
    """Return a name without what spellings differ in: max_tokens, max-tokens and MaxTokens are one."""
    return "".join(filter(str.isalnum, name)).casefold()


def _text(name: str, value: Any, longest: int) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BodyError(f"{name} must be a text that is not empty")
    if len(value) > longest:
        raise BodyError(f"{name} is too long: {longest} characters at most")
    return clean_text(value)


def _list(name: str, value: Any, most: int) -> list[Any]:
    if not isinstance(value, list):
        raise BodyError(f"{name} must be a list")
    if len(value) > most:
        raise BodyError(f"{name} is too long: {most} at most")
    return value


def _turn(value: Any) -> tuple[str, str]:
    known = _fields(value, required=("role", "content"))
    if known["role"] not in ROLES:
        raise BodyError(f"a role is one of {', '.join(ROLES)}")
    return known["role"], _text("content", known["content"], MOST_MESSAGE)


def _tokens(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON has one kind of number: 500.0 is a whole one
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
        raise BodyError(f"maxTokens must be a whole number from 0 to {MOST_TOKENS}")
    return value
