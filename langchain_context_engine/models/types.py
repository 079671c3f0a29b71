"""The values that flow through the engine: what a question asks, what a source offers, what is told.

Frozen, keyword only; sequences are tuples; mappings are copied in and never written.
A stage takes values and returns new ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.freeze import as_data, clean_text, copy_mapping, set_fields
from langchain_context_engine.models.metadata import place_from

Key = tuple[str, str]
"""What identifies a candidate: (source, id)."""


class Verdict(StrEnum):
    """What a stage did: `kept` and `dropped` are final, `changed` is a step on the way."""

    KEPT = "kept"
    CHANGED = "changed"
    DROPPED = "dropped"


class Reason(StrEnum):
    """Why, as a closed list: every decision names one of these."""

    # kept, by pack
    WHOLE = "whole"
    CUT = "cut"
    EXTRACTED = "extracted"
    COMPACTED = "compacted"
    # changed, on the way
    CLAMPED = "clamped"
    MERGED = "merged"
    SHORTENED = "shortened"
    EXPANDED = "expanded"
    PINNED = "pinned"
    NEIGHBOUR = "neighbour"
    LINKED = "linked"
    LATEST = "latest"
    RERANKED = "reranked"
    # dropped
    INVALID = "invalid"
    EMPTY = "empty"
    FILTERED = "filtered"
    EXCLUDED = "excluded"
    DUPLICATE = "duplicate"
    BELOW_THRESHOLD = "below_threshold"
    OVER_LIMIT = "over_limit"
    OVER_K = "over_k"
    OVER_BUDGET = "over_budget"
    OVER_SHARE = "over_share"
    OVER_ITEM_CAP = "over_item_cap"
    DIVERSITY = "diversity"
    ENOUGH = "enough"
    NOT_WORTH_READING = "not_worth_reading"
    UNRELATED = "unrelated"
    DOUBTFUL = "doubtful"


class Status(StrEnum):
    """How an answer went.

    `partial` is a failed source, `failed` all of them, `empty` an honest nothing, `doubtful` something that
    may not hold the question. No caller gets a failed context: the error is raised, and the journal keeps it.
    """

    OK = "ok"
    PARTIAL = "partial"
    DOUBTFUL = "doubtful"
    EMPTY = "empty"
    FAILED = "failed"


class _Placed:
    """Where something stands, once that was asked; no field, so that it is neither compared nor written."""

    __slots__ = ("_place",)
    _place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(_Placed):
    """What a source offers for a question.

    Attributes:
        id: The record's id, unique within its source. In it too, lone surrogates become U+FFFD.
        text: The text; None becomes "", lone surrogates become U+FFFD.
        source: Where the record lives (for a store, the collection); with `id` it is the `key`.
        kind: What it is: memory, code, commit, message, …
        relevance: The source's own claim, 0–1. None is 0, NaN is dropped as invalid while
            collecting, values outside are clamped there with a warning.
        claims: Raw measures of a source's search legs (`dense` a cosine similarity, `lexical` a
            BM25 score), comparable over all sources of an engine; rank fuses them.
        created_at: When; aware after construction. ISO strings and epochs are read, the unreadable
            is None.
        metadata: The record's own metadata, copied; None is none. What nobody could read (nested deeper
            than 50, a whole number beyond a float's range) is `…` in it.
        provenance: Names of the sources that offered it, in the engine's order.
        neighbours: Ids in the same source that stand directly before and after it.
        position: (group, order) for reading order, or None.
        is_pinned: Packed before everything else, cut rather than left out.
    """

    id: str
    text: str = ""
    source: str = ""
    kind: str = ""
    relevance: float = 0.0
    claims: Mapping[str, float] = field(default_factory=dict)
    created_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    provenance: tuple[str, ...] = ()
    neighbours: tuple[str, ...] = ()
    position: tuple[str, float] | None = None
    is_pinned: bool = False

    def __post_init__(self) -> None:
        if self.text is None:
            set_fields(self, text="")
        if not f"{self.id}{self.source}{self.kind}{self.text}".isascii():
            for name in ("id", "source", "kind", "text"):
                if isinstance(value := getattr(self, name), str):
                    set_fields(self, **{name: clean_text(value)})
        if type(self.relevance) is not float:
            set_fields(self, relevance=as_data(self.relevance) or 0.0)
        if self.created_at is not None:
            set_fields(self, created_at=read_instant(self.created_at))
        for name in ("provenance", "neighbours"):
            if getattr(self, name) != ():
                set_fields(self, **{name: _names(getattr(self, name), name)})
        found: Any = self.claims
        if isinstance(found, Mapping):  # a leg that claims None did not find it
            found = {leg: claim for leg, claim in found.items() if claim is not None}
        set_fields(
            self,
            claims=copy_mapping(found, "claims", cuts=True),
            metadata=copy_mapping(self.metadata, "metadata", cuts=True),
        )

    @property
    def key(self) -> Key:
        """(source, id)."""
        return (self.source, self.id)

    @property
    def origin(self) -> str:
        """The name a person knows the source by: the first that offered it, else `source`."""
        return self.provenance[0] if self.provenance else self.source

    @property
    def place(self) -> str:
        """Where it stands, on one line (`path:first-last · symbol`, `path › headings`, a commit), or ""."""
        try:
            return self._place
        except AttributeError:
            set_fields(self, _place=place_from(self.metadata, self.created_at))
            return self._place


def _names(values: Any, name: str) -> tuple[str, ...]:
    if isinstance(values, (tuple, list)) and all(isinstance(value, str) for value in values):
        return tuple(values)
    raise ConfigError(f"{name} must be a list of strings, got {type(values).__name__}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate with what it was weighed by.

    Attributes:
        candidate: The candidate.
        signals: Name → raw value, 0–1; some are told though they carry no weight.
        contributions: Name → weight × raw. Weights sum to 1, so each is 0–1.
        also_in: Keys of the duplicates it stands for.
    """

    candidate: Candidate
    signals: Mapping[str, float] = field(default_factory=dict)
    contributions: Mapping[str, float] = field(default_factory=dict)
    also_in: tuple[Key, ...] = ()

    @property
    def key(self) -> Key:
        """The candidate's key."""
        candidate = self.candidate
        return (candidate.source, candidate.id)

    @property
    def score(self) -> float:
        """The sum of the contributions, 0–1: what rank sorts by."""
        return math.fsum(self.contributions.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A candidate with a place in the context.

    Attributes:
        ranked: What it was.
        text: An exact piece of the original, or such pieces in source order joined by an ellipsis,
            unless a compactor rewrote it.
        tokens: What it costs in the rendered text, its frame included.
        citation: The marker that stands beside it, unique in the context; "" without one.
        is_truncated: The text is not the whole original.
        also_in: Keys of the duplicates it stands for.
        spans: (start, end) offsets of the pieces in the original; () after a compactor.
    """

    ranked: Ranked
    text: str
    tokens: int = 0
    citation: str = ""
    is_truncated: bool = False
    also_in: tuple[Key, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def key(self) -> Key:
        """The candidate's key."""
        candidate = self.ranked.candidate
        return (candidate.source, candidate.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a stage decided about a candidate, and why.

    Attributes:
        stage: collect, expand, rank, dedupe or pack.
        key: The candidate.
        verdict: kept, changed or dropped.
        reason: One of `Reason`.
        details: Numbers, and `winner` (the key that beat it) where there is one.
    """

    stage: str
    key: Key
    verdict: Verdict
    reason: Reason
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_duplicate(self) -> bool:
        """Whether it fell as a duplicate, or fell anyway and repeats one that fell too."""
        return self.reason is Reason.DUPLICATE or self.repeats is not None

    @property
    def repeats(self) -> Key | None:
        """What it says again, be that in the context or fallen itself; None where it repeats nothing."""
        of = self.details.get("winner" if self.reason is Reason.DUPLICATE else "duplicate_of")
        return None if of is None else (str(of[0]), str(of[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the text with a title: which passages stand in it, and what they cost."""

    title: str
    keys: tuple[Key, ...]
    tokens: int = 0


class Offer(list[Candidate]):
    """Candidates, best first, and warnings that the context is to carry.

    Args:
        candidates: The candidates.
        warnings: Sentences that name the source; nothing out of the request's scope may stand in them.
        searched: How they were found, in a few words that are the same from question to question; "" says
            nothing.
        trouble: Why they are not all that there are, so that the context is partial; "" where they are.
    """

    def __init__(
        self,
        candidates: Iterable[Candidate] = (),
        *,
        warnings: Iterable[str] = (),
        searched: str = "",
        trouble: str = "",
    ) -> None:
        super().__init__(candidates)
        self.warnings = tuple(warnings)
        self.searched = searched
        self.trouble = trouble
