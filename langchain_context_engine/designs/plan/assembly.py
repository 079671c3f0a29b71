"""One assembly of a plan, written once for sync and async: a generator that yields what must be asked.

Who drives it sends back the answers. Everything between two questions is pure.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace

from langchain_core.messages import BaseMessage

from langchain_context_engine.designs.plan.call import Call, Setup
from langchain_context_engine.designs.plan.draft import Draft, write_draft
from langchain_context_engine.designs.plan.filling import Fitted, Job, fill_packs
from langchain_context_engine.designs.plan.messages import turns
from langchain_context_engine.designs.plan.packs import PlanPack
from langchain_context_engine.designs.plan.recording import Recording
from langchain_context_engine.designs.plan.result import PlanResult
from langchain_context_engine.models.errors import AllSourcesFailedError, BudgetError
from langchain_context_engine.models.request import Message
from langchain_context_engine.rendering.compact import compact
from langchain_context_engine.trace.context import Context

Steps = Generator[list[Job], list[Context | Exception], PlanResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """One assembly.

    Attributes:
        setup: The plan.
        call: The call.
        bound: Tokens that a nested plan may have; None for the outermost.
        is_nested: Its text alone is wanted.
    """

    setup: Setup
    call: Call
    bound: int | None = None
    is_nested: bool = False

    @property
    def limit(self) -> int | None:
        """The input budget."""
        bounds = [n for n in (self.setup.max_tokens, self.bound) if n is not None]
        return min(bounds) if bounds else None

    def run(self) -> Steps:
        """Assemble; see `ContextPolicySpec` for what gives way when, in which order.

        Raises:
            BudgetError: The user's message does not fit, or overflow is "error" and something does not.
            AllSourcesFailedError: Every pack failed.
        """
        start = time.perf_counter()
        bare = self._draft({})
        self._check_fixed(bare)
        if bare.user is not None:
            self.call.question = Message.of(bare.user).text
        fitted = yield from self._fill(self._room(bare))
        for _ in range(self.setup.policy.max_iterations):
            draft = self._draft(fitted)
            excess = self._excess(draft)
            if excess <= 0 or not any(pack.text for pack in fitted.values()):
                break
            # Texts side by side may cost more than each alone: fit again, smaller by that.
            room = sum(pack.tokens for pack in fitted.values()) - excess
            fitted = yield from self._fill(max(0, room))
        draft = self._draft(fitted)
        if self._excess(draft) > 0:
            fitted = {}
            draft = self._compacted(bare)
        self._check_failures()
        draft = self._with_history(draft)
        result = self._result(draft, fitted)
        recording = Recording(
            setup=self.setup,
            call=self.call,
            limit=self.limit,
            tokens=result.token_count,
            draft=draft,
            bare=bare,
            fitted=fitted,
            warnings=result.warnings,
            milliseconds=(time.perf_counter() - start) * 1000,
        )
        return replace(result, trace=recording.trace())

    def _fill(self, room: int | None) -> Generator[list[Job], list[Context | Exception], dict[str, Fitted]]:
        filled: dict[str, Fitted] = yield from fill_packs(self, room)
        return filled

    def nested(self, pack: PlanPack, max_tokens: int | None) -> Steps:
        """Return the assembly of a nested plan."""
        return Assembly(setup=pack.plan.setup, call=self.call, bound=max_tokens, is_nested=True).run()

    def _draft(self, fitted: Mapping[str, Fitted]) -> Draft:
        texts = {
            spec.name: fitted[spec.name].text if spec.name in fitted else "" for spec in self.setup.specs
        }
        call = self.call
        if self.is_nested:
            return write_draft(self.setup.directives, call.values, texts, as_text=True)
        draft = write_draft(self.setup.directives, call.values, texts, base=call.base_system_prompt)
        if call.user is None:
            return draft
        # The plan's own last message is then one of its examples.
        own = () if draft.user is None else (draft.user,)
        return replace(draft, after=(*draft.after, *own), user=call.user)

    def _cost(self, draft: Draft) -> int:
        if self.is_nested:
            return self.setup.count(draft.system)
        return self.setup.count_messages(draft.messages()) + self._tool_tokens

    @property
    def _tool_tokens(self) -> int:
        return self.setup.tool_tokens + self.call.tool_tokens

    def _excess(self, draft: Draft) -> int:
        return 0 if self.limit is None else self._cost(draft) - self.limit

    def _room(self, bare: Draft) -> int | None:
        return None if self.limit is None else max(0, -self._excess(bare))

    def _check_fixed(self, bare: Draft) -> None:
        """Raise where what may not be cut does not fit."""
        least = self._excess(Draft(user=bare.user))
        if least > 0 and not self.is_nested:
            raise BudgetError(
                f"plan {self.setup.name!r}: the user's message and the tools need "
                f"{least + (self.limit or 0)} tokens, and the input budget is {self.limit}; "
                "shorten the message or raise input_budget"
            )
        if self.setup.policy.overflow == "error" and (excess := self._excess(bare)) > 0:
            raise BudgetError(f"plan {self.setup.name!r}: its own messages are {excess} tokens over budget")

    def _check_failures(self) -> None:
        names = {(id(self.setup), spec.name) for spec in self.setup.specs}
        failed = [why for key, why in self.call.failures.items() if key in names]
        if failed and len(failed) == len(names) and not self.is_nested:
            raise AllSourcesFailedError(failed)

    def _compacted(self, draft: Draft) -> Draft:
        """Return a draft without packs that fits: its examples go, oldest first, then the system is cut."""
        examples = turns(draft.before), turns(draft.after)
        while self._excess(draft) > 0 and any(examples):
            oldest = (examples[0] or examples[1]).pop(0)
            before, after = (tuple(m for turn in part for m in turn) for part in examples)
            draft = replace(draft, before=before, after=after)
            self._warn(f"{len(oldest)} of the plan's own messages were left out for room")
        for _ in range(self.setup.policy.max_iterations):
            if (excess := self._excess(draft)) <= 0:
                return draft
            allowance = self.setup.count(draft.system) - excess
            short = compact(draft.system, allowance, self.setup.count, self.setup.compactor)
            self._warn(short.warning or "the system prompt was cut for room")
            draft = replace(draft, system=short.text)
        return draft if self._excess(draft) <= 0 else replace(draft, system="")

    def _with_history(self, draft: Draft) -> Draft:
        """Return the draft with as many of the latest turns as fit, whole and without a gap."""
        if not draft.has_history:
            if self.call.history and not self.is_nested:
                self._warn("the plan has no place for history; it was left out")
            return draft
        kept = self._latest(draft)
        missing = len(self.call.history) - len(kept)
        if missing and self.setup.policy.overflow == "error":
            raise BudgetError(f"plan {self.setup.name!r}: {missing} messages of the history do not fit")
        if missing:
            self._warn(f"{missing} older messages of the history were left out for room")
        return replace(draft, history=kept)

    def _latest(self, draft: Draft) -> tuple[BaseMessage, ...]:
        """Return the latest turns that fit: as many as their own counts say, corrected by exact ones."""
        groups = turns(self.call.history)
        if self.limit is None:
            return self.call.history
        room, first = -self._excess(draft), len(groups)
        while first and (room := room - self.setup.count_messages(groups[first - 1])) >= 0:
            first -= 1

        def kept(start: int) -> tuple[BaseMessage, ...]:
            return tuple(message for turn in groups[start:] for message in turn)

        while first < len(groups) and self._excess(replace(draft, history=kept(first))) > 0:
            first += 1
        while first and self._excess(replace(draft, history=kept(first - 1))) <= 0:
            first -= 1
        return kept(first)

    def _result(self, draft: Draft, fitted: Mapping[str, Fitted]) -> PlanResult:
        failures = self.call.failures.items()
        warnings = (*(f"pack {name!r} is empty: {why}" for (_, name), why in failures), *self.call.warnings)
        own = (w for pack in fitted.values() for w in pack.given.warnings)
        return PlanResult(
            system_prompt=draft.system,
            history=(*draft.before, *draft.history, *draft.after),
            user_message="" if draft.user is None else draft.user.content,
            token_count=self._cost(draft),
            max_tokens=self.limit,
            packs={name: pack.given for name, pack in fitted.items()},
            warnings=tuple(dict.fromkeys((*warnings, *own))),
        )

    def _warn(self, warning: str) -> None:
        self.call.warnings.append(warning)
