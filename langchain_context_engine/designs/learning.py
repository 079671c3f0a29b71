"""The learning-memory design: what a project remembers, for an agent, and warnings before it debugs.

collect   memories, code, experiences, values, commits; or experiences on four axes, each asked its own
rank      similarity · .7, tier · .1, importance · .1, recency of commits and experiences · .1
dedupe    one experience, one file in code and commits, texts alike by 90 %: the better ranked stays
pack      shares 3 : 2 : 2 : 1 : 1, no item above a quarter of its share, the rest handed on
render    a section for each source that has something, and a footer that counts
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings

from langchain_context_engine.designs.arguments import FunctionSource, as_source
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.errors import (
    AllSourcesFailedError,
    ConfigError,
    ContextEngineError,
    SourceError,
    UnknownNameError,
)
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.metadata import checked_fields, read_list, read_mapping
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate, Passage, Status
from langchain_context_engine.ranking.identity import AcrossKinds, Versions
from langchain_context_engine.ranking.signals import ForKinds, Lookup, Recency, Stated
from langchain_context_engine.rendering.containment import longer_run
from langchain_context_engine.rendering.templates import Template
from langchain_context_engine.sources.adapted import AdaptedSource
from langchain_context_engine.trace.context import Context

if TYPE_CHECKING:
    from langchain_context_engine.designs.arguments import Store

KIND_OF: Mapping[str, str] = {
    "memories": "memory",
    "code": "code",
    "experiences": "experience",
    "values": "value",
    "commits": "commit",
}
"""Context type → the kind of its items, in the order of the sections."""

SHARES: Mapping[str, float] = {"experiences": 3, "code": 2, "commits": 2, "values": 1, "memories": 1}
"""Context type → weight of its share."""

PREMORTEM: Mapping[str, tuple[str, str]] = {
    "full": ("Common Failures", "failures and issues in {domain}"),
    "strategy": ("Strategy Performance", "outcomes using {strategy} strategy"),
    "surprise": ("Unexpected Outcomes", "unexpected outcomes in {domain}"),
    "root_cause": ("Root Causes to Watch", "why hypotheses fail in {domain}"),
    "values": ("Relevant Principles", "principles for {domain}"),
}
"""Section of a premortem → its title and question; all but the values are axes of experiences."""

AXES = tuple(section for section in PREMORTEM if section != "values")

METADATA_OF: Mapping[str, tuple[str, ...]] = {
    "memory": ("category", "importance", "created_at"),
    "code": ("file_path", "start_line", "end_line", "language", "qualified_name"),
    "experience": ("domain", "strategy", "outcome_status", "confidence_tier", "iteration_count"),
    "value": ("axis", "cluster_id", "cluster_size", "similarity_to_centroid"),
    "commit": ("sha", "author", "timestamp", "files_changed", "insertions", "deletions"),
}
"""Kind → what an item tells of its record; all but code and commit tell the `id` as well."""

_FULL = ("goal", "hypothesis", "action", "prediction", "outcome", "surprise", "lesson")
_SHOWN_ON = {
    "full": _FULL,
    # The outcome first: what a strategy led to, and no text that stands in "full" word for word.
    "strategy": ("outcome", "goal", "hypothesis", "action", "prediction", "surprise", "lesson"),
    "surprise": ("goal", "prediction", "outcome", "surprise"),
    "root_cause": ("goal", "hypothesis", "outcome", "root_cause"),
}
_LOGGER = logging.getLogger(__name__)
_MOST_FILES = 5
_MOST_VALUES = 5
_SAID, _SECTION, _THING = "said", "section", "ghap_id"
_FORM = {
    "passage": "{{content}}",
    "section": "## {{title}}\n",
    "separator": "\n\n",
    "note": "...\n\n*(truncated)*",
}

SETTINGS: Mapping[str, Any] = {
    # Similarity first; the others move what is about as similar.
    "weights": {"relevance": 0.7, "tier": 0.1, "importance_of_memories": 0.1, "newness": 0.1},
    "signals": {
        "tier": Lookup(
            values={"gold": 1.0, "silver": 0.7, "bronze": 0.4, "abandoned": 0.0},
            default=0.5,
            key="confidence_tier",
        ),
        "importance_of_memories": ForKinds(signal=Stated(key="importance"), kinds=("memory",)),
        "newness": ForKinds(signal=Recency(curve="half_life"), kinds=("commit", "experience")),
    },
    "selection": "score",
    "truncator": "keep_start",
    "notes": {
        "code": "...\n\n*(truncated, see full at {{title}})*",
        "experience": "...\n\n*(truncated, full experience ID: {{title}})*",
    },
    "dedupe_key": _SAID,
    "dedupe_threshold": 90.0,
}
"""What this design sets of the engine; everything else is the engine's default."""

