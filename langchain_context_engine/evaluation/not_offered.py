"""Why a record that the store holds was not offered for a question: a known-item diagnosis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from langchain_context_engine.filters import filter_test
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import SupportsLookup, collection_of
from langchain_context_engine.models.types import Candidate, Key
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import rows
from langchain_context_engine.trace.labels import label_of, meant
from langchain_context_engine.trace.what_if import what_would_it_take

if TYPE_CHECKING:
    from langchain_context_engine.engine import ContextEngine

DEEPEST = 10_000
"""How far down its source's order a record is looked for."""

_FILTERS = ("where", "kinds", "since", "until", "min_confidence", "conversation_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownItem:
    """A record of the store, and how far it came for a question.

    Attributes:
        key: The record's (source, id).
        label: What a person knows it by.
        text: Its text.
        is_offered: It is among the candidates; `reason` then says what became of it.
        reason: In words, what kept it out: a filter of the request, its rank, or a later stage.
        rank: Its place in its source's order, from 1; None where the first `DEEPEST` lack it.
        leg_ranks: Search leg → its place by that leg alone, from 1; a leg that finds nothing in it is absent.
        changes: What would let it in, each tried: sentences.
        budget: The budget that lets it in once its rank is the limit; None where none is needed, or found.
    """

    key: Key
    label: str
    is_offered: bool
    reason: str
    text: str = ""
    rank: int | None = None
    leg_ranks: Mapping[str, int] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    budget: int | None = None

    @property
    def sentence(self) -> str:
        """All of it in words."""
        legs = ", ".join(f"{leg} {rank}" for leg, rank in self.leg_ranks.items())
        lines = [f"{self.label} ({'/'.join(self.key)}): {self.reason}"]
        if self.rank is not None:
            lines.append(f"rank {self.rank} of its source{f'; by leg: {legs}' if legs else ''}")
        lines += [f"would be in: {change}" for change in self.changes]
        return "\n  ".join(lines)


def why_not_offered(
    engine: ContextEngine, request: str | ContextRequest, named: str, **more: Any
) -> tuple[KnownItem, ...]:
    """Return what became of the records that somebody means, offered or not.

    Args:
        engine: Is asked the question anew, and once more with a deeper limit. Its sources are searched for
            the record as far as they can look one up.
        request: The question, or the whole request: `context.request` of a trace.
        named: An id, a place (`path`, `path:first-last`), a title, a piece of the text, or words of it.
        **more: Fields of the request.

    Returns:
        One for each record in scope that is called so; none where there is none. What is out of scope
        looks like what is not there.

    Raises:
        ConfigError: A field is wrong.
        SourceError: A store cannot be read.
    """
    asked = ContextRequest.of(request, more)
    context = engine.build(asked)
    found: dict[Key, tuple[Candidate, Any]] = {}
    for source in engine.sources:
        if isinstance(source, SupportsLookup):
            found |= {each.key: (each, source) for each in source.look_up(named, asked)}
    exact = meant(named, Context(candidates=tuple(candidate for candidate, _ in found.values())))
    return tuple(_told(*found[key], engine, asked, context) for key in exact or found)


def _told(
    candidate: Candidate, source: Any, engine: ContextEngine, request: ContextRequest, context: Context
) -> KnownItem:
    key = candidate.key
    item = KnownItem(key=key, label=label_of(candidate), is_offered=False, reason="", text=candidate.text)
    offered = {each.key for each in context.candidates} | {each.key for each in context.decisions}
    if key in offered:
        changes = tuple(change.sentence for change in what_would_it_take(context, key))
        return replace(
            item, is_offered=True, reason=f"it was offered: {context.explain(key)}", changes=changes
        )
    if wanting := _kept_out_by(candidate, source, request):
        changes = (f"the request without its {wanting}",)
        return replace(item, reason=f"the request's {wanting} keeps it out", changes=changes)
    deep = source.fetch(replace(context.request, limit=DEEPEST, offset=0))
    rank = next((place for place, each in enumerate(deep, 1) if each.key == key), None)
    if rank is None:
        return replace(item, reason=f"no leg has it among the first {DEEPEST:,} of {source.name!r}")
    told = f"in the store and not offered: {source.name!r} offers {context.request.limit}"
    item = replace(item, reason=told, rank=rank, leg_ranks=_leg_ranks(deep, key))
    deeper = engine.build(replace(request, limit=request.offset + rank))
    if key not in {each.key for each in deeper.candidates}:
        return item
    # Not by `explain`, which would try the budgets once more.
    fate, budget = next(row for row in rows(deeper) if row.key == key), None
    if any(passage.key == key for passage in deeper.passages):
        admits = [f"limit {rank}"]
    else:
        further = what_would_it_take(deeper, key)
        admits = [f"limit {rank}, and {change.sentence}" for change in further]
        budget = next((change.after for change in further if change.setting == "budget"), None)
    offered_at = f"offered at limit {rank}, where {fate.label} is {fate.sentence}"
    return replace(item, reason=f"{told}; {offered_at}", changes=tuple(admits), budget=budget)


def _kept_out_by(candidate: Candidate, source: Any, request: ContextRequest) -> str:
    """Return the first field of a request that keeps a record in scope from being offered, or ""."""
    if request.sources is not None and {source.name, collection_of(source)}.isdisjoint(request.sources):
        return "sources"
    if candidate.id in request.excluded or candidate.key in request.excluded:
        return "excluded"
    for name in _FILTERS:
        if not filter_test(ContextRequest(**{name: getattr(request, name)}))(candidate):
            return name
    return ""


def _leg_ranks(offered: Any, key: Key) -> dict[str, int]:
    own = next(each for each in offered if each.key == key).claims
    return {
        leg: 1 + sum(each.claims.get(leg, 0.0) > claim for each in offered)
        for leg, claim in own.items()
        if claim > 0
    }
