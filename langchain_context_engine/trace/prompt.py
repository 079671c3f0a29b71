"""Prompts of several parts: their packs fitted into one budget, put together, and fitted again for a replay.

Pure, as `assemble` is: what a plan recorded is enough to show what another budget or other weights would do.
Packs share what room there is as `fit_packs` says; then the oldest turns of the history give way, then the
plan's own messages. What the user asks is never cut: where not even that fits, the prompt is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
from langchain_context_engine.trace.context import Context, Part, reading

JOINT = "\n\n"
"""What stands between the parts of a prompt."""

UNBOUNDED = 10**9
"""Tokens where nothing bounds them."""

MOST = 1_000_000
"""Tokens that a pack is tried with where one asks what all of it would take."""

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


class Filled(NamedTuple):
    """A pack's text within what it may have: its context, its tokens, and what it was promised at first."""

    context: Context
    tokens: int
    promised: int


Claims = Mapping[str, Claim]


def claims_of(rules: Mapping[str, Mapping[str, Any]], limit: int) -> tuple[dict[str, Claim], int]:
    """Return what packs may have within a limit, and what those without a budget of their own share.

    Args:
        rules: Name → `weight`, `priority`, its own `budget` or None, and the `shared` one: each a number of
            `max_tokens`, a `ratio` of the limit, or both.
        limit: Tokens of the whole prompt.
    """

    def most(budget: Mapping[str, Any]) -> int:
        share = None if budget["ratio"] is None else int(budget["ratio"] * limit)
        return min((n for n in (budget["max_tokens"], share) if n is not None), default=UNBOUNDED)

    claims, default = {}, UNBOUNDED
    for name, rule in rules.items():
        own, default = rule["budget"], most(rule["shared"])
        claim = Claim(weight=rule["weight"], priority=rule["priority"])
        claims[name] = claim if own is None else replace(claim, most=most(own))
    return claims, default


def most_of(claims: Claims, room: int, default: int) -> dict[str, int]:
    """Return what each pack may have if it were alone."""
    return {name: min(room, default if c.most is None else c.most) for name, c in claims.items()}


def fit_packs(
    claims: Claims,
    bounds: tuple[int, int],
    fill: Callable[[str, int], Filled],
    excess: Callable[[Mapping[str, Filled]], int],
    attempts: int = 4,
) -> dict[str, Filled]:
    """Return all packs filled, so that the prompt fits; {} where it does not.

    Those of the highest priority come first. A pack is tried with all that it may have; where those of a
    priority then take too much, each has its share by weight. What they leave goes to the next priority.

    Args:
        claims: Name → what the pack may have.
        bounds: Tokens of all of them, and of those without a budget of their own.
        fill: Gives a pack within so many tokens.
        excess: Tells by how much a prompt with these packs is too large.
        attempts: How often all is fitted again, smaller: texts side by side may cost more than each alone.
    """
    room, default = bounds
    for _ in range(attempts + 1):
        filled = _filled(claims, room, default, fill)
        over = excess(filled)
        if over <= 0:
            return filled
        room = max(0, sum(pack.tokens for pack in filled.values()) - over)
    return {}


def promises(claims: Claims, bounds: tuple[int, int]) -> dict[str, int]:
    """Return what each pack may have if all use what they may; `claims` and `bounds` as in `fit_packs`."""
    filled = _filled(claims, *bounds, lambda _, tokens: Filled(Context(), tokens, 0))
    return {name: pack.tokens for name, pack in filled.items()}


def _filled(claims: Claims, room: int, default: int, fill: Callable[[str, int], Filled]) -> dict[str, Filled]:
    filled: dict[str, Filled] = {}
    for priority in sorted({claim.priority for claim in claims.values()}, reverse=True):
        own = {name: claim for name, claim in claims.items() if claim.priority == priority}
        most = most_of(own, room, default)
        promised = _shares(own, most, room, default)
        tried = {name: fill(name, tokens) for name, tokens in most.items()}
        granted = _shares(own, {name: pack.tokens for name, pack in tried.items()}, room, default)
        for name, pack in tried.items():
            fitted = pack if pack.tokens <= granted[name] else fill(name, granted[name])
            filled[name] = fitted._replace(promised=promised[name])
            room = max(0, room - fitted.tokens)
            default = max(0, default - fitted.tokens) if own[name].most is None else default
    return filled


def _shares(claims: Claims, needs: Mapping[str, int], room: int, default: int) -> dict[str, int]:
    """Return what packs of one priority may have, by weight; what one does not need goes to the others."""
    bounds = {name: min(needs[name], most) for name, most in most_of(claims, UNBOUNDED, default).items()}
    weights = {name: claim.weight for name, claim in claims.items()}
    bounds |= share_out(default, {n: weights[n] for n, c in claims.items() if c.most is None}, bounds)
    return share_out(room, weights, bounds)


