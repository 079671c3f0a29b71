"""Prompts of several parts: put together from their contexts, and fitted again under other settings.

Pure, as `assemble` is: what a plan recorded is enough to show what another budget or other weights would do.
Packs share what room there is as `share_packs` says; then the oldest turns of the history give way, then the
plan's own messages. What the user asks is never cut: where not even that fits, the prompt is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_context_engine.models.budget import share_out
from langchain_context_engine.models.types import (
    Candidate,
    Decision,
    Key,
    Passage,
    Section,
    Status,
    Verdict,
)
from langchain_context_engine.trace.context import Context, Part

JOINT = "\n\n"
"""What stands between the parts of a prompt."""

UNBOUNDED = 10**9
"""Tokens where nothing bounds them."""

_MOST = 1_000_000
"""Tokens that a pack is tried with where nothing bounds it."""

_ATTEMPTS = 4
_GIVING_WAY = ("history", "example", "system")
_FILLED = ("pack", "plan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a pack may have beside others.

    Attributes:
        weight: Its share beside packs of the same priority.
        priority: Packs of a higher one take what they need first.
        most: Tokens of its own budget; None: it shares what packs without one may have together.
    """

    weight: float = 1.0
    priority: int = 0
    most: int | None = None


def share_packs(
    claims: Mapping[str, Claim], needs: Mapping[str, int], room: int, default: int
) -> dict[str, int]:
    """Return what packs may have, none more than it needs.

    Those of the highest priority come first. Within a priority each has a share by weight; what one does
    not need goes to the others, and what all of them leave to the next priority.

    Args:
        claims: Name → what the pack may have.
        needs: Name → tokens that the pack can use.
        room: Tokens of all of them.
        default: Tokens of those without a budget of their own.
    """
    granted: dict[str, int] = {}
    for priority in sorted({claim.priority for claim in claims.values()}, reverse=True):
        names = [name for name, claim in claims.items() if claim.priority == priority]
        bounds = {name: min(needs[name], _or(claims[name].most, default)) for name in names}
        sharing = {name: claims[name].weight for name in names if claims[name].most is None}
        bounds |= share_out(default, sharing, bounds)
        own = share_out(room, {name: claims[name].weight for name in names}, bounds)
        granted |= own
        room = max(0, room - sum(own.values()))
        default = max(0, default - sum(own[name] for name in sharing))
    return granted


def compose(parts: Sequence[Part], base: Context, *, tokens: int) -> Context:
    """Return parts as the one context that a trace of a plan is.

    Args:
        parts: In the order of the prompt.
        base: Its request, settings, budget, warnings, timings and status.
        tokens: What the model is given in all.
    """
    filled = [part for part in parts if part.context is not None and part.text]
    given = [part.context for part in parts if part.context is not None]
    passages: dict[Key, Passage] = {p.key: p for part in filled for p in _of(part).passages}
    candidates: dict[Key, Candidate] = {c.key: c for context in given for c in context.candidates}
    citations = {m: key for part in reversed(filled) for m, key in _of(part).citations.items()}
    return replace(
        base,
        text=JOINT.join(part.text for part in parts if part.text.strip() and not part.within),
        tokens=tokens,
        passages=tuple(passages.values()),
        citations=citations,
        sections=tuple(
            Section(title=part.name, keys=tuple(p.key for p in _of(part).passages), tokens=part.tokens)
            for part in filled
        ),
        decisions=_decisions(given, passages),
        is_truncated=any(part.lost for part in parts),
        candidates=tuple(candidates.values()),
        parts=tuple(parts),
    )


def _of(part: Part) -> Context:
    return part.context or Context()


def _decisions(given: Sequence[Context], passages: Mapping[Key, Passage]) -> tuple[Decision, ...]:
    """Return the decisions of all packs: of a candidate that several had, the fate of where it stands."""
    found: dict[tuple[str, Key, str], Decision] = {}
    final: dict[Key, Decision] = {}
    for decision in (d for context in given for d in context.decisions):
        if decision.verdict is Verdict.CHANGED:
            found.setdefault((decision.stage, decision.key, str(decision.reason)), decision)
        elif decision.key not in final or (decision.verdict is Verdict.KEPT and decision.key in passages):
            final[decision.key] = decision
    return (*found.values(), *final.values())


Replay = Callable[[Context, Mapping[str, Any]], Context]
"""Replays one pack's context under some settings."""


def refit(trace: Context, changes: Mapping[str, Any], again: Replay, count: Callable[[str], int]) -> Context:
    """Return a plan's trace as other settings would have made it; unchanged ones give the same bytes.

    Args:
        trace: With parts.
        changes: Settings of the packs' engines, `k`, and `budget` (tokens of the whole prompt).
        again: Replays a pack's context.
        count: The plan's token counter.
    """
    changes = dict(changes)
    budget = changes.pop("budget", None)
    limit = UNBOUNDED if trace.request.budget is None else trace.request.budget
    limit = limit if budget is None else getattr(budget, "tokens", budget)
    fitting = _Fitting(trace, changes, again, count, limit)
    parts = fitting.same() if budget is None else fitting.shared()
    parts = fitting.given_way(parts)
    base = replace(
        trace,
        budget=limit if limit < UNBOUNDED else trace.budget,
        request=trace.request if budget is None else replace(trace.request, budget=limit),
        status=trace.status if any(part.text for part in parts) else Status.EMPTY,
    )
    return compose(parts, base, tokens=fitting.cost(parts))


