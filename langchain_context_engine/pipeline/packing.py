"""What pack is told, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.types import Candidate, Decision
from langchain_context_engine.pipeline.select import Diversity
from langchain_context_engine.rendering.compact import Compactor, Cut, compact
from langchain_context_engine.rendering.layout import Layout, Written
from langchain_context_engine.text.asking import asking, by_lines
from langchain_context_engine.text.truncate import Span, Truncator, keep_start, locate
from langchain_context_engine.text.units import CODE_KINDS, UnitValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """A text that fits, "" where nothing does.

    Attributes:
        text: What is left.
        spans: Its pieces in the original; () where it was rewritten.
        is_compacted: A compactor wrote it.
        warnings: What went wrong on the way.
    """

    text: str
    spans: tuple[Span, ...] = ()
    is_compacted: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shorten:
    """Make a text fit an allowance of tokens.

    Attributes:
        truncator: Cuts; one that gives too much is cut once more.
        compactor: Tried first where there is one; may rewrite. Called at most once for a text.
    """

    truncator: Truncator
    compactor: Compactor | None = None

    def asking(self, query: str) -> Shorten:
        """Return the same for a question: extracts are chosen by what answers it, of a table by rows."""
        return self._with(lambda truncator: asking(truncator, query))

    def by_lines(self) -> Shorten:
        """Return the same for a program: extracts are its first lines, whole."""
        return self._with(by_lines)

    def _with(self, changed: Callable[[Truncator], Truncator]) -> Shorten:
        """Return the same with what cuts changed, in a compactor that only cuts too."""
        compactor = self.compactor
        if isinstance(compactor, Cut):
            compactor = replace(compactor, truncator=changed(compactor.truncator))
        return replace(self, truncator=changed(self.truncator), compactor=compactor)

    def __call__(self, text: str, allowance: int, count: Callable[[str], int]) -> Short:
        """Return the shortened text; it never costs more than the allowance."""
        if self.compactor is not None:
            compacted = compact(text, allowance, count, self.compactor)
            if compacted.is_compacted:
                return Short(text=compacted.text, is_compacted=True)
            warnings = (compacted.warning,) if compacted.warning else ()
            return Short(text=compacted.text, spans=locate(text, compacted.text), warnings=warnings)
        cut = self.truncator(text, allowance, count)
        if not isinstance(cut, str):
            problem = f"a truncator gave {type(cut).__name__}, expected a text; the start was kept"
            cut = keep_start(text, allowance, count)
            return Short(text=cut, spans=locate(text, cut), warnings=(problem,))
        if count(cut) > allowance:
            cut = keep_start(text, allowance, count)
        return Short(text=cut, spans=locate(text, cut))


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