def compose(parts: Sequence[Part], base: Context, *, tokens: int) -> Context:
    """Return parts as the one context that a trace of a plan is.

    Args:
        parts: In the order of the prompt.
        base: Its request, settings, budget, warnings, timings and status.
        tokens: What the model is given in all.
    """
    given = [part.context for part in parts if part.context is not None]
    filled = {part.name: part.context for part in parts if part.context is not None and part.text}
    passages: dict[Key, Passage] = {p.key: p for context in filled.values() for p in context.passages}
    candidates: dict[Key, Candidate] = {c.key: c for context in given for c in context.candidates}
    return replace(
        base,
        text=JOINT.join(part.text for part in parts if part.text.strip() and not part.within),
        tokens=tokens,
        passages=tuple(passages.values()),
        citations={m: key for context in reversed(filled.values()) for m, key in context.citations.items()},
        sections=tuple(
            Section(
                title=part.name, keys=tuple(p.key for p in filled[part.name].passages), tokens=part.tokens
            )
            for part in parts
            if part.name in filled
        ),
        decisions=_decisions(given, passages),
        is_truncated=any(part.lost for part in parts),
        candidates=tuple(candidates.values()),
        parts=tuple(parts),
    )


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


def refit(
    trace: Context,
    changes: Mapping[str, Any],
    again: Callable[[Context, Mapping[str, Any]], Context],
    count: Callable[[str], int],
) -> Context:
    """Return a plan's trace as other settings would have made it; unchanged ones give the same bytes.

    Args:
        trace: With parts.
        changes: Settings of the packs' engines, `k`, and `budget` (tokens of the whole prompt).
        again: Replays one pack's context under some settings.
        count: The plan's token counter.
    """
    own = {name: value for name, value in changes.items() if name != "budget"}
    budget = getattr(changes.get("budget"), "tokens", changes.get("budget"))
    limit = UNBOUNDED if trace.request.budget is None else trace.request.budget
    limit = limit if budget is None else budget
    packs = {part.name: part for part in trace.parts if part.kind in _FILLED}
    # What the messages' format and the tools cost is not told apart by part.
    around = trace.tokens - _taken(trace.parts, count)

    def cost(parts: Sequence[Part]) -> int:
        return _taken(parts, count) + around if any(part.text for part in parts) else 0

    def fill(name: str, tokens: int | None) -> Filled:
        context = packs[name].context or Context()
        if context.settings:
            context = again(context, own if tokens is None else {**own, "budget": min(tokens, MOST)})
        return Filled(context, count(context.text), 0)

    def written(filled: Mapping[str, Filled]) -> list[Part]:
        return _with(trace.parts, {name: filled.get(name, _NOTHING) for name in packs}, count)

    def excess(filled: Mapping[str, Filled]) -> int:
        return cost([part for part in written(filled) if part.kind != "history"]) - limit

    if budget is None:
        parts = written({name: fill(name, None) for name in packs})
    else:
        with reading(trace):
            claims, default = claims_of({name: part.rule for name, part in packs.items()}, limit)
        parts = written(fit_packs(claims, (max(0, -excess({})), default), fill, excess))
    parts = _given_way(parts, lambda parts: cost(parts) - limit)
    base = replace(
        trace,
        budget=limit if limit < UNBOUNDED else trace.budget,
        request=trace.request if budget is None else replace(trace.request, budget=limit),
        status=trace.status if any(part.text for part in parts) else Status.EMPTY,
    )
    return compose(parts, base, tokens=cost(parts))


def _given_way(parts: list[Part], excess: Callable[[Sequence[Part]], int]) -> list[Part]:
    """Return the parts without what must give way: history first, the oldest turn first."""
    for kind in _GIVING_WAY:
        for place, part in enumerate(parts):
            if part.kind == kind and part.text and excess(parts) > 0:
                parts[place] = replace(part, text="", tokens=0, lost=part.lost + part.tokens)
    if excess(parts) <= 0:
        return parts
    return [replace(part, text="", tokens=0, context=part.context and Context()) for part in parts]


_NOTHING = Filled(Context(), 0, 0)


def _taken(parts: Sequence[Part], count: Callable[[str], int]) -> int:
    """Return the tokens of parts, those of the system prompt as the one text that they are."""
    shown = [part for part in parts if not part.within]
    system = JOINT.join(part.text for part in shown if part.role == "system" and part.text.strip())
    return (count(system) if system else 0) + sum(part.tokens for part in shown if part.role != "system")


def _with(parts: Sequence[Part], filled: Mapping[str, Filled], count: Callable[[str], int]) -> list[Part]:
    """Return the parts with other contexts in the packs, also where packs stand within a message."""
    within = [part for part in parts if part.within and part.kind in _FILLED and part.text]

    def changed(part: Part) -> Part:
        if part.kind in _FILLED:
            new = filled[part.name]
            lost = max(0, part.tokens + part.lost - new.context.tokens)
            return replace(part, text=new.context.text, tokens=new.tokens, lost=lost, context=new.context)
        text = part.text
        for pack in (pack for pack in within if pack.within == part.name):
            text = text.replace(pack.text, filled[pack.name].context.text, 1)
        return part if text == part.text else replace(part, text=text, tokens=count(text))

    return [changed(part) for part in parts]
