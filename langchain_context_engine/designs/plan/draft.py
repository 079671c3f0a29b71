"""The prompt of a plan as text and messages, its packs filled in, before it is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langchain_context_engine.designs.plan.policy import Directive, HistorySpec, PackSpec
from langchain_context_engine.designs.plan.text import fill_content
from langchain_context_engine.models.request import Message
from langchain_context_engine.trace.plans import JOINT


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the system prompt: what it is called, whether a pack fills it, its text."""

    name: str
    is_pack: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A prompt.

    Attributes:
        system: The system prompt.
        pieces: What it is put together from, until it is cut.
        before: The plan's own user and assistant messages before the history.
        history: The conversation so far.
        after: The plan's own messages after it.
        user: The new message, or None.
        has_history: The plan has a place for history.
    """

    system: str = ""
    pieces: tuple[Piece, ...] = ()
    before: tuple[BaseMessage, ...] = ()
    history: tuple[BaseMessage, ...] = ()
    after: tuple[BaseMessage, ...] = ()
    user: BaseMessage | None = None
    has_history: bool = False

    def messages(self) -> list[BaseMessage]:
        """Return all messages, in order."""
        system = [SystemMessage(self.system)] if self.system else []
        user = [] if self.user is None else [self.user]
        return [*system, *self.before, *self.history, *self.after, *user]


def write_draft(
    directives: Sequence[Directive],
    values: Mapping[str, Any],
    packs: Mapping[str, str],
    *,
    base: str = "",
    as_text: bool = False,
) -> Draft:
    """Return a plan's prompt; its last user message is the new one.

    Args:
        directives: The plan's messages.
        values: What texts may name.
        packs: Name → text of every pack; texts may name them as `context.<name>`.
        base: Stands before the plan's own system prompt.
        as_text: Everything is one text, whoever says it: of a nested plan.

    Raises:
        TemplateError: A text names what there is not.
    """
    given = values.get("context")
    root = {**values, "context": {**(given if isinstance(given, Mapping) else {}), **packs}}
    system, before, after = [Piece("base", False, base)], list[BaseMessage](), list[BaseMessage]()
    spoken, has_history = before, False
    for number, directive in enumerate(directives, 1):
        if isinstance(directive, PackSpec):
            system.append(Piece(directive.name, True, packs[directive.name]))
        elif isinstance(directive, HistorySpec):
            has_history, spoken = True, after
        else:
            content = fill_content(directive.content, root)
            if as_text or directive.type == "system":
                text = Message.of((directive.type, content)).text
                system.append(Piece(f"{directive.type} {number}", False, text))
            else:
                spoken.append(HumanMessage(content) if directive.type == "user" else AIMessage(content))
    user = None
    for part in (after, before):
        places = [i for i, message in enumerate(part) if isinstance(message, HumanMessage)]
        if places:
            user = part.pop(places[-1])
            break
    return Draft(
        system=JOINT.join(piece.text for piece in system if piece.text.strip()),
        pieces=tuple(system),
        before=tuple(before),
        after=tuple(after),
        user=user,
        has_history=has_history,
    )
