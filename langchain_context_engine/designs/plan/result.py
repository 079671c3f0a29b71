"""What a plan gives: the prompt in its parts, and why each pack is as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.prompt_values import ChatPromptValue

from langchain_context_engine.trace.context import Context, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult:
    """An assembled prompt.

    Attributes:
        system_prompt: The system messages and packs, in the plan's order.
        history: The conversation so far and the plan's own user and assistant messages.
        user_message: The new message: a text, or content blocks; "" where there is none.
        token_count: Tokens of all messages and tool schemas.
        max_tokens: The input budget, or None.
        packs: Name → the context that fills it; of a nested plan, its own result.
        warnings: What a person should know: what was left out, which pack failed.
        trace: The whole as one `Context` that replays, tells what it would take, and opens in the
            inspector; its `parts` say what each was promised, took and lost.

    Example:
        >>> PlanResult(system_prompt="Be brief.", user_message="Hello").messages[1].content
        'Hello'
    """

    system_prompt: str = ""
    history: tuple[BaseMessage, ...] = ()
    user_message: str | list[Any] = ""
    token_count: int = 0
    max_tokens: int | None = None
    packs: Mapping[str, Context | PlanResult] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    trace: Context = field(default_factory=Context, repr=False)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the prompt, in order: what each was promised, took and lost."""
        return self.trace.parts

    @property
    def messages(self) -> tuple[BaseMessage, ...]:
        """The prompt as messages: system, history, user."""
        system = [SystemMessage(self.system_prompt)] if self.system_prompt else []
        user = [HumanMessage(self.user_message)] if self.user_message else []
        return (*system, *self.history, *user)

    def to_prompt(self) -> ChatPromptValue:
        """Return the prompt as a chat model takes it."""
        return ChatPromptValue(messages=list(self.messages))
