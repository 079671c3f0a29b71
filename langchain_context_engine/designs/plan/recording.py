"""A plan's trace: every part of the prompt with what it was promised, took and lost, function packs too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_context_engine.designs.plan.call import Call, Setup
from langchain_context_engine.designs.plan.draft import Draft
from langchain_context_engine.designs.plan.filling import Fitted, context_of
from langchain_context_engine.designs.plan.messages import turns
from langchain_context_engine.designs.plan.packs import EnginePack
from langchain_context_engine.designs.plan.policy import MessageSpec
from langchain_context_engine.designs.plan.text import packs_named
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.request import ContextRequest, Message
from langchain_context_engine.models.types import Status
from langchain_context_engine.trace.config import EngineConfig
from langchain_context_engine.trace.context import Context, Part
from langchain_context_engine.trace.plans import UNBOUNDED, compose

_ROLES = {"human": "user", "ai": "assistant"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One assembly, as it is recorded.

    Attributes:
        setup: The plan.
        call: The call.
        limit: The input budget, or None.
        tokens: What the model is given in all.
        draft: The prompt.
        bare: The prompt without packs, before anything was cut.
        fitted: Name → the pack as it stands in the prompt.
        warnings: What was noticed.
        milliseconds: How long it took.
    """

    setup: Setup
    call: Call
    limit: int | None
    tokens: int
    draft: Draft
    bare: Draft
    fitted: Mapping[str, Fitted]
    warnings: Sequence[str]
    milliseconds: float

    def trace(self) -> Context:
        """Return the trace."""
        parts = [*self._system(), *self._spoken()]
        contexts = [part.context for part in parts if part.context is not None]
        asked = next((context.request for context in contexts if context.request.now), ContextRequest())
        request = ContextRequest(
            query=self.call.question or asked.query,
            scope=asked.scope,
            history=tuple(Message.of(message) for message in self.call.history),
            focus={"plan": self.setup.name},
            budget=self.limit,
            now=asked.now,
        )
        is_partial = any(key[0] == id(self.setup) for key in self.call.failures)
        base = Context(
            budget=UNBOUNDED if self.limit is None else self.limit,
            request=request,
            settings=self._settings(contexts),
            warnings=tuple(self.warnings),
            timings={"total": self.milliseconds},
            status=Status.PARTIAL if is_partial else Status.OK,
        )
        return compose(parts, base, tokens=self.tokens)

    def _settings(self, contexts: Sequence[Context]) -> Mapping[str, Any]:
        """Return the settings of the packs' engines: those of the first, with the plan's own budget."""
        own = next((context.settings for context in contexts if context.settings), None)
        if own is None:
            own = EngineConfig(tokenizer=self.setup.count).described()
        budget = Budget(tokens=UNBOUNDED if self.limit is None else self.limit)
        return {**own, "budget": EngineConfig(budget=budget).described()["budget"]}

    def _system(self) -> Iterator[Part]:
        pieces, count = self.draft.pieces, self.setup.count
        told = {piece.name: piece.text for piece in pieces if not piece.is_pack}
        is_cut = self.draft.system != self.bare.system and not self.fitted
        for piece in pieces:
            if piece.is_pack:
                yield self._pack(piece.name, "")
            elif piece.text.strip() and not is_cut:
                yield Part(name=piece.name, kind="system", text=piece.text, tokens=count(piece.text))
        if is_cut:
            tokens = count(self.draft.system) if self.draft.system else 0
            lost = max(0, count(self.bare.system) - tokens)
            yield Part(
                name="system", kind="system", text=self.draft.system, tokens=tokens, lost=lost,
                reason="cut for room",
            )  # fmt: skip
        placed = {piece.name for piece in pieces if piece.is_pack}
        for name in (spec.name for spec in self.setup.specs if spec.name not in placed):
            yield self._pack(name, self._message_of(name, told))

    def _message_of(self, pack: str, told: Mapping[str, str]) -> str:
        """Return the part in whose text a pack stands by its name."""
        for number, directive in enumerate(self.setup.directives, 1):
            if isinstance(directive, MessageSpec) and pack in packs_named(directive.content):
                name = f"{directive.type} {number}"
                return name if name in told else "user" if directive.type == "user" else "examples"
        return ""

    def _pack(self, name: str, within: str) -> Part:
        spec = next(spec for spec in self.setup.specs if spec.name == name)
        default = self.setup.policy.pack_budget
        budget = spec.budget
        fitted = self.fitted.get(name)
        context = Context() if fitted is None else context_of(fitted)
        failure = self.call.failures.get((id(self.setup), name), "")
        lost = 0 if fitted is None else self._needed(name, context) - fitted.tokens
        return Part(
            name=name,
            kind="pack" if isinstance(self.setup.packs[name], EnginePack) else "plan",
            text="" if fitted is None else fitted.text,
            tokens=0 if fitted is None else fitted.tokens,
            promised=None if fitted is None or fitted.promised >= UNBOUNDED else fitted.promised,
            lost=max(0, lost),
            reason=failure or ("some of it was left out or cut for room" if lost > 0 else ""),
            within=within,
            rule={
                "weight": spec.weight,
                "priority": spec.priority,
                "has_budget": budget is not None,
                "max_tokens": None if budget is None else budget.max_tokens,
                "ratio": None if budget is None else budget.ratio,
                "default_ratio": default.default_ratio,
                "default_max_tokens": default.default_max_tokens,
            },
            context=context,
        )

    def _needed(self, name: str, context: Context) -> int:
        """Return the tokens that all of a pack would take."""
        pack = self.setup.packs[name]
        if not context.is_truncated or not isinstance(pack, EnginePack):
            return context.tokens + sum(part.lost for part in context.parts)
        pages = self.call.pages.get((id(self.setup), name), ())
        return max(context.tokens, pack.fit(pages, _MOST).tokens)

    def _spoken(self) -> Iterator[Part]:
        """Yield what is said: the plan's own examples, the history by turns, the user's message."""
        draft = self.draft
        if draft.before:
            yield self._messages("examples", "example", draft.before)
        kept = turns(draft.history)
        missing = self.call.history[: len(self.call.history) - len(draft.history)]
        if missing and draft.has_history:
            lost = self.setup.count_messages(missing)
            yield Part(name="history", kind="history", role="user", lost=lost, reason="left out for room")
        for number, turn in enumerate(kept, 1):
            yield self._messages(f"history {number}", "history", turn)
        if draft.after:
            yield self._messages("examples after", "example", draft.after)
        if draft.user is not None:
            yield self._messages("user", "user", (draft.user,))

    def _messages(self, name: str, kind: str, messages: Sequence[BaseMessage]) -> Part:
        said = [Message.of(message) for message in messages]
        text = "\n".join(message.text for message in said)
        role = _ROLES.get(messages[0].type, said[0].role)
        return Part(name=name, kind=kind, role=role, text=text, tokens=self.setup.count_messages(messages))


_MOST = 1_000_000