_BY_HYPOTHESIS = Versions(("hypothesis",), within=(_THING, _SECTION), tells_apart=True)
"""Experiences with different hypotheses are two, however alike what is stored of them."""

_ASSEMBLING: Mapping[str, Any] = {
    "template": Template(
        name="learning",
        header="# Context\n\n",
        footer="\n\n---\n*{{count}} items from {{sources}} sources*",
        **_FORM,
    ),
    "titles": {name: name.capitalize() for name in KIND_OF},
    # Two functions of one file never are one, however alike; two versions of one are.
    "dedupe_rules": (
        AcrossKinds({"experience": _THING, "value": _THING}),
        AcrossKinds({"code": "file_path", "commit": "files_changed"}),
        Versions(("symbol",), within=("file_path",), tells_apart=True),
        _BY_HYPOTHESIS,
    ),
}
_WARNING: Mapping[str, Any] = {
    "titles": {section: title for section, (title, _) in PREMORTEM.items()},
    "uncounted": ("values",),
    "counted_by": _THING,
    # Each section keeps its own, though the same experience stands in another.
    "dedupe_rules": (Versions((_SECTION,), within=(_THING,), tells_apart=True), _BY_HYPOTHESIS),
}


class ContextAssemblyError(ContextEngineError):
    """The root of this design's own errors."""


