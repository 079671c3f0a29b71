"""What a plan is once it is checked, and what one call of it brings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from langchain_context_engine.designs.plan.messages import CountMessages
from langchain_context_engine.designs.plan.packs import EnginePack, PlanPack
from langchain_context_engine.designs.plan.policy import ContextPolicySpec, Directive, HistorySpec, PackSpec
from langchain_context_engine.rendering.compact import Compactor
from langchain_context_engine.text.tokens import TokenCounter
from langchain_context_engine.trace.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A plan, checked and resolved.

    Attributes:
        name: The plan's name.
        directives: Its messages, in order.
        specs: Where packs stand and what they may have, in order.
        packs: What fills them, by name.
        policy: How it fits its budget.
        max_tokens: The input budget, or None.
        count: Counts the tokens of a text.
        count_messages: Counts the tokens of messages.
        tool_tokens: What the plan's tool schemas cost.
        compactor: Cuts the system prompt.
    """

    name: str
    directives: tuple[Directive, ...]
    specs: tuple[PackSpec, ...]
    packs: Mapping[str, EnginePack | PlanPack]
    policy: ContextPolicySpec
    max_tokens: int | None
    count: TokenCounter
    count_messages: CountMessages
    tool_tokens: int
    compactor: Compactor

    @property
    def declares_history(self) -> bool:
        """Whether its messages name a place for the history."""
        return any(isinstance(directive, HistorySpec) for directive in self.directives)


@dataclass(kw_only=True)
class Call:
    """One call of a plan, and what was asked for it so far.

    Attributes:
        values: What texts may name: `input`, `context`, and the keys of the input.
        history: The conversation so far.
        user: The new message, or None: the plan's own last user message is it.
        base_system_prompt: Stands before the plan's.
        fields: Fields of `ContextRequest` for every pack.
        override: What retrieves instead of the packs' own sources, by pack or for all, or None.
        tool_tokens: What the call's own tool schemas cost.
        pages: (plan, pack) → the pages that were read.
        failures: (plan, pack) → why it stays empty.
        question: The new message as text, for packs without a query.
        warnings: What was noticed.
    """

    values: Mapping[str, Any]
    history: tuple[BaseMessage, ...] = ()
    user: HumanMessage | None = None
    base_system_prompt: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    override: Any = None
    tool_tokens: int = 0
    pages: dict[tuple[int, str], list[Context]] = field(default_factory=dict)
    question: str = ""
    failures: dict[tuple[int, str], str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
