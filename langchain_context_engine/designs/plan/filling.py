"""Filling the packs of a plan: who may have how much, asked page by page, fitted to what is granted."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from langchain_context_engine.designs.plan.call import Call, Setup
from langchain_context_engine.designs.plan.packs import EnginePack, Pack, PlanPack, folded, open_pack
from langchain_context_engine.designs.plan.policy import PackSpec
from langchain_context_engine.designs.plan.result import PlanResult
from langchain_context_engine.designs.plan.text import fill_paths
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.models.budget import share_out
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Key
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.plans import UNBOUNDED

_QUERY_KEYS = ("query", "message", "question")


@dataclass(frozen=True, slots=True)
class Job:
    """What must be asked of whom."""

    engine: ContextEngine
    request: ContextRequest


@dataclass(frozen=True, slots=True)
class Fitted:
    """A pack's text, its cost, the context or nested plan's result behind it, and what it was promised."""

    text: str
    tokens: int
    given: Context | PlanResult
    promised: int = 0


Asking = Generator[list[Job], list[Context | Exception], Any]


class Filled(Protocol):
    """What packs are filled for: an `Assembly`."""

    @property
    def setup(self) -> Setup:
        """The plan."""
        ...

    @property
    def call(self) -> Call:
        """The call."""
        ...

    @property
    def limit(self) -> int | None:
        """The input budget."""
        ...

    def nested(self, pack: PlanPack, max_tokens: int | None) -> Asking:
        """Return the assembly of a nested plan."""
        ...


def fill_packs(assembly: Filled, room: int | None) -> Asking:
    """Return every pack by name, all of them within so many tokens.

    Packs of the highest priority come first. Within a priority each has a share by weight; what one does
    not need goes to the others, and what all of them leave to the next priority. A pack never has more
    than its own budget, and those without one never more than `pack_budget` together.
    """
    setup = assembly.setup
    left = UNBOUNDED if room is None else room
    default = setup.policy.pack_budget.of(assembly.limit)
    left_default = UNBOUNDED if default is None else default
    filled: dict[str, Fitted] = {}
    for priority in sorted({spec.priority for spec in setup.specs}, reverse=True):
        specs = [spec for spec in setup.specs if spec.priority == priority]
        most = {spec.name: min(left, _own_budget(spec, assembly.limit, left_default)) for spec in specs}
        told = _grants(specs, most, left, left_default)
        packs = {spec.name: _pack_of(assembly, spec.name) for spec in specs}
        yield from _first_pages(assembly, packs, told)
        for name, bound in most.items():
            filled[name] = yield from _filled(assembly, packs[name], bound, told[name], _said(filled, name))
        granted = _grants(specs, {name: filled[name].tokens for name in most}, left, left_default)
        for name in most:
            if filled[name].tokens > granted[name]:
                said = _said(filled, name)
                filled[name] = yield from _filled(assembly, packs[name], granted[name], told[name], said)
            filled[name] = replace(filled[name], promised=told[name])
        left = max(0, left - sum(filled[name].tokens for name in most))
        taken = sum(filled[spec.name].tokens for spec in specs if spec.budget is None)
        left_default = max(0, left_default - taken)
    return filled


def _own_budget(spec: PackSpec, whole: int | None, left_default: int) -> int:
    if spec.budget is None:
        return left_default
    own = spec.budget.of(whole)
    return UNBOUNDED if own is None else own


def _grants(
    specs: Sequence[PackSpec], needs: Mapping[str, int], left: int, left_default: int
) -> dict[str, int]:
    """Return what packs of one priority may have, none more than it needs."""
    weights = {spec.name: spec.weight for spec in specs}
    sharing = {spec.name: spec.weight for spec in specs if spec.budget is None}
    needs = {**needs, **share_out(left_default, sharing, needs)}
    return share_out(left, weights, needs)


def _pack_of(assembly: Filled, name: str) -> EnginePack | PlanPack:
    """Return a pack, with what the call retrieves by in place of its own source."""
    setup, override = assembly.setup, assembly.call.override
    pack = setup.packs[name]
    chosen = override.get(name) if isinstance(override, Mapping) else override
    if chosen is None or isinstance(pack, PlanPack):
        if isinstance(pack, EnginePack) and pack.engine is None:
            raise ConfigError(f"pack {name!r} has no source; give it one, or pass retriever_override")
        return pack
    asked = replace(pack.pack, source=chosen)
    compactor = None if setup.policy.compactor is None else setup.compactor
    return open_pack(name, asked, tokenizer=setup.count, compactor=compactor)


def _first_pages(
    assembly: Filled, packs: Mapping[str, EnginePack | PlanPack], told: Mapping[str, int]
) -> Asking:
    """Ask for the first page of all packs at once."""
    new = [
        pack
        for name, pack in packs.items()
        if isinstance(pack, EnginePack) and told[name] > 0 and not _is_asked(assembly, pack)
    ]
    if new:
        answers = yield [_job(assembly, pack, told[pack.name]) for pack in new]
        for pack, answer in zip(new, answers, strict=True):
            _keep(assembly, pack, answer)


def _said(filled: Mapping[str, Fitted], name: str) -> dict[str, Key]:
    """Return what the packs before this one say: folded text → the passage that stands for it."""
    before = itertools.takewhile(lambda other: other != name, filled)
    passages = (p for other in before for p in context_of(filled[other]).passages)
    return {folded(passage.ranked.candidate.text): passage.key for passage in passages}


def context_of(fitted: Fitted) -> Context:
    """Return the context of a pack; of a nested plan its trace."""
    return fitted.given if isinstance(fitted.given, Context) else fitted.given.trace


def _filled(
    assembly: Filled, pack: EnginePack | PlanPack, max_tokens: int, told: int, said: Mapping[str, Key]
) -> Asking:
    """Return a pack within so many tokens, asking for further pages while it is not full."""
    if max_tokens <= 0:
        return Fitted("", 0, Context())
    bound = None if max_tokens >= UNBOUNDED else max_tokens
    if isinstance(pack, PlanPack):
        result = yield from assembly.nested(pack, bound)
        return Fitted(result.system_prompt, assembly.setup.count(result.system_prompt), result)
    pages = assembly.call.pages.setdefault(_key(assembly, pack), [])
    context = pack.fit(pages, bound, said)
    expansion = assembly.setup.policy.expansion
    while _key(assembly, pack) not in assembly.call.failures and (
        not pages or pack.wants_more(pages, context, bound, expansion)
    ):
        (answer,) = yield [_job(assembly, pack, told or max_tokens)]
        _keep(assembly, pack, answer)
        context = pack.fit(pages, bound, said)
    return Fitted(context.text, assembly.setup.count(context.text), context)


def _key(assembly: Filled, pack: EnginePack) -> tuple[int, str]:
    return (id(assembly.setup), pack.name)


def _is_asked(assembly: Filled, pack: EnginePack) -> bool:
    return (
        bool(assembly.call.pages.get(_key(assembly, pack))) or _key(assembly, pack) in assembly.call.failures
    )


def _keep(assembly: Filled, pack: EnginePack, answer: Context | Exception) -> None:
    if isinstance(answer, Exception):
        assembly.call.failures[_key(assembly, pack)] = safe_message(answer)
    else:
        assembly.call.pages.setdefault(_key(assembly, pack), []).append(answer)


def _job(assembly: Filled, pack: EnginePack, max_tokens: int) -> Job:
    if pack.engine is None:
        raise ConfigError(f"pack {pack.name!r} has no source")
    page = len(assembly.call.pages.get(_key(assembly, pack), ()))
    bound = None if max_tokens >= UNBOUNDED else max_tokens
    query = _query(assembly, pack.pack)
    return Job(pack.engine, pack.request(query, page, bound, assembly.call.fields))


def _query(assembly: Filled, pack: Pack) -> str:
    """Return what to ask a pack: its own query, else the input's, else the user's message."""
    call = assembly.call
    if pack.query:
        return fill_paths(pack.query, call.values)
    given = call.values.get("input")
    asked = [given.get(key) for key in _QUERY_KEYS] if isinstance(given, Mapping) else []
    for text in asked:
        if isinstance(text, str) and text.strip():
            return text
    return call.question
