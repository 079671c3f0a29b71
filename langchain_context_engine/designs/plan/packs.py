"""Packs of a plan: an engine each, whatever they were given as; pages joined and fitted once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from langchain_context_engine.designs.plan.policy import ExpansionSpec
from langchain_context_engine.designs.plan.retrieval import FunctionSource
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.langchain.calls import narrowed
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate, Decision, Key, Reason, Verdict
from langchain_context_engine.rendering.templates import Template
from langchain_context_engine.sources.retriever import RetrieverSource
from langchain_context_engine.text.similarity import Wording
from langchain_context_engine.trace.assemble import Parts, assemble
from langchain_context_engine.trace.context import Context

PAGE = 10
"""Records a page, of a pack that names no limit."""

_NOTHING_TOLD: Mapping[str, Key] = MappingProxyType({})

SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "budget": Budget(minimum_cut=1),
        "weights": MappingProxyType({"relevance": 1.0}),
        "template": Template(name="pack", passage="{{content}}", separator="\n\n", note=""),
    }
)
"""What this design sets of the engine for packs that are no engine of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A pack and how it is asked.

    Attributes:
        source: A `ContextEngine`, a source, a LangChain retriever, a function of a
            `ContextRetrieverRequest`, or another plan; None needs a `retriever_override` in each call.
        query: What to ask, `{input.…}` filled in; "" asks `input.query`, `.message`, `.question`, or
            else the user's message.
        limit: Records a page; None is 10, of an engine its own limit.
        offset: Records to skip at first.
        metadata: What a retrieval function is told.
        fields: Fields of `ContextRequest` that hold for every call, `scope` for example.
    """

    source: Any = None
    query: str = ""
    limit: int | None = None
    offset: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePack:
    """A pack, bound to the engine that fills it.

    Attributes:
        name: What the plan calls it.
        engine: Collects its candidates; None where a call must bring a retriever.
        parts: Fit them, by the plan's own token counter.
        pack: How it is asked.
        settings: The settings that they follow, as data.
    """

    name: str
    engine: ContextEngine | None
    parts: Parts | None
    pack: Pack
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def limit(self) -> int:
        """Records a page."""
        if self.pack.limit is not None:
            return self.pack.limit
        has_own = isinstance(self.pack.source, ContextEngine) and self.engine is not None
        own = self.engine.config.limit if has_own and self.engine is not None else None
        return PAGE if own is None else own

    def request(
        self, query: str, page: int, max_tokens: int | None, fields: Mapping[str, Any]
    ) -> ContextRequest:
        """Return the request for a page; a call's own fields only narrow the pack's."""
        bound = narrowed(ContextRequest(**self.pack.fields), fields)
        offset = bound.offset + self.pack.offset + page * self.limit
        return replace(bound, query=query, offset=offset, limit=self.limit, budget=max_tokens)

    def fit(
        self, pages: Sequence[Context], max_tokens: int | None, told: Mapping[str, Key] = _NOTHING_TOLD
    ) -> Context:
        """Return the candidates of all pages as one context within so many tokens.

        Args:
            pages: What was asked so far.
            max_tokens: The bound, or None.
            told: Text, folded, → where it stands in the prompt already: what says the same is left out.
        """
        if not pages or self.parts is None:
            return Context()
        joined: dict[Key, Candidate] = {}
        for page in pages:
            for candidate in page.candidates:
                joined.setdefault(candidate.key, candidate)
        first = pages[0]
        request = replace(first.request, budget=max_tokens)
        if request.budget == 0:
            return Context(request=request)
        twins = {key: told[said] for key, c in joined.items() if (said := folded(c.text)) in told}
        left = tuple(candidate for key, candidate in joined.items() if key not in twins)
        context = assemble(left, request, self.parts)
        warnings = dict.fromkeys((*(w for page in pages for w in page.warnings), *context.warnings))
        return replace(
            context,
            warnings=tuple(warnings),
            settings=self.settings,
            decisions=(*(_twin(key, winner) for key, winner in twins.items()), *context.decisions),
        )

    def wants_more(
        self, pages: Sequence[Context], fitted: Context, max_tokens: int | None, expansion: ExpansionSpec
    ) -> bool:
        """Return whether another page is worth asking for: there may be one, and there is room for it."""
        if len(pages) >= expansion.max_pages or max_tokens is None:
            return False
        offered = {c.key for c in pages[-1].candidates} | {
            d.key for d in pages[-1].decisions if d.stage == "collect" and d.verdict is Verdict.DROPPED
        }
        before = {candidate.key for page in pages[:-1] for candidate in page.candidates}
        is_dry = len(offered) < self.limit or offered <= before
        return not is_dry and fitted.tokens < expansion.min_fill_ratio * max_tokens


def folded(text: str) -> str:
    """Return what two texts that are the same share: their words, whatever case and space."""
    return Wording(text).folded


def _twin(key: Key, winner: Key) -> Decision:
    """Return the decision on what stands in another pack already; no replay of this pack brings it back."""
    details = {"winner": winner, "similarity": 100.0}
    return Decision(
        stage="expand", key=key, verdict=Verdict.DROPPED, reason=Reason.DUPLICATE, details=details
    )


@runtime_checkable
class Plan(Protocol):
    """A plan, as a pack of another one: a `ContextPlan`."""

    setup: Any

    def assemble(self, values: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Return the prompt in its parts."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPack:
    """A pack that is another plan."""

    name: str
    plan: Plan
    engine: None = None


def open_pack(name: str, given: Any, *, tokenizer: Any, compactor: Any) -> EnginePack | PlanPack:
    """Return a pack bound to what fills it.

    Args:
        name: What the plan calls it.
        given: A `Pack`, a mapping of its fields, or what may be its source; or an object whose `config`
            is such a mapping, of which what is no field becomes metadata.
        tokenizer: The plan's; it counts for every pack.
        compactor: The plan's, for packs that are no engine of their own, or None.

    Raises:
        ConfigError: It is none of these.
    """
    pack = _read(name, given)
    if isinstance(pack.source, Plan):
        return PlanPack(name=name, plan=pack.source)
    if pack.source is None:
        return EnginePack(name=name, engine=None, parts=None, pack=pack)
    engine = _engine_of(name, pack, tokenizer=tokenizer, compactor=compactor)
    config = engine.config.changed(tokenizer=tokenizer)
    return EnginePack(name=name, engine=engine, parts=config.parts(), pack=pack, settings=config.described())


def _read(name: str, given: Any) -> Pack:
    if isinstance(given, Pack):
        return given
    known = Pack.__dataclass_fields__
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise ConfigError(f"pack {name!r} has no setting {unknown[0]!r}; known: {', '.join(known)}")
        return Pack(**given)
    config = getattr(given, "config", None)
    if not isinstance(config, Mapping):
        return Pack(source=given)
    own = {key: value for key, value in config.items() if key in known}
    told = {key: value for key, value in config.items() if key not in known}
    return Pack(**{**own, "metadata": {**told, **own.get("metadata", {})}})


def _engine_of(name: str, pack: Pack, *, tokenizer: Any, compactor: Any) -> ContextEngine:
    source = pack.source
    if isinstance(source, ContextEngine):
        return source
    if callable(getattr(source, "invoke", None)):
        source = RetrieverSource(source, name)
    elif not callable(getattr(source, "fetch", None)):
        if not callable(source):
            kind = type(source).__name__
            raise ConfigError(
                f"pack {name!r} must be an engine, a source, a retriever, a function or a plan, got {kind}"
            )
        source = FunctionSource(name=name, function=source, metadata=pack.metadata)
    return ContextEngine([source], **SETTINGS, tokenizer=tokenizer, compactor=compactor)
