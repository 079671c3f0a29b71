"""What a workspace context is asked with: the user, the focus, the budget of each section, hints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.errors import ConfigError, UnknownNameError
from langchain_context_engine.models.freeze import set_fields

SECTIONS = ("focus", "semantic", "relations", "activity", "history", "system")
"""The sections, in the order of the document."""

COLLECTORS_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "assist": SECTIONS,
        "chat": SECTIONS,
        "search": ("focus", "semantic", "relations", "system"),
        "automate": ("focus", "semantic", "relations", "system"),
    }
)
"""Request type → collectors: what a person did or said lately says nothing to a search or an automation."""

_DEFAULTS = (4000, 1500, 1200, 800, 300, 500, 200)


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who asks.

    Attributes:
        id: Whose edits and views count.
        attributes: Whatever the builder's `permissions` reads: groups, workspaces, …
        preferences: What the user likes, name → value: shown in the section of system prompts.

    Raises:
        ConfigError: The id is empty.
    """

    id: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    preferences: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise ConfigError(f"a user needs an id, a non-empty string, got {self.id!r}")
        set_fields(self, attributes=dict(self.attributes), preferences=dict(self.preferences))


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """Tokens in all, and of each section.

    The sections' numbers are scaled to the total, so that they need not add up to it. What a section
    leaves over goes to the best of the others; a section of 0 is left out and its collector not asked.

    Attributes:
        total: Tokens of the whole context.
        focus: Of what is around the focus.
        semantic: Of what the search finds.
        relations: Of what is connected.
        activity: Of what the user did lately.
        history: Of the conversation.
        system: Of system prompts.

    Raises:
        ConfigError: A number is not whole, or negative.

    Example:
        >>> TokenBudget(total=3000, activity=0).shares()["semantic"]
        1200
    """

    total: int = _DEFAULTS[0]
    focus: int = _DEFAULTS[1]
    semantic: int = _DEFAULTS[2]
    relations: int = _DEFAULTS[3]
    activity: int = _DEFAULTS[4]
    history: int = _DEFAULTS[5]
    system: int = _DEFAULTS[6]

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ConfigError(f"token budget {name} must be a whole number of 0 or more, got {value!r}")

    def shares(self) -> dict[str, int]:
        """Return section → its number, those of 0 left out."""
        return {name: value for name in SECTIONS if (value := getattr(self, name))}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextHints:
    """What the caller knows beyond the question.

    Attributes:
        prioritize_types: Block types that match best.
        time_range: (start, end), either may be None: only blocks last changed within it, but for what is
            around the focus.
        include_blocks: Ids of blocks that must come in.
        exclude_blocks: Ids of blocks that must not.
        max_depth: How far from the focus anything may be taken: levels up and down, links.

    Raises:
        ConfigError: A date cannot be read, or the depth is not a whole number of 0 or more.
    """

    prioritize_types: Sequence[str] = ()
    time_range: tuple[Any, Any] | None = None
    include_blocks: Sequence[str] = ()
    exclude_blocks: Sequence[str] = ()
    max_depth: int | None = None

    def __post_init__(self) -> None:
        depth = self.max_depth
        if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
            raise ConfigError(f"hints max_depth must be a whole number of 0 or more, got {depth!r}")
        set_fields(
            self,
            prioritize_types=tuple(self.prioritize_types),
            time_range=None if self.time_range is None else tuple(map(_instant, self.time_range)),
            include_blocks=tuple(self.include_blocks),
            exclude_blocks=tuple(self.exclude_blocks),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FocusPoint:
    """Where the user is: a block, its page, a database."""

    block_id: str | None = None
    page_id: str | None = None
    database_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceRequest:
    """One request for a context.

    Attributes:
        query: What the user asks.
        user: Who asks.
        type: assist, chat, search or automate; see `COLLECTORS_OF`.
        focus: A `FocusPoint`, or a mapping of its fields; None: nowhere.
        conversation_history: Messages, oldest first; system messages go to the section `system`.
        token_budget: A `TokenBudget`, or a total whose sections have the configured proportions; None is
            the configured one. There is no way to ask without a budget.
        hints: See `ContextHints`.
        system: A system prompt that the context should show.
        now: The instant that counts as now.

    Raises:
        ConfigError: A field is of the wrong type.
        UnknownNameError: There is no such type of request.
    """

    query: str
    user: User
    type: str = "assist"
    focus: Any = None
    conversation_history: Sequence[Any] = ()
    token_budget: TokenBudget | int | None = None
    hints: ContextHints = field(default_factory=ContextHints)
    system: str = ""
    now: datetime | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.user, User):
            raise ConfigError(f"a request needs its user, a User, got {type(self.user).__name__}")
        if self.type not in COLLECTORS_OF:
            raise UnknownNameError("request type", self.type, COLLECTORS_OF)
        set_fields(
            self,
            focus=_focus(self.focus),
            conversation_history=tuple(self.conversation_history),
            now=_instant(self.now),
        )


def _focus(given: Any) -> FocusPoint:
    if given is None or isinstance(given, FocusPoint):
        return given or FocusPoint()
    if not isinstance(given, Mapping):
        raise ConfigError(f"focus must be a FocusPoint or a mapping, got {type(given).__name__}")
    for name in given:
        if name not in FocusPoint.__slots__:
            raise UnknownNameError("field of focus", name, FocusPoint.__slots__)
    return FocusPoint(**given)


def _instant(value: Any) -> datetime | None:
    instant = read_instant(value)
    if value is not None and instant is None:
        raise ConfigError(f"a date (datetime, ISO 8601 or epoch) was expected, got {value!r}")
    return instant