class _Fitting:
    """One refit: the parts as they were recorded, and what they cost."""

    def __init__(
        self,
        trace: Context,
        changes: Mapping[str, Any],
        again: Replay,
        count: Callable[[str], int],
        limit: int,
    ) -> None:
        self.trace, self.changes, self.again, self.count, self.limit = trace, changes, again, count, limit
        self.packs = {part.name: part for part in trace.parts if part.kind in _FILLED}
        # What the messages' format and the tools cost is not told apart by part.
        self.around = trace.tokens - self._own(trace.parts)

    def _own(self, parts: Sequence[Part]) -> int:
        system = JOINT.join(p.text for p in parts if p.role == "system" and not p.within and p.text.strip())
        spoken = sum(part.tokens for part in parts if part.role != "system" and not part.within)
        return (self.count(system) if system else 0) + spoken

    def cost(self, parts: Sequence[Part]) -> int:
        """Return what the model is given in all."""
        return self._own(parts) + self.around if any(part.text for part in parts) else 0

    def same(self) -> list[Part]:
        """Return the parts with every pack within what it was granted."""
        return self._with({name: self._replayed(part, None) for name, part in self.packs.items()})

    def shared(self) -> list[Part]:
        """Return the parts with the packs sharing the room that the limit leaves."""
        bare = self._with(dict.fromkeys(self.packs, Context()))
        room = max(0, self.limit - self.cost(bare))
        most = min(self.limit, _MOST)
        whole = {name: self._replayed(part, most) for name, part in self.packs.items()}
        needs = {name: context.tokens for name, context in whole.items()}
        parts = bare
        for _ in range(_ATTEMPTS):
            granted = share_packs(self._claims(), needs, room, self._default())
            short = [name for name in self.packs if needs[name] > granted[name]]
            cut = {name: self._replayed(self.packs[name], granted[name]) for name in short}
            parts = self._with({**whole, **cut})
            excess = self.cost(parts) - self.limit
            if excess <= 0:
                return parts
            room = max(0, room - excess)
        return bare

    def _claims(self) -> dict[str, Claim]:
        found = {}
        for name, part in self.packs.items():
            rule = part.rule
            own = self._bound(rule, "max_tokens", "ratio") if rule.get("has_budget") else None
            found[name] = Claim(weight=rule.get("weight", 1.0), priority=rule.get("priority", 0), most=own)
        return found

    def _default(self) -> int:
        rules = [part.rule for part in self.packs.values()]
        return self._bound(rules[0], "default_max_tokens", "default_ratio") if rules else UNBOUNDED

    def _bound(self, rule: Mapping[str, Any], tokens: str, ratio: str) -> int:
        share = None if rule.get(ratio) is None else int(rule[ratio] * self.limit)
        return min((bound for bound in (rule.get(tokens), share) if bound is not None), default=UNBOUNDED)

    def _replayed(self, part: Part, tokens: int | None) -> Context:
        context = _of(part)
        if not context.settings:
            return context
        if tokens is None and not self.changes:
            return self.again(context, {})
        own = {} if tokens is None else {"budget": tokens}
        return self.again(context, {**self.changes, **own})

    def _with(self, contexts: Mapping[str, Context]) -> list[Part]:
        """Return the parts with other contexts in the packs, also where a pack stands within a message."""
        texts = {name: (_of(part).text, contexts[name].text) for name, part in self.packs.items()}
        within = {part.within: part.name for part in self.packs.values() if part.within}

        def changed(part: Part) -> Part:
            if part.name in contexts and part.kind in _FILLED:
                new = contexts[part.name]
                lost = max(0, part.tokens + part.lost - new.tokens)
                return replace(part, text=new.text, tokens=self.count(new.text), lost=lost, context=new)
            old, written = texts[within[part.name]] if part.name in within else ("", "")
            text = part.text.replace(old, written, 1) if old else part.text
            return part if text == part.text else replace(part, text=text, tokens=self.count(text))

        return [changed(part) for part in self.trace.parts]

    def given_way(self, parts: list[Part]) -> list[Part]:
        """Return the parts without what must give way: history first, the oldest turn first."""
        for kind in _GIVING_WAY:
            for place, part in enumerate(parts):
                if self.cost(parts) <= self.limit:
                    return parts
                if part.kind == kind and part.text:
                    gone = replace(part, text="", tokens=0, lost=part.lost + part.tokens)
                    parts = [*parts[:place], gone, *parts[place + 1 :]]
        if self.cost(parts) <= self.limit:
            return parts
        return [replace(part, text="", tokens=0, context=part.context and Context()) for part in parts]


def _or(value: int | None, other: int) -> int:
    return other if value is None else value
