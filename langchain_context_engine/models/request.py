"""What is asked: `ContextRequest`, and the `Message`s of the conversation before it."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.freeze import (
    clean_text,
    copy_mapping,
    quoted,
    set_fields,
    with_fields,
)

_LARGEST_COUNT = 1_000_000_000
MOST_CANDIDATES = 1_000_000
_MOST = {"depth": 1000, "budget": _LARGEST_COUNT, **dict.fromkeys(("limit", "offset", "k"), MOST_CANDIDATES)}
"""More is as good as all, and native code is never asked for it: a limit of a billion ended the process."""
_MOST_ITEMS = 100_000
"""How many messages, pinned texts, exclusions or numbers of a vector a request may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`.
        text: What was said; the text blocks of a list content joined by newlines.
        id: The message's own id, or "".
        created_at: When, aware, or None.
    """

    role: str
    text: str
    id: str = ""
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("role", "text", "id"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise ConfigError(f"a message's {name} must be a string, got {type(value).__name__}")
            set_fields(self, **{name: clean_text(value)})
        set_fields(self, created_at=read_instant(self.created_at))

    @classmethod
    def of(cls, value: object) -> Message:
        """Read a message from a string, a (role, text) pair, a mapping or a LangChain message."""
        id_: Any = ""
        created_at = None
        match value:
            case Message():
                return value
            case str():
                role, content = "user", value
            case Mapping():
                role = value.get("role", value.get("type", "user"))
                content = value.get("content", value.get("text"))
                id_, created_at = value.get("id"), value.get("created_at")
            case (role, content):
                pass
            case _ if hasattr(value, "content"):
                role, content = getattr(value, "type", "user"), value.content
                id_ = getattr(value, "id", "")
            case _:
                raise ConfigError(
                    "history takes strings, (role, text) pairs, mappings or messages,"
                    f" got {type(value).__name__}"
                )
        name = {"human": "user", "ai": "assistant"}.get(str(role), str(role))
        return cls(role=name, text=_content_text(content), id=str(id_ or ""), created_at=created_at)


def _content_text(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, (list, tuple)):
        blocks = (b.get("text", "") if isinstance(b, Mapping) else b for b in content)
        return "\n".join(str(b) for b in blocks if b)
    return str(content)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """One question and everything that narrows or shapes its answer.

    Attributes:
        query: The question. Lone surrogates become U+FFFD.
        vector: Its embedding, where the caller has one; sources then embed nothing.
        scope: Metadata that must match, with its type: the isolation rule. A list means any of.
        where: A further filter in Chroma's syntax; dates work in it; `{}` is no filter.
        kinds: Only these kinds; None is all, empty is nothing.
        sources: Only these sources; None is all, empty is nothing.
        since: Only records created at this instant or later.
        until: Only records created at this instant or earlier.
        min_confidence: Only records of at least this confidence, 0–1; a missing one is 0.5.
        conversation_id: Only records whose metadata names this conversation.
        history: The conversation so far, oldest first (see `Message.of`).
        pinned: Texts, candidates or (source, id) keys that must come in, before all others; their
            relevance is 1.
        excluded: Ids or (source, id) keys that must not appear.
        focus: Where the user stands, for example `{"block": …, "page": …}`.
        depth: How many links to follow, 0 is none.
        limit: Candidates a source may offer; None is the engine's default, 0 is none.
        offset: Candidates to skip in each source.
        k: Passages the context may have; None is as many as fit, 0 is none.
        budget: Tokens; None is the engine's default, 0 gives an empty context.
        template: A template's name or a `Template`; None is the engine's default.
        now: The instant that counts as now; None is the clock's.

    Raises:
        ConfigError: A number is negative or not a number, a date cannot be read.
    """

    query: str = ""
    vector: tuple[float, ...] | None = None
    scope: Mapping[str, Any] = field(default_factory=dict)
    where: Mapping[str, Any] = field(default_factory=dict)
    kinds: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    min_confidence: float | None = None
    conversation_id: str | None = None
    history: tuple[Any, ...] = ()
    pinned: tuple[Any, ...] = ()
    excluded: tuple[Any, ...] = ()
    focus: Any = None
    depth: int = 0
    limit: int | None = None
    offset: int = 0
    k: int | None = None
    budget: int | None = None
    template: Any = None
    now: datetime | None = None

    def __post_init__(self) -> None:
        for name, check in _CHECKS.items():
            given = getattr(self, name)
            if given is not _DEFAULTS[name]:
                object.__setattr__(self, name, check(name, given))

    @classmethod
    def of(cls, query: str | ContextRequest, fields: Mapping[str, Any]) -> ContextRequest:
        """Return the request of a question with fields, or a request with some of its own changed.

        Raises:
            ConfigError: The question is neither, or a field is wrong.
        """
        return replace(query, **fields) if isinstance(query, ContextRequest) else cls(query=query, **fields)

    @property
    def asks_nothing(self) -> bool:
        """Whether nothing can be found for it, so that nobody need be asked."""
        return self.k == 0 or self.limit == 0 or self.kinds == () or self.sources == ()

    def apart(self) -> ContextRequest:
        """Return an equal request whose scope and filter are its own: what a source may be given."""
        return with_fields(self, scope=copy.deepcopy(self.scope), where=copy.deepcopy(self.where))


def _items(name: str, value: Any) -> tuple[Any, ...]:
    """Return what was listed; a string is one item, None is none."""
    if value is None or isinstance(value, str):
        return (value,) if value else ()
    if not isinstance(value, Iterable) or isinstance(value, (bytes, Mapping)):
        raise ConfigError(f"{name} must be a list, got {type(value).__name__}")
    return tuple(tuple(item) if isinstance(item, list) else item for item in _walked(name, value))


def _keyed(name: str, value: Any) -> tuple[Any, ...]:
    """Return what was listed: strings, keys (source, id), and to be pinned whatever is no tuple."""
    items = _items(name, value)
    for item in items:
        is_key = isinstance(item, tuple) and [isinstance(part, str) for part in item] == [True, True]
        if not (is_key or isinstance(item, str) or (name == "pinned" and not isinstance(item, tuple))):
            raise ConfigError(f"{name} names records by (source, id), both strings, got {quoted(item)}")
    return items


def _names(name: str, value: Any) -> tuple[str, ...]:
    items = _items(name, value)
    for item in items:
        if not isinstance(item, str):
            hint = "; what is asked is given to ContextEngine(sources=…)" if name == "sources" else ""
            raise ConfigError(f"{name} of a request are names, got {type(item).__name__}{hint}")
    return items


def _walked(name: str, value: Iterable[Any]) -> list[Any]:
    """Return the items of what somebody gave, which may never end."""
    items = list(itertools.islice(value, _MOST_ITEMS + 1))
    if len(items) > _MOST_ITEMS:
        raise ConfigError(f"{name} has more than {_MOST_ITEMS:,} items")
    return items


def _vector(name: str, value: Any) -> tuple[float, ...]:
    try:
        return tuple(map(float, _walked(name, value)))
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"{name} must be numbers, got {quoted(value)}") from None


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be a string, got {type(value).__name__}")
    return clean_text(value)


def _count(name: str, value: Any) -> Any:
    if value is None:
        return _DEFAULTS[name]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST_COUNT:
        wanted = f"a whole number of 0 or more, at most {_LARGEST_COUNT:,}"
        raise ConfigError(f"{name} must be {wanted}, got {quoted(value)}")
    return min(value, _MOST[name])


def _fraction(name: str, value: Any) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise ConfigError(f"{name} must be a number from 0 to 1, got {quoted(value)}")
    return value


def _instant(name: str, value: Any) -> datetime:
    instant = read_instant(value)
    if instant is None:
        raise ConfigError(f"{name} must be a date (datetime, ISO 8601 or epoch), got {quoted(value)}")
    return instant


_CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("query", "conversation_id"), _text),
    **dict.fromkeys(_MOST, _count),
    **dict.fromkeys(("since", "until", "now"), _instant),
    **dict.fromkeys(("kinds", "sources"), _names),
    **dict.fromkeys(("pinned", "excluded"), _keyed),
    **dict.fromkeys(("scope", "where"), lambda name, value: copy_mapping(value, name)),
    "vector": _vector,
    "min_confidence": _fraction,
    "history": lambda name, value: tuple(map(Message.of, _items(name, value))),
    "focus": lambda name, value: copy_mapping({"": value}, name)[""],
}
"""What each field is read by, where it is not at its default."""

_DEFAULTS = {each.name: each.default for each in fields(ContextRequest)}
