"""Packs of a plan: an engine each, whatever they were given as; pages joined and fitted once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from langchain_context_engine.designs.functions import FunctionSource, read_candidate
from langchain_context_engine.designs.plan_messages import ExpansionSpec
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.errors import ConfigError, SourceError
from langchain_context_engine.langchain.calls import narrowed
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate, Key, Verdict
from langchain_context_engine.rendering.templates import Template
from langchain_context_engine.sources.retriever import RetrieverSource
from langchain_context_engine.trace.assemble import Parts, assemble
from langchain_context_engine.trace.context import Context

_PAGE = 10

SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "budget": Budget(minimum_cut=1),
        "weights": MappingProxyType({"relevance": 1.0}),
        "template": Template(name="pack", passage="{{content}}", separator="\n\n", note=""),
    }
)
"""What this design sets of the engine for packs that are no engine of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRetrieverRequest:
    """What a retrieval function is asked.

    Attributes:
        query: The question.
        offset: Records to skip.
        limit: Records wanted.
        max_tokens: Tokens that the pack may have at first; None is no bound.
        metadata: `retriever`, the pack's name, and what the pack was given.
    """

    query: str
    offset: int = 0
    limit: int = _PAGE
    max_tokens: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPackBlock:
    """A piece of evidence: its id, its text, its metadata."""

    evidence_item_id: str
    text: str
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPack:
    """What a retrieval function may answer: blocks, or one text."""

    text: str = ""
    evidence_count: int = 0
    blocks: Sequence[ContextPackBlock] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A pack and how it is asked.

    Attributes:
        source: A `ContextEngine`, a source, a LangChain retriever, another plan, or a function of a
            `ContextRetrieverRequest` that answers a `ContextPack`, a text, None, or a list of blocks,
            Documents or texts; None needs a `retriever_override` in each call.
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

    @classmethod
    def of(cls, name: str, given: Any) -> Pack:
        """Return a pack of what may stand for one.

        Args:
            name: What the plan calls it.
            given: A `Pack`, a mapping of its fields, or what may be its source; or an object whose
                `config` is such a mapping, of which what is no field becomes metadata.

        Raises:
            ConfigError: A field is unknown.
        """
        if isinstance(given, Pack):
            return given
        known = cls.__dataclass_fields__
        if isinstance(given, Mapping):
            unknown = sorted(set(given) - set(known))
            if unknown:
                raise ConfigError(f"pack {name!r} has no setting {unknown[0]!r}; known: {', '.join(known)}")
            return cls(**given)
        config = getattr(given, "config", None)
        if not isinstance(config, Mapping) or isinstance(given, Plan):
            return cls(source=given)
        own = {key: value for key, value in config.items() if key in known}
        told = {key: value for key, value in config.items() if key not in known}
        return cls(**{**own, "metadata": {**told, **own.get("metadata", {})}})


