"""What pack is told, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.types import Candidate, Decision
from langchain_context_engine.pipeline.select import Diversity
from langchain_context_engine.pipeline.shorten import Shorten
from langchain_context_engine.rendering.layout import Layout, Written
from langchain_context_engine.text.units import CODE_KINDS, UnitValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How pack works.

    Attributes:
        count: The token counter.
        layout: What stands around the passages.
        budget: Tokens, shares and caps.
        selection: One of `SELECTIONS`.
        splits: Adaptive selection may pack a passage by its sentences; else every passage is whole first.
        shorten: Makes an item fit that does not fit whole, or None: it is left out.
        unit_value: How sentences are valued, in adaptive selection.
        diversity: A rule against one kind dominating, or None.
        k: The most passages, or None.
        twin_threshold: The least likeness, 0–100, at which an extract says again what another passage says;
            None: only where its words stand there in a row.
    """

    count: Callable[[str], int]
    layout: Layout
    budget: Budget
    selection: str = "adaptive"
    splits: bool = True
    shorten: Shorten | None = None
    unit_value: UnitValue = field(default_factory=UnitValue)
    diversity: Diversity | None = None
    k: int | None = None
    twin_threshold: float | None = 90.0

    @property
    def has_only_a_budget(self) -> bool:
        """Nothing but the budget as a whole keeps a passage out."""
        caps = (self.budget.source_cap, self.budget.item_cap, self.diversity, self.k)
        return all(cap is None for cap in caps)

    def shorten_of(self, candidate: Candidate) -> Shorten | None:
        """Return what makes a candidate fit: a program is cut between its lines."""
        in_lines = candidate.kind in CODE_KINDS
        return self.shorten.by_lines() if self.shorten and in_lines else self.shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """The written text, and one final decision for every ranked item.

    Attributes:
        written: The text of what was chosen; render gives its passages their cost.
        decisions: One for every item, kept or dropped.
        warnings: What went wrong with compactors.
    """

    written: Written
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[str, ...] = ()