class InvalidContextTypeError(ContextAssemblyError, UnknownNameError):
    """No source has that context type; those that there are, are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One piece of context: its kind (memory, code, …), text, similarity, and what it was sorted by."""

    source: str
    content: str
    relevance: float
    metadata: Mapping[str, Any]
    score: float
    is_truncated: bool = False

    @classmethod
    def of(cls, passage: Passage) -> ContextItem:
        """Return a passage as an item."""
        candidate = passage.ranked.candidate
        metadata = {name: candidate.metadata.get(name) for name in METADATA_OF.get(candidate.kind, ())}
        if candidate.kind not in {"code", "commit"}:
            metadata = {"id": candidate.metadata.get(_THING, candidate.id), **metadata}
        return cls(
            source=candidate.kind,
            content=passage.text,
            relevance=candidate.relevance,
            metadata=metadata,
            score=passage.ranked.score,
            is_truncated=passage.is_truncated,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FormattedContext:
    """A context for an agent; `str()` of it is the text.

    Attributes:
        markdown: The text; "" where nothing was found, which is no error.
        items: The best first.
        sources_used: Kind → items in the text.
        limit_exceeded: The soft limit was exceeded.
        is_partial: A source failed or was late.
        context: The engine's own record: every candidate's fate, timings.
    """

    markdown: str
    items: tuple[ContextItem, ...]
    token_count: int
    sources_used: Mapping[str, int]
    limit_exceeded: bool
    is_partial: bool
    warnings: tuple[str, ...]
    context: Context

    def __str__(self) -> str:
        return self.markdown

    @classmethod
    def of(cls, context: Context) -> FormattedContext:
        """Return an engine's context as this design gives it."""
        best_first = sorted(context.passages, key=lambda passage: -passage.ranked.score)
        items = tuple(map(ContextItem.of, best_first))
        return cls(
            markdown=context.text,
            items=items,
            token_count=context.tokens,
            sources_used=dict(Counter(item.source for item in items)),
            limit_exceeded=context.tokens > context.budget,
            is_partial=context.status == Status.PARTIAL,
            warnings=context.warnings,
            context=context,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """Where the five kinds of context are: Chroma collections, or sources of one's own.

    Collections are searched by similarity alone, as the document has it; give a
    `ChromaSource(…, hybrid=True)` where words should count too. What is read of their metadata is in
    `README.md`.

    Attributes:
        memories: Facts, preferences, decisions.
        code: Functions, classes, methods.
        experiences: Past experiences: axis (full, strategy, surprise, root_cause) → collection, or one
            collection whose records name their `axis` (without one they are on the full axis).
        values: Emergent values.
        commits: Git history.
        embeddings: LangChain Embeddings, the ones the collections were filled with; None takes those of
            a `langchain_chroma.Chroma`.

    Raises:
        ConfigError: There is nothing to search, or something is no collection, or an axis is unknown.
    """

    memories: Store | None = None
    code: Store | None = None
    experiences: Store | Mapping[str, Store] | None = None
    values: Store | None = None
    commits: Store | None = None
    embeddings: Embeddings | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for axis in self.experiences if isinstance(self.experiences, Mapping) else ():
            if axis not in AXES:
                raise UnknownNameError("axis of experiences", axis, AXES)
        if not self.stores():
            raise ConfigError(f"a Searcher needs at least one of {', '.join(KIND_OF)}")

    @classmethod
    def of(cls, given: Any) -> Searcher:
        """Return a searcher; an object with the document's methods (`search_memories`, …) is made one.

        Each method is asked with the question and `limit`, and with what narrows it (`axis`, `domain`,
        `strategy`, `outcome`) where it takes that; it may be a coroutine function. See `FunctionSource` for
        what it may give.

        Raises:
            ConfigError: It is neither.
        """
        if isinstance(given, Searcher):
            return given
        found: dict[str, Any] = {}
        for name in KIND_OF:
            method = getattr(given, f"search_{name}", None)
            if callable(method) and name == "experiences":
                found[name] = {axis: _method_source(f"{name}:{axis}", method, axis) for axis in AXES}
            elif callable(method):
                found[name] = _method_source(name, method)
        if not found:
            names = ", ".join(f"search_{name}" for name in KIND_OF)
            raise ConfigError(f"searcher must be a Searcher, or have {names}; got {type(given).__name__}")
        return cls(**found)

    def stores(self) -> dict[str, Any]:
        """Return section → where it is searched; of experiences each axis is a section."""
        axes = self.experiences
        by_axis = axes if isinstance(axes, Mapping) else dict.fromkeys(AXES, axes)
        found = {**{name: getattr(self, name) for name in KIND_OF if name != "experiences"}, **by_axis}
        return {section: store for section, store in found.items() if store is not None}

    def types(self) -> tuple[str, ...]:
        """Return the context types that can be asked for, in the order of the sections."""
        stores = self.stores()
        return tuple(name for name in KIND_OF if _section_of(name) in stores)


class LearningMemoryAssembler:
    """Assembles contexts out of what a project has learnt.

    Args:
        searcher: Where the five kinds are: a `Searcher`, or an object with the document's five methods.
        soft_limit: `max_tokens` bounds the items alone; headings, notes and footer may exceed it, with a
            warning and a flag. The limit is hard by default.
        journal: A path or a `Journal`: every context is recorded there.
        fields: What the design reads → the metadata key that it is stored under: `{"category": "topic"}`.
        **settings: Further settings of the engine: scope_keys, tokenizer, timeout_seconds, weights, ….

    Attributes:
        engine: The `ContextEngine` behind `assemble_context`.
        premortem_engine: The one behind `get_premortem_context`.

    Raises:
        ConfigError: An argument is wrong.
    """

    def __init__(
        self,
        searcher: Any,
        *,
        soft_limit: bool = False,
        journal: Any = None,
        fields: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self.searcher, names = Searcher.of(searcher), checked_fields(fields)
        stores = self.searcher.stores()
        # A quarter of a small share is little: what is left of an item may be a line.
        budget = Budget(shares=SHARES, item_cap=0.25, minimum_cut=8, is_soft=soft_limit)
        own: dict[str, Any] = {**SETTINGS, "budget": budget, **_ASSEMBLING, **settings}
        asked = [_source(self.searcher, name, _section_of(name), names) for name in self.searcher.types()]
        self.engine = ContextEngine(asked, journal=journal, **own)
        budget = replace(budget, shares={**dict.fromkeys(AXES, 3.0), "values": 1.0})
        own = {**SETTINGS, "budget": budget, **_WARNING, **settings}
        warned = [_source(self.searcher, s, s, names, is_warning=True) for s in PREMORTEM if s in stores]
        self.premortem_engine = ContextEngine(warned, journal=self.engine.journal, **own)

    async def assemble_context(
        self, query: str, context_types: Sequence[str], limit: int = 20, max_tokens: int = 2000, **fields: Any
    ) -> FormattedContext:
        """Return the context for a question, from some of the sources.

        Args:
            query: What context is needed for.
            context_types: Of memories, code, experiences, values, commits.
            limit: Items a source may offer.
            max_tokens: Tokens of the text.
            **fields: Further fields of `ContextRequest`: scope, where, now, …

        Raises:
            InvalidContextTypeError: There is no such type, or no collection of it.
        """
        request = self._request(query, context_types, limit=limit, budget=max_tokens, **fields)
        return await _aanswer(self.engine, request, "context.assembled")

    def assemble_context_sync(
        self, query: str, context_types: Sequence[str], limit: int = 20, max_tokens: int = 2000, **fields: Any
    ) -> FormattedContext:
        """Return the same as `assemble_context`, without an event loop."""
        request = self._request(query, context_types, limit=limit, budget=max_tokens, **fields)
        return _answer(self.engine, request, "context.assembled")

    async def get_premortem_context(
        self, domain: str, strategy: str | None = None, limit: int = 10, max_tokens: int = 1500, **fields: Any
    ) -> FormattedContext:
        """Return warnings for a domain: failures, surprises and root causes of the past, and principles.

        Args:
            domain: For example "debugging".
            strategy: For example "systematic-elimination": its experiences too.
            limit: Items of each axis; of values at most 5.
            max_tokens: Tokens of the text.
            **fields: Further fields of `ContextRequest`: scope, where, now, …

        Raises:
            InvalidContextTypeError: There are neither experiences nor values.
            ConfigError: The domain or the strategy is no name on one line.
        """
        request = self._premortem(domain, strategy, limit=limit, budget=max_tokens, **fields)
        return await _aanswer(self.premortem_engine, request, "premortem.assembled")

    def get_premortem_context_sync(
        self, domain: str, strategy: str | None = None, limit: int = 10, max_tokens: int = 1500, **fields: Any
    ) -> FormattedContext:
        """Return the same as `get_premortem_context`, without an event loop."""
        request = self._premortem(domain, strategy, limit=limit, budget=max_tokens, **fields)
        return _answer(self.premortem_engine, request, "premortem.assembled")

    def _request(self, query: str, types: Sequence[str], **fields: Any) -> ContextRequest:
        asked = (types,) if isinstance(types, str) else tuple(types)
        known = self.searcher.types()
        for name in asked:
            if name not in known:
                raise InvalidContextTypeError("context type", name, known)
        return ContextRequest(query=query, sources=tuple(name for name in known if name in asked), **fields)

    def _premortem(self, domain: str, strategy: str | None, **fields: Any) -> ContextRequest:
        for name, value in (("domain", domain), ("strategy", strategy or "none")):
            if not isinstance(value, str) or not value.strip() or not value.isprintable() or "{{" in value:
                raise ConfigError(f"{name} must be a name on one line, got {value!r}")
        names = [source.name for source in self.premortem_engine.sources]
        sources = tuple(name for name in names if strategy or name != "strategy")
        if not sources:
            raise InvalidContextTypeError("context type", "experiences", self.searcher.types())
        return ContextRequest(
            query=f"{domain} {strategy or ''}".strip(),
            focus={"domain": domain, **({"strategy": strategy} if strategy else {})},
            sources=sources,
            template=Template(
                name="premortem",
                header=f"# Premortem: {domain}{f' with {strategy}' if strategy else ''}\n\n",
                footer="\n\n---\n*Based on {{count}} past experiences*",
                **_FORM,
            ),
            **fields,
        )


def _answer(engine: ContextEngine, request: ContextRequest, event: str) -> FormattedContext:
    try:
        return _told(engine.build(request), event)
    except AllSourcesFailedError as error:
        return _told(_nothing(request, error), event)


async def _aanswer(engine: ContextEngine, request: ContextRequest, event: str) -> FormattedContext:
    try:
        return _told(await engine.abuild(request), event)
    except AllSourcesFailedError as error:
        return _told(_nothing(request, error), event)


def _nothing(request: ContextRequest, error: AllSourcesFailedError) -> Context:
    """Return the context where every source failed: empty and partial, which the document calls no error."""
    budget = request.budget or 0
    return Context(budget=budget, request=request, warnings=error.warnings, status=Status.PARTIAL)


def _told(context: Context, event: str) -> FormattedContext:
    """Return an answer, logged with its figures as fields: how many and how long, never a text.

    Events: the given one; `context.source_failed` for each source that failed; `context.limit_exceeded`.
    """
    found = FormattedContext.of(context)
    tokens = {"token_count": found.token_count, "max_tokens": context.budget}
    told = {"items": len(found.items), "sources_used": found.sources_used, **tokens}
    milliseconds = round(sum(context.timings.values()), 1)
    _log(logging.INFO, event, **told, status=str(context.status), milliseconds=milliseconds)
    for warning in context.warnings:
        if warning.startswith("source ") and " failed: " in warning:
            _log(logging.WARNING, "context.source_failed", warning=warning)
    if found.limit_exceeded:
        _log(logging.WARNING, "context.limit_exceeded", **tokens)
    return found


def _log(level: int, event: str, **figures: Any) -> None:
    _LOGGER.log(level, "%s %s", event, figures, extra={"event": event, **figures})


def _section_of(context_type: str) -> str:
    return "full" if context_type == "experiences" else context_type


def _source(
    searcher: Searcher, name: str, section: str, fields: Mapping[str, str], *, is_warning: bool = False
) -> AdaptedSource:
    """Return where a section is searched as a source, its records shown as the section shows them."""
    kind = KIND_OF.get(section, "experience")
    on: dict[str, Any] = {}
    if section in AXES and not isinstance(searcher.experiences, Mapping):
        on = {fields.get("axis", "axis"): [section, None] if section == "full" else section}

    def ask(request: ContextRequest) -> ContextRequest:
        narrowed = _narrowed(section, request)
        stored = {**on, **{fields.get(key, key): value for key, value in narrowed.items()}}
        if is_warning:
            request = _warned(section, request)
        return replace(request, where={"$and": [request.where, stored]}) if stored else request

    def shape(found: Sequence[Candidate], request: ContextRequest) -> list[Candidate]:
        del request
        # What a record calls its type (a memory's, a unit's) is not the kind of item that it is here.
        return [_shown(replace(c, kind=kind), section, is_warning=is_warning) for c in found]

    store = as_source(searcher.stores()[section], searcher.embeddings, fields)
    return AdaptedSource(store, name=name, ask=ask, shape=shape)


def _warned(section: str, request: ContextRequest) -> ContextRequest:
    """Return what a section of a premortem is asked."""
    domain, strategy = request.focus["domain"], request.focus.get("strategy")
    query = PREMORTEM[section][1].format(domain=domain, strategy=strategy)
    if section != "values":
        return replace(request, query=query)
    limit = min(_MOST_VALUES, _MOST_VALUES if request.limit is None else request.limit)
    return replace(request, query=f"{query} using {strategy}" if strategy else query, limit=limit)


def _narrowed(section: str, request: ContextRequest) -> dict[str, str]:
    """Return what a section of a premortem asks of its records; {} outside of a premortem."""
    focus: Mapping[str, Any] = request.focus if isinstance(request.focus, Mapping) else {}
    if "domain" not in focus or section == "values":
        return {}
    if section == "strategy":
        return {"strategy": focus["strategy"]}
    return {"domain": focus["domain"], **({"outcome_status": "falsified"} if section == "full" else {})}


def _method_source(name: str, method: Any, axis: str = "") -> FunctionSource:
    """Return a method of a searcher as a source; what it narrowed by, its records need not tell again."""
    parameters = inspect.signature(method).parameters
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())

    def ask(request: ContextRequest) -> Any:
        narrowed = _narrowed(axis, request)
        if "outcome_status" in narrowed:  # which the document's searchers call so
            narrowed["outcome"] = narrowed.pop("outcome_status")
        arguments = {"limit": request.limit, **({"axis": axis} if axis else {}), **narrowed}
        accepted = {key: value for key, value in arguments.items() if takes_all or key in parameters}
        return method(request.query, **accepted)

    def records(answer: Any) -> Sequence[Any]:
        if isinstance(answer, (str, bytes)) or not isinstance(answer, Sequence):
            raise SourceError(f"{name}: expected a list of records, got {type(answer).__name__}")
        return answer

    return FunctionSource(name=name, ask=ask, records=records, known=functools.partial(_narrowed, axis))


def _shown(candidate: Candidate, section: str, *, is_warning: bool) -> Candidate:
    """Return a candidate with the text and the title that it is shown with, and what it is compared by."""
    metadata, created = candidate.metadata, candidate.created_at
    told: dict[str, Any] = {_SAID: candidate.text, "title": _line(candidate, "title")}
    if candidate.kind == "experience":
        told[_THING] = told["title"] = str(metadata.get(_THING) or candidate.id)
        told[_SECTION] = section
        text = _experience(candidate, section)
        hypothesis = _line(candidate, "hypothesis")
        told[_SAID] = f"{section}: {text}" if is_warning else f"{candidate.text}\n{hypothesis}".strip()
    else:
        text = _FORMATS[candidate.kind](candidate)
    if candidate.kind == "code":
        told |= {"symbol": _name(candidate), "title": _place(candidate)}
    if candidate.kind == "commit":
        created = read_instant(metadata.get("timestamp")) or created
    return replace(candidate, text=text, created_at=created, metadata={**metadata, **told})


def _memory(candidate: Candidate) -> str:
    stated = (("Category", "category"), ("Importance", "importance"))
    told = [f"{name}: {value}" for name, key in stated if (value := _line(candidate, key))]
    return f"**Memory**: {candidate.text}" + (f"\n*{', '.join(told)}*" if told else "")


def _code(candidate: Candidate) -> str:
    told = (str(candidate.metadata.get(key) or "").strip("\n") for key in ("signature", "docstring"))
    body = "\n".join(part for part in told if part) or candidate.text
    # A fence inside a docstring must not end this one.
    fence = longer_run("```", [body])
    language = _line(candidate, "language") or "python"
    heading = f"**{_line(candidate, 'unit_type') or 'code'}** `{_name(candidate)}` in `{_place(candidate)}`"
    return f"{heading}\n{fence}{language}\n{body}\n{fence}"


def _experience(candidate: Candidate, axis: str) -> str:
    metadata = candidate.metadata
    status, result = _line(candidate, "outcome_status"), str(metadata.get("outcome_result") or "")
    if axis == "strategy" and status == "falsified":
        status = "**falsified**"
    values = {
        **{name: str(metadata.get(name) or "") for name in _FULL},
        "outcome": " - ".join(part for part in (status, result) if part),
        "lesson": _part_of(metadata, "lesson", "what_worked"),
        "root_cause": _part_of(metadata, "root_cause", "description"),
    }
    heading = f"**Experience**: {_line(candidate, 'domain')} | {_line(candidate, 'strategy')}"
    lines = [
        f"- **{name.replace('_', ' ').capitalize()}**: {values[name]}"
        for name in _SHOWN_ON[axis]
        if values[name]
    ]
    return "\n".join([heading, *(lines or [candidate.text])])


def _value(candidate: Candidate) -> str:
    told = f"{_line(candidate, 'axis')}, cluster size: {_line(candidate, 'cluster_size')}"
    return f"**Value** ({told}):\n{candidate.text}"


def _commit(candidate: Candidate) -> str:
    files = [" ".join(str(name).split()) for name in read_list(candidate.metadata.get("files_changed"))]
    listed = ", ".join([*files[:_MOST_FILES], *(["..."] if len(files) > _MOST_FILES else [])])
    sha = _line(candidate, "sha")[:7]
    heading = f"**Commit** `{sha}` by {_line(candidate, 'author')} on {_line(candidate, 'timestamp')}"
    return f"{heading}\n{candidate.text}" + (f"\n*Files: {listed}*" if listed else "")


_FORMATS: Mapping[str, Callable[[Candidate], str]] = {
    "memory": _memory,
    "code": _code,
    "value": _value,
    "commit": _commit,
}


def _name(candidate: Candidate) -> str:
    return _line(candidate, "name") or _line(candidate, "qualified_name")


def _place(candidate: Candidate) -> str:
    return f"{_line(candidate, 'file_path')}:{_line(candidate, 'start_line')}"


def _line(candidate: Candidate, key: str) -> str:
    """Return a metadata value on one line; "" where there is none."""
    value = candidate.metadata.get(key)
    return "" if value is None else " ".join(str(value).split())


def _part_of(metadata: Mapping[str, Any], key: str, part: str) -> str:
    """Return a part of a nested value: a JSON object, keys joined by a dot, or the value itself."""
    nested = read_mapping(metadata.get(key))
    return str((nested.get(part) if nested else metadata.get(f"{key}.{part}", metadata.get(key))) or "")