@runtime_checkable
class Plan(Protocol):
    """A plan, as a pack of another one: a `ContextPlan`."""

    directives: Any
    packs: Any

    def assemble(self, values: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Return the prompt in its parts."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPack:
    """A pack, bound to the engine that fills it, or to the plan that does.

    Attributes:
        name: What the plan calls it.
        pack: How it is asked.
        engine: Collects its candidates; None of a plan, or where a call must bring a retriever.
        parts: Fit them, by the plan's own token counter.
        settings: The settings that they follow, as data.
    """

    name: str
    pack: Pack
    engine: ContextEngine | None = None
    parts: Parts | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, given: Any, own: Mapping[str, Any]) -> OpenPack:
        """Return a pack bound to what fills it.

        Args:
            name: What the plan calls it.
            given: See `Pack.of`.
            own: Settings of the engines of packs that are none; the tokenizer is that of all.

        Raises:
            ConfigError: Nothing could fill it.
        """
        pack = Pack.of(name, given)
        if pack.source is None or isinstance(pack.source, Plan):
            return cls(name=name, pack=pack)
        engine = _engine_of(name, pack, own)
        config = engine.config.changed(tokenizer=own["tokenizer"])
        return cls(name=name, pack=pack, engine=engine, parts=config.parts(), settings=config.described())

    @property
    def plan(self) -> Any:
        """The plan that fills it, or None."""
        return self.pack.source if isinstance(self.pack.source, Plan) else None

    @property
    def limit(self) -> int:
        """Records a page."""
        if self.pack.limit is not None:
            return self.pack.limit
        own = self.pack.source.config.limit if isinstance(self.pack.source, ContextEngine) else None
        return _PAGE if own is None else own

    def request(
        self, query: str, page: int, max_tokens: int | None, fields: Mapping[str, Any]
    ) -> ContextRequest:
        """Return the request for a page; a call's own fields only narrow the pack's."""
        bound = narrowed(ContextRequest(**self.pack.fields), fields)
        offset = bound.offset + self.pack.offset + page * self.limit
        return replace(bound, query=query, offset=offset, limit=self.limit, budget=max_tokens)

    def fit(self, pages: Sequence[Context], max_tokens: int | None) -> Context:
        """Return the candidates of all pages, each once, as one context within so many tokens."""
        if not pages or self.parts is None:
            return Context()
        joined: dict[Key, Candidate] = {}
        for page in pages:
            for candidate in page.candidates:
                joined.setdefault(candidate.key, candidate)
        request = replace(pages[0].request, budget=max_tokens)
        if request.budget == 0:
            return Context(request=request)
        context = assemble(tuple(joined.values()), request, self.parts)
        warnings = dict.fromkeys((*(w for page in pages for w in page.warnings), *context.warnings))
        return replace(context, warnings=tuple(warnings), settings=self.settings)

    def wants_more(
        self, pages: Sequence[Context], fitted: Context, max_tokens: int | None, expansion: ExpansionSpec
    ) -> bool:
        """Return whether another page is worth asking for: there may be one, and there is room for it."""
        if not pages:
            return True
        if len(pages) >= expansion.max_pages or max_tokens is None:
            return False
        offered = {c.key for c in pages[-1].candidates} | {
            d.key for d in pages[-1].decisions if d.stage == "collect" and d.verdict is Verdict.DROPPED
        }
        before = {candidate.key for page in pages[:-1] for candidate in page.candidates}
        is_dry = len(offered) < self.limit or offered <= before
        return not is_dry and fitted.tokens < expansion.min_fill_ratio * max_tokens


def _engine_of(name: str, pack: Pack, own: Mapping[str, Any]) -> ContextEngine:
    source = pack.source
    if isinstance(source, ContextEngine):
        return source
    if callable(getattr(source, "invoke", None)):
        source = RetrieverSource(source, name)
    elif callable(source) and not callable(getattr(source, "fetch", None)):
        source = _function_source(name, source, pack.metadata)
    elif not callable(getattr(source, "fetch", None)):
        kind = type(source).__name__
        raise ConfigError(
            f"pack {name!r} must be an engine, a source, a retriever, a function or a plan, got {kind}"
        )
    return ContextEngine([source], **{**SETTINGS, **own})


def _function_source(name: str, function: Any, metadata: Mapping[str, Any]) -> FunctionSource:
    def ask(request: ContextRequest) -> Any:
        return function(
            ContextRetrieverRequest(
                query=request.query,
                offset=request.offset,
                limit=request.limit or 0,
                max_tokens=request.budget,
                metadata={"retriever": name, **metadata},
            )
        )

    def read(answer: Any, request: ContextRequest) -> list[Candidate]:
        return [
            read_candidate(item, source=name, relevance=1 / (1 + request.offset + place))
            for place, item in enumerate(_items(name, answer))
        ]

    return FunctionSource(name=name, ask=ask, read=read)


def _items(name: str, answer: Any) -> Sequence[Any]:
    """Return the pieces of an answer, whatever its shape."""
    if answer is None or answer == "":
        return ()
    if isinstance(answer, str):
        return (answer,)
    if isinstance(answer, Sequence):
        return answer
    blocks = answer.get("blocks") if isinstance(answer, Mapping) else getattr(answer, "blocks", None)
    if blocks:
        return tuple(blocks)
    text = answer.get("text") if isinstance(answer, Mapping) else getattr(answer, "text", None)
    if not isinstance(text, str):
        kind = type(answer).__name__
        raise SourceError(f"retriever {name!r} gave {kind}, expected a pack, Documents or texts")
    return (text,) if text else ()
