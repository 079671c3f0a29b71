"""Setting up a plan: every name resolved and every mistake told while it is built, never while it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_context_engine.designs.plan.call import Setup
from langchain_context_engine.designs.plan.messages import CountMessages, MessageCounter, count_tools
from langchain_context_engine.designs.plan.packs import EnginePack, PlanPack, open_pack
from langchain_context_engine.designs.plan.policy import (
    ContextDeclaration,
    ContextPolicySpec,
    Directive,
    HistorySpec,
    MessageSpec,
    PackSpec,
)
from langchain_context_engine.designs.plan.text import packs_named
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.models.errors import ConfigError, UnknownNameError
from langchain_context_engine.models.registry import Registry
from langchain_context_engine.rendering.compact import COMPACTORS, Compactor, resolve_compactor
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.trace.config import EngineConfig


def set_up(
    declaration: ContextDeclaration,
    packs: Mapping[str, Any],
    *,
    compactors: Mapping[str, Any],
    model: Any,
    context_window: int | None,
    tokenizer: Any,
    tokens_per_message: int,
    count_messages: CountMessages | None,
    tools: Sequence[Any],
) -> Setup:
    """Return a plan, checked and resolved; the arguments are those of `ContextPlan`.

    Raises:
        ConfigError: See `ContextPlan`.
    """
    policy = declaration.policy
    count = resolve_tokenizer(tokenizer)
    compactor = _compactor(policy, compactors, model)
    opened = {
        name: open_pack(name, given, tokenizer=count, compactor=compactor) for name, given in packs.items()
    }
    directives = _directives(declaration, opened)
    max_tokens = _input_budget(policy, context_window, model)
    specs = _specs(declaration.name, directives, opened)
    _check_ratios(policy, specs, max_tokens)
    _check_nested(declaration.name, opened)
    return Setup(
        name=declaration.name,
        directives=directives,
        specs=specs,
        packs=opened,
        policy=policy,
        max_tokens=max_tokens,
        count=count,
        count_messages=count_messages or MessageCounter(count=count, tokens_per_message=tokens_per_message),
        tool_tokens=count_tools(tools, count),
        compactor=compactor or COMPACTORS["truncate"],
    )


def engine_of(setup: Setup, journal: Any) -> ContextEngine:
    """Return an engine that asks nobody and has every function that the packs' engines were given."""
    engines = [pack.engine for pack in setup.packs.values() if pack.engine is not None]
    own = engines[0].config if engines else EngineConfig()
    signals = {name: signal for engine in reversed(engines) for name, signal in engine.config.signals.items()}
    settings = {name: getattr(own, name) for name in EngineConfig.model_fields}
    settings |= {"tokenizer": setup.count, "signals": signals}
    return ContextEngine([], journal=journal, **settings)


def _compactor(policy: ContextPolicySpec, own: Mapping[str, Any], model: Any) -> Compactor | None:
    known: Registry[Compactor] = Registry("compactor", COMPACTORS)
    for name, compactor in own.items():
        if not callable(compactor):
            raise ConfigError(f"compactor {name!r} must be (text, allowance) -> text")
        known.register(name, compactor)
    if policy.compactor is None:
        return None
    return resolve_compactor(policy.compactor.type, model=model, known=known)


def _directives(
    declaration: ContextDeclaration, packs: Mapping[str, EnginePack | PlanPack]
) -> tuple[Directive, ...]:
    if declaration.messages is not None:
        return declaration.messages
    return (*(PackSpec(type="context", name=name) for name in packs), HistorySpec(type="history"))


def _input_budget(policy: ContextPolicySpec, context_window: int | None, model: Any) -> int | None:
    if policy.input_budget.ratio is None:
        return policy.input_budget.max_tokens
    window = context_window
    if window is None:
        profile = getattr(model, "profile", None)
        window = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    if window is None:
        raise ConfigError(
            "input_budget.ratio is a share of the model's window, which is not known: pass context_window"
        )
    return policy.input_budget.of(window)


def _specs(
    plan: str, directives: Sequence[Directive], packs: Mapping[str, EnginePack | PlanPack]
) -> tuple[PackSpec, ...]:
    """Return the packs that a plan uses: by a directive, or by `{context.name}` in a message."""
    specs = [directive for directive in directives if isinstance(directive, PackSpec)]
    names = [spec.name for spec in specs]
    for name in names:
        if name not in packs:
            raise UnknownNameError("pack", name, packs)
        if names.count(name) > 1:
            raise ConfigError(f"plan {plan!r} places pack {name!r} twice")
    inline = [
        name
        for directive in directives
        if isinstance(directive, MessageSpec)
        for name in packs_named(directive.content)
    ]
    used = (name for name in dict.fromkeys(inline) if name in packs and name not in names)
    return (*specs, *(PackSpec(type="context", name=name) for name in used))


def _check_ratios(policy: ContextPolicySpec, specs: Sequence[PackSpec], max_tokens: int | None) -> None:
    if max_tokens is not None:
        return
    if policy.pack_budget.default_ratio is not None:
        raise ConfigError("pack_budget.default_ratio is a share of input_budget, which is not given")
    for spec in specs:
        if spec.budget is not None and spec.budget.ratio is not None:
            raise ConfigError(
                f"pack {spec.name!r}: budget.ratio is a share of input_budget, which is not given"
            )


def _check_nested(plan: str, packs: Mapping[str, EnginePack | PlanPack]) -> None:
    for name, pack in packs.items():
        if isinstance(pack, PlanPack):
            nested = pack.plan.setup
            if nested.declares_history:
                raise ConfigError(
                    f"plan {plan!r}: the nested plan {name!r} has a history; only the outermost may have one"
                )
