"""A stored context built again under its own or other settings, without a store; and what differs then."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_context_engine.config import EngineConfig, Parts
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Key, Passage, Ranked, Status
from langchain_context_engine.ranking.answerability import is_doubt
from langchain_context_engine.trace.assemble import Ordered, assemble, order, package_version
from langchain_context_engine.trace.context import Context, empty_context, reading
from langchain_context_engine.trace.prompt import refit

REQUERY_SETTINGS = frozenset({"limit", "scope_keys", "timeout_seconds", "index_dir"})
"""Settings that act while sources are asked: a replay cannot show what they would find, and refuses them."""

_ORDERING_SETTINGS = (
    "weights", "signals", "fusion", "min_score", "thresholds", "dedupe_threshold", "dedupe_rules",
    "dedupe_key",
)  # fmt: skip
_BEFORE_RANK = frozenset({"collect", "expand", "rerank"})


def replay(trace: Context | Mapping[str, Any], engine: Any = None, **changed_settings: Any) -> Context:
    """Return the context that the stored candidates give, under the trace's settings or changed ones.

    Unchanged settings give the same bytes. A trace of another version of this package is replayed under the
    rules of this one, and a warning says so.

    Args:
        trace: A `Context`, or what its `to_dict` gave.
        engine: Where parts that were given as functions come from; needed only for those.
        **changed_settings: Settings of `EngineConfig`, and `k`; `budget` may be tokens.

    Raises:
        ConfigError: The trace cannot be read, a setting is unknown, wrong or one that acts while sources are
            asked, or a part of it was a function and `engine` has it not.
    """
    return replay_ranked(trace, engine, **changed_settings)[0]


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


def ranking(trace: Context, engine: Any = None) -> tuple[Ranked, ...]:
    """Return what rank and dedupe left of a trace's candidates, best first."""
    if trace.parts:
        ranked = (item for part in trace.parts if part.context for item in ranking(part.context, engine))
        return tuple({item.key: item for item in ranked}.values())
    if not trace.settings:
        return tuple(passage.ranked for passage in trace.passages)
    settings = {name: trace.settings[name] for name in _ORDERING_SETTINGS if name in trace.settings}
    with reading(trace):
        config = config_of(replace(trace, settings=settings), engine)
        return order(trace.candidates, trace.request, config.parts()).items


def config_of(trace: Context, engine: Any = None) -> EngineConfig:
    """Return the settings that a trace was made with, as far as this version knows them.

    Args:
        trace: A context, or a trace read back.
        engine: Where parts that were given as functions come from.
    """
    settings = dict(trace.settings)
    if _is_foreign(trace):
        known = EngineConfig(tokenizer="estimate").described()
        settings = {name: value for name, value in settings.items() if name in known}
        for name in [name for name in settings if known[name] and isinstance(known[name], dict)]:
            settings[name] = {part: value for part, value in settings[name].items() if part in known[name]}
    return EngineConfig.read(settings, None if engine is None else engine.config)


def _is_foreign(trace: Context) -> bool:
    return trace.made_by not in {"", package_version()}


def _changed(
    context: Context, engine: Any, changes: Mapping[str, Any]
) -> tuple[ContextRequest, EngineConfig]:
    """Return the request and the settings that a replay goes by."""
    changes = dict(changes)
    if refused := sorted(REQUERY_SETTINGS & set(changes)):
        raise ConfigError(f"{refused[0]} acts while sources are asked, and a replay asks none: ask again")
    request = context.request
    if "k" in changes:
        request = replace(request, k=changes.pop("k"))
    budget = changes.get("budget")
    if budget is not None:
        request = replace(request, budget=budget.tokens if isinstance(budget, Budget) else budget)
    if "template" in changes:
        request = replace(request, template=None)
    return request, config_of(context, engine).changed(**changes)


def _built(
    context: Context, request: ContextRequest, config: EngineConfig, parts: Parts, ordered: Ordered
) -> Context:
    settings = config.described()
    if request.budget == 0 or request.k == 0:
        return replace(empty_context(request, context), settings=settings)
    again = assemble(context.candidates, request, parts, ordered=ordered)
    # The warnings of collecting stand whatever the settings; a doubt is told anew.
    standing = [warning for warning in context.warnings if not is_doubt(warning)]
    if _is_foreign(context):
        standing.append(
            f"made by version {context.made_by} of langchain-context-engine, replayed under the rules of"
            f" {package_version()}"
        )
    return replace(
        again,
        decisions=(*(d for d in context.decisions if d.stage in _BEFORE_RANK), *again.decisions),
        warnings=tuple(dict.fromkeys((*standing, *again.warnings))),
        timings={**context.timings, **again.timings},
        source_timings=context.source_timings,
        searched=context.searched,
        status=Status.PARTIAL if context.status is Status.PARTIAL else again.status,
        settings=settings,
    )


def _refitted(trace: Context, engine: Any, changes: Mapping[str, Any]) -> Context:
    """Return a plan's trace under changed settings: those of its packs' engines, and its own budget."""
    config = config_of(trace, engine)
    changed = config.changed(**{name: value for name, value in changes.items() if name != "k"})

    def again(context: Context, settings: Mapping[str, Any]) -> Context:
        return replay(context, engine, **settings)

    fitted = refit(trace, changes, again, config.parts().packing.count)
    return replace(fitted, settings=changed.described())


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
        kept_prefix: Share of the first text that the second begins with, 0–1: what a prompt cache keeps.
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
    names = dict.fromkeys((*before.settings, *after.settings))
    values = {name: (before.settings.get(name), after.settings.get(name)) for name in names}
    lines = difflib.unified_diff(
        before.text.splitlines(), after.text.splitlines(), "before", "after", lineterm="", n=1
    )
    differs = (i for i, (was, now) in enumerate(zip(before.text, after.text, strict=False)) if was != now)
    prefix = next(differs, min(len(before.text), len(after.text)))
    return Diff(
        entered=tuple(key for key in second if key not in first),
        left=tuple(key for key in first if key not in second),
        moved={key: (first[key][0], second[key][0]) for key in both if first[key][0] != second[key][0]},
        recut=tuple(key for key in both if first[key][1] != second[key][1]),
        tokens=after.tokens - before.tokens,
        overlap=len(both) / len(everyone) if everyone else 1.0,
        kept_prefix=prefix / len(before.text) if before.text else 1.0,
        settings={name: (was, now) for name, (was, now) in values.items() if was != now},
        lines=tuple(lines),
    )


def _places(passages: Sequence[Passage]) -> dict[Key, tuple[int, str]]:
    return {passage.key: (i + 1, passage.text) for i, passage in enumerate(passages)}
