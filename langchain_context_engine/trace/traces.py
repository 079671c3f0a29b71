"""Traces: build a stored context again under other settings, without a store; compare two contexts."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Key, Passage, Ranked, Status
from langchain_context_engine.ranking.answerability import is_doubt
from langchain_context_engine.rendering.orders import shared_prefix
from langchain_context_engine.trace.assemble import Ordered, Parts, assemble, order
from langchain_context_engine.trace.config import EngineConfig
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.damage import reading
from langchain_context_engine.trace.plans import refit

REQUERY_SETTINGS = frozenset({"limit", "scope_keys", "timeout_seconds"})
"""Settings that act while asking: a replay cannot show what they would find."""

_ORDERING_SETTINGS = (
    "weights", "signals", "fusion", "min_score", "thresholds", "dedupe_threshold", "dedupe_rules",
    "dedupe_key",
)  # fmt: skip
_BEFORE_RANK = frozenset({"collect", "expand", "rerank"})


def replay(trace: Context | Mapping[str, Any], engine: Any = None, **changed_settings: Any) -> Context:
    """Return the context that the stored candidates give, under the trace's settings or changed ones.

    Unchanged settings give the same bytes.

    Args:
        trace: A `Context`, or what its `to_dict` gave.
        engine: Where parts that were given as functions come from; needed only for those.
        **changed_settings: Settings of `EngineConfig`, and `k`; `budget` may be tokens.

    Raises:
        ConfigError: The trace cannot be read, a setting is unknown or wrong, or a part of it was a
            function and `engine` has it not.
    """
    context = trace if isinstance(trace, Context) else Context.from_dict(trace)
    if context.parts:
        return _refitted(context, engine, changed_settings)
    with reading(context):
        request, config = _changed(context, engine, changed_settings)
        return _built(context, request, config, config.parts())


def replay_ranked(
    trace: Context | Mapping[str, Any], engine: Any = None, **changed_settings: Any
) -> tuple[Context, tuple[Ranked, ...]]:
    """Return what `replay` gives and the `ranking` of that, for less than both ask for one after the other.

    Args:
        trace: As in `replay`.
        engine: As in `replay`.
        **changed_settings: As in `replay`.

    Raises:
        ConfigError: As `replay`.
    """
    context = trace if isinstance(trace, Context) else Context.from_dict(trace)
    if context.parts:
        again = _refitted(context, engine, changed_settings)
        return again, ranking(again, engine)
    with reading(context):
        request, config = _changed(context, engine, changed_settings)
        parts = config.parts()
        ordered = order(context.candidates, request, parts)
        return _built(context, request, config, parts, ordered), ordered.items


def _refitted(trace: Context, engine: Any, changes: Mapping[str, Any]) -> Context:
    """Return a plan's trace under changed settings: those of its packs' engines, and its own budget."""
    config = EngineConfig.read(trace.settings, None if engine is None else engine.config)
    changed = config.changed(**{name: value for name, value in changes.items() if name != "k"})

    def again(context: Context, settings: Mapping[str, Any]) -> Context:
        return replay(context, engine, **settings)

    fitted = refit(trace, changes, again, config.parts().packing.count)
    return replace(fitted, settings=changed.described())


def _built(
    context: Context,
    request: ContextRequest,
    config: EngineConfig,
    parts: Parts,
    ordered: Ordered | None = None,
) -> Context:
    if request.budget == 0 or request.k == 0:
        return replace(
            context, text="", tokens=0, budget=request.budget or 0, passages=(), citations={}, sections=(),
            decisions=(), status=Status.EMPTY, is_truncated=request.budget == 0, request=request,
            settings=config.described(),
        )  # fmt: skip
    again = assemble(context.candidates, request, parts, ordered=ordered)
    return replace(
        again,
        decisions=(*(d for d in context.decisions if d.stage in _BEFORE_RANK), *again.decisions),
        warnings=tuple(dict.fromkeys((*_standing(context), *again.warnings))),
        timings={**context.timings, **again.timings},
        source_timings=context.source_timings,
        searched=context.searched,
        status=Status.PARTIAL if context.status is Status.PARTIAL else again.status,
        settings=config.described(),
    )


def _standing(context: Context) -> Sequence[str]:
    """Return the warnings that stand whatever the settings: a doubt is told anew."""
    return [warning for warning in context.warnings if not is_doubt(warning)]


def ranking(trace: Context, engine: Any = None) -> tuple[Ranked, ...]:
    """Return what rank and dedupe left of a trace's candidates, best first.

    Raises:
        ConfigError: As `replay`, of the settings that rank and dedupe go by.
    """
    if trace.parts:
        ranked = (item for part in trace.parts if part.context for item in ranking(part.context, engine))
        return tuple({item.key: item for item in ranked}.values())
    if not trace.settings:
        return tuple(passage.ranked for passage in trace.passages)
    settings = {name: trace.settings[name] for name in _ORDERING_SETTINGS if name in trace.settings}
    with reading(trace):
        config = EngineConfig.read(settings, None if engine is None else engine.config)
        return order(trace.candidates, trace.request, config.parts()).items


def _changed(
    context: Context, engine: Any, changes: Mapping[str, Any]
) -> tuple[ContextRequest, EngineConfig]:
    """Return the request and the settings that a replay goes by."""
    changes = dict(changes)
    request = context.request
    if "k" in changes:
        request = replace(request, k=changes.pop("k"))
    budget = changes.get("budget")
    if budget is not None:
        request = replace(request, budget=budget.tokens if isinstance(budget, Budget) else budget)
    if "template" in changes:
        request = replace(request, template=None)
    config = EngineConfig.read(context.settings, None if engine is None else engine.config)
    return request, config.changed(**changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """How two contexts differ, from the first to the second.

    Attributes:
        entered: Keys only in the second, in text order.
        left: Keys only in the first, in text order.
        moved: Key → (place before, place after), from 1, of passages whose place changed.
        recut: Keys of passages in both whose text differs.
        tokens: Tokens after, less tokens before.
        overlap: Shared passages over all passages of both (Jaccard), 0–1; two empty ones are 1.
        kept_prefix: Share of the first text that the second begins with, 0–1.
        settings: Name → (before, after) of settings that differ.
        lines: A unified diff of the texts.
    """

    entered: tuple[Key, ...]
    left: tuple[Key, ...]
    moved: Mapping[Key, tuple[int, int]]
    recut: tuple[Key, ...]
    tokens: int
    overlap: float
    kept_prefix: float
    settings: Mapping[str, tuple[Any, Any]]
    lines: tuple[str, ...]

    def __str__(self) -> str:
        counts = (
            f"{len(self.entered)} entered, {len(self.left)} left, {len(self.moved)} moved,"
            f" {len(self.recut)} recut, {self.tokens:+d} tokens, {self.overlap:.0%} shared"
        )
        parts = [counts]
        parts += [f"+ {source}/{id_}" for source, id_ in self.entered]
        parts += [f"- {source}/{id_}" for source, id_ in self.left]
        parts += [f"↕ {source}/{id_}: {a} → {b}" for (source, id_), (a, b) in self.moved.items()]
        parts += [f"✂ {source}/{id_}" for source, id_ in self.recut]
        parts += [f"{name}: {a!r} → {b!r}" for name, (a, b) in self.settings.items()]
        return "\n".join(parts)


def diff(a: Context | Mapping[str, Any], b: Context | Mapping[str, Any]) -> Diff:
    """Return what changed from one context to another.

    Raises:
        ConfigError: One of them is not a context and not a trace.
    """
    before, after = (c if isinstance(c, Context) else Context.from_dict(c) for c in (a, b))
    first, second = _places(before.passages), _places(after.passages)
    both = [key for key in second if key in first]
    everyone = {*first, *second}
    lines = difflib.unified_diff(
        before.text.splitlines(), after.text.splitlines(), "before", "after", lineterm="", n=1
    )
    return Diff(
        entered=tuple(key for key in second if key not in first),
        left=tuple(key for key in first if key not in second),
        moved={key: (first[key][0], second[key][0]) for key in both if first[key][0] != second[key][0]},
        recut=tuple(key for key in both if first[key][1] != second[key][1]),
        tokens=after.tokens - before.tokens,
        overlap=len(both) / len(everyone) if everyone else 1.0,
        kept_prefix=shared_prefix(before.text, after.text),
        settings=_differing(before.settings, after.settings),
        lines=tuple(lines),
    )


def _places(passages: Sequence[Passage]) -> dict[Key, tuple[int, str]]:
    return {passage.key: (i + 1, passage.text) for i, passage in enumerate(passages)}


def _differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    names = dict.fromkeys((*a, *b))
    return {name: (a.get(name), b.get(name)) for name in names if a.get(name) != b.get(name)}
