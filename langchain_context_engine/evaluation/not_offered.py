"""Why a record that the store holds was not offered for a question: a known-item diagnosis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from langchain_context_engine.filters import filter_test
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import SupportsLookup, collection_of
from langchain_context_engine.models.types import Candidate, Key, Verdict
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import FATES, rows
from langchain_context_engine.trace.labels import label_of, meant
from langchain_context_engine.trace.what_if import what_would_it_take

if TYPE_CHECKING:
    from langchain_context_engine.engine import ContextEngine

DEEPEST = 10_000
"""How far down its source's order a record is looked for."""

_LEGS = {"dense": "meaning", "lexical": "words"}
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
        changes: What would let it in, each tried: sentences. They are looked for of one item alone.
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
        changes = (f"would be in with {change}." for change in self.changes)
        return "\n  ".join([f"{self.label} ({'/'.join(self.key)}): {self.reason}.", *changes])


def why_not_offered(
    engine: ContextEngine, request: str | ContextRequest, named: str, *, seconds: float = 2.0, **more: Any
) -> tuple[KnownItem, ...]:
    """Return what became of the records that somebody means: first what was not offered, the nearest first.

    Args:
        engine: Is asked the question anew, and once more with a deeper limit. Its sources are searched for
            the record as far as they can look one up.
        request: The question, or the whole request: `context.request` of a trace.
        named: An id, a place (`path`, `path:first-last`), a title, a piece of the text, or words of it.
        seconds: So long is looked for what lets the first of them in, once it is offered; 0: it is not.
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
    fates = {row.key: row for row in rows(context)}
    orders: dict[str, Sequence[Candidate]] = {}
    items = []
    for candidate, source in (found[key] for key in exact or found):
        item = KnownItem(
            key=candidate.key, label=label_of(candidate), is_offered=False, reason="", text=candidate.text
        )
        if fate := fates.get(item.key):
            item = replace(item, is_offered=True, reason=f"it was offered, and is {fate.sentence}")
        elif wanting := _kept_out_by(candidate, source, asked):
            without = (f"the request without its {wanting}",)
            item = replace(item, reason=f"the request's {wanting} keeps it out", changes=without)
        else:
            if source.name not in orders:
                orders[source.name] = source.fetch(replace(context.request, limit=DEEPEST, offset=0))
            item = _ranked(
                item, orders[source.name], f"{source.name} offers its best {context.request.limit:,}"
            )
        items.append(item)
    items.sort(key=lambda item: (item.is_offered, item.rank or DEEPEST))
    if not seconds:
        return tuple(items)
    if items and items[0].rank is not None:
        items[0] = what_lets_in(items[0], engine, asked, seconds=seconds)
    elif len(items) == 1 and items[0].is_offered:
        changes = what_would_it_take(context, items[0].key, seconds=seconds)
        items[0] = replace(items[0], changes=tuple(change.sentence for change in changes))
    return tuple(items)


def _ranked(item: KnownItem, order: Sequence[Candidate], offers: str) -> KnownItem:
    """Return an item with its place in its source's order, and in that of each leg."""
    place = next((place for place, each in enumerate(order) if each.key == item.key), None)
    if place is None:
        return replace(item, reason=f"not offered: {offers}, and it is not among the first {DEEPEST:,}")
    own, rank = order[place], place + 1
    legs = {
        leg: 1 + sum(each.claims.get(leg, 0.0) > claim for each in order)
        for leg, claim in own.claims.items()
        if claim > 0
    }
    told = [f"{_nth(first)} by {_LEGS.get(leg, leg)}" for leg, first in legs.items()]
    if own.claims.get("lexical") == 0:
        told.append("no word of the question in it")
    by_leg = f" ({', '.join(told)})" if told else ""
    reason = f"not offered: {offers}, and this is its {_nth(rank)}{by_leg}"
    return replace(item, rank=rank, leg_ranks=legs, reason=reason)


def what_lets_in(
    item: KnownItem, engine: ContextEngine, request: ContextRequest, *, seconds: float = 2.0
) -> KnownItem:
    """Return an item that has a rank with what lets it in beside a limit of that.

    Args:
        item: Of `why_not_offered`.
        engine: Is asked the question with that limit.
        request: The question.
        seconds: So long is looked for what lets it in once it is offered.
    """
    deeper = engine.build(replace(request, limit=request.offset + (item.rank or 0)))
    fate = deeper.final_decisions().get(item.key)
    if fate is None:
        return item
    limit = f"a limit of {item.rank:,}"
    if fate.verdict is Verdict.KEPT:
        return replace(item, changes=(limit,))
    further = what_would_it_take(deeper, item.key, seconds=seconds)
    none = "" if further else f" (no single change that lets it in then was found in {seconds:g} s)"
    return replace(
        item,
        reason=f"{item.reason}; with {limit} it is offered, and {FATES[fate.reason]}{none}",
        changes=tuple(f"{limit} and {change.sentence}" for change in further),
        budget=next((change.after for change in further if change.setting == "budget"), None),
    )


def _nth(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number:,}{'th' if number % 100 in range(11, 14) else ends.get(number % 10, 'th')}"


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
