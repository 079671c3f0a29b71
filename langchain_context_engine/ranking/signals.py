"""What rank can weigh. A signal is `(candidates, request) -> floats in 0–1`, one call for all candidates.

A signal with settings is a small frozen dataclass with `__call__`. Pure: the instant that counts as
now stands in the request.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal

from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.text.words import STOP_WORDS, words

Signal = Callable[[Sequence[Candidate], ContextRequest], Sequence[float]]

UNDATED = 0.5
"""Recency of a candidate without a readable date: neither favoured nor punished."""

MISSING = 0.5
"""Confidence or importance of a candidate that states none."""

_SECONDS_PER_DAY = 86_400


def read_number(value: object) -> float | None:
    """Return the finite number that a metadata value states, or None where it states none.

    Example:
        >>> read_number("0.9"), read_number(None), read_number("high")
        (0.9, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def clamp(value: float) -> float:
    """Return the value moved into the range from 0 to 1."""
    return min(1.0, max(0.0, value))


def age_days(candidate: Candidate, now: datetime) -> float | None:
    """Return a candidate's age in days, 0 for future dates, or None where it is undated."""
    if candidate.created_at is None:
        return None
    return max(0.0, (now - candidate.created_at).total_seconds() / _SECONDS_PER_DAY)


def relevance(candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
    """Return the own claim of each source; `rank` fuses the claims of search legs before it weighs this."""
    del request
    return [candidate.relevance for candidate in candidates]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recency:
    """How new a candidate is: 1 is now, undated is 0.5, the future counts as now.

    Attributes:
        curve: `inverse`: 1/(1+days). `half_life`: 0.5^(days/days_scale). `exponential`:
            e^(−days/days_scale). `linear`: 1 − days/days_scale, not below 0.
        days_scale: The half life, the decay constant or the window, in days; unused by `inverse`.
    """

    curve: Literal["inverse", "half_life", "exponential", "linear"] = "inverse"
    days_scale: float = 30.0

    def __call__(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
        """Return one value for each candidate."""
        now = request.now or datetime.now(UTC)
        ages = (age_days(candidate, now) for candidate in candidates)
        return [UNDATED if age is None else self._of(age) for age in ages]

    def _of(self, days: float) -> float:
        if self.curve == "half_life":
            return float(0.5 ** (days / self.days_scale))
        if self.curve == "exponential":
            return math.exp(-days / self.days_scale)
        if self.curve == "linear":
            return max(0.0, 1 - days / self.days_scale)
        return 1 / (1 + days)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A number that the record states about itself, clamped to 0–1; 0 is a value, not missing.

    Attributes:
        key: The metadata key.
        missing: The value of a record that states none.
    """

    key: str
    missing: float = MISSING

    def __call__(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
        """Return one value for each candidate."""
        del request
        stated = (read_number(candidate.metadata.get(self.key)) for candidate in candidates)
        return [self.missing if value is None else clamp(value) for value in stated]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyword:
    """The share of the query's words that stand in the text as words; no words in the query is 0.

    Attributes:
        shortest: Query words shorter than this are ignored (CJK bigrams are not).
        ignored: Query words that do not count.
    """

    shortest: int = 1
    ignored: frozenset[str] = frozenset()

    def keywords(self, query: str) -> frozenset[str]:
        """Return the words of a query that count."""
        found = (word for word in words(query) if word not in self.ignored)
        return frozenset(word for word in found if len(word) >= self.shortest or not word.isascii())

    def __call__(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
        """Return one value for each candidate."""
        wanted = self.keywords(request.query)
        if not wanted:
            return [0.0] * len(candidates)
        return [len(wanted.intersection(words(c.text))) / len(wanted) for c in candidates]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """A value by kind, else by source, else a default: priorities of sources, boosts of tiers.

    Attributes:
        values: Kind or source name → value, 0–1.
        default: The value of the others.
        key: A metadata key to look up instead of kind and source.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    default: float = 0.3
    key: str = ""

    def __call__(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
        """Return one value for each candidate."""
        del request
        return [clamp(self._of(candidate)) for candidate in candidates]

    def _of(self, candidate: Candidate) -> float:
        if self.key:
            return self.values.get(str(candidate.metadata.get(self.key, "")), self.default)
        for name in (candidate.kind, candidate.origin, candidate.source):
            if name in self.values:
                return self.values[name]
        return self.default


@dataclass(frozen=True, slots=True, kw_only=True)
class ForKinds:
    """A signal that counts for some kinds alone; all others get one neutral value.

    Attributes:
        signal: The signal.
        kinds: For whom it counts.
        others: What everyone else gets, 0–1.
    """

    signal: Signal
    kinds: tuple[str, ...]
    others: float = MISSING

    def __call__(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
        """Return one value for each candidate."""
        values = self.signal(candidates, request)
        return [
            value if candidate.kind in self.kinds else self.others
            for candidate, value in zip(candidates, values, strict=True)
        ]


def usage(candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
    """Return how often a candidate was used: min(1, uses/10), moved by feedback.

    `usage_count` and `usage_feedback` (−1 to 1: the mean of not useful and useful) are put into the
    metadata by an engine with a journal. Feedback adds up to ±0.5. Where that leads below 0 or above 1, all
    are scaled into 0–1, so that an opinion is felt on what was never used, and on what was used most.
    """
    del request
    values = [
        min(1.0, (read_number(c.metadata.get("usage_count")) or 0.0) / 10)
        + 0.5 * (read_number(c.metadata.get("usage_feedback")) or 0.0)
        for c in candidates
    ]
    low, high = min([0.0, *values]), max([1.0, *values])
    return [clamp((value - low) / (high - low)) for value in values]


def kind_match(candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
    """Return 1 where the question names the candidate's kind (or its plural), else 0.5."""
    asked = set(words(request.query))
    return [1.0 if c.kind and {c.kind.lower(), f"{c.kind.lower()}s"} & asked else 0.5 for c in candidates]


def term_similarity(candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
    """Return the TF-IDF cosine of query and text, over words; idf is ln(1 + N/df) over the candidates.

    Source: Salton & Buckley (1988), Term-weighting approaches in automatic text retrieval.
    """
    documents = [Counter(words(candidate.text)) for candidate in candidates]
    df = Counter(word for document in documents for word in document)
    idf = {word: math.log(1 + len(documents) / n) for word, n in df.items()}
    query = {word: n * idf[word] for word, n in Counter(words(request.query)).items() if word in idf}
    query_norm = math.sqrt(sum(w * w for w in query.values()))
    if not query_norm:
        return [0.0] * len(candidates)
    similarities = []
    for document in documents:
        norm = math.sqrt(sum((n * idf[word]) ** 2 for word, n in document.items()))
        dot = sum(weight * document[word] * idf[word] for word, weight in query.items())
        similarities.append(clamp(dot / (query_norm * norm)) if norm else 0.0)
    return similarities


def reranked(candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
    """Return what a reranker said, scaled to 0–1 over those that it was asked about; 0 for all others."""
    del request
    said = [candidate.claims.get("rerank") for candidate in candidates]
    known = [score for score in said if score is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    return [0.0 if score is None else (score - low) / (high - low) if high > low else 1.0 for score in said]


SIGNALS: Mapping[str, Signal] = {
    "relevance": relevance,
    "recency": Recency(),
    "recency_half_life": Recency(curve="half_life"),
    "recency_linear": Recency(curve="linear"),
    "recency_exponential": Recency(curve="exponential", days_scale=100 / 24),
    "confidence": Stated(key="confidence"),
    "importance": Stated(key="importance"),
    "keyword": Keyword(ignored=STOP_WORDS),
    "keyword_match": Keyword(shortest=4, ignored=STOP_WORDS),
    "source_priority": Lookup(values={"reference": 1.0, "file": 0.7, "chunk": 0.6, "message": 0.5}),
    "usage": usage,
    "kind_match": kind_match,
    "term_similarity": term_similarity,
    "rerank": reranked,
}
"""The built-in signals by name."""


ASKS_FOR: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "task": MappingProxyType({"todo": 0.9, "kanban_card": 0.9}),
        "summary": MappingProxyType({"page": 0.8}),
    }
)
"""Intent → block type → how well it matches; other types match at 0.5."""

WORDS_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "task": ("task", "tasks", "subtask", "subtasks", "todo", "todos"),
        "summary": ("summary", "summaries", "summarize", "summarise", "summarized", "summarised"),
    }
)
"""Intent → words of a question that tell it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeDistance:
    """Nearness in the tree: max(0, 1 − step · steps to the focus), as the metadata `tree_distance` says.

    Attributes:
        step: What each step takes away, 0–1.
        missing: The value where nothing is focused.
    """

    step: float = 0.1
    missing: float = MISSING

    def __call__(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
        """Return one value for each candidate."""
        del request
        steps = (read_number(candidate.metadata.get("tree_distance")) for candidate in candidates)
        return [self.missing if n is None else clamp(1 - self.step * n) for n in steps]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeMatch:
    """How well a block's type is what the question asks for; types that the request prioritises match at 1.

    Attributes:
        asks_for: Intent → type → value.
        words_of: Intent → the words that tell it.
    """

    asks_for: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: ASKS_FOR)
    words_of: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: WORDS_OF)

    def __call__(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
        """Return one value for each candidate."""
        asked = set(words(request.query))
        told = [self.asks_for[intent] for intent, names in self.words_of.items() if asked & set(names)]
        focus: Mapping[str, Any] = request.focus if isinstance(request.focus, Mapping) else {}
        values = {kind: value for kinds in told for kind, value in kinds.items()}
        values |= dict.fromkeys(focus.get("kinds", ()), 1.0)
        return [values.get(candidate.kind, MISSING) for candidate in candidates]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserAffinity:
    """The share of the user's recent edits and views that are this block or lie on its page.

    The recent ones are those that one source offers; without any, all are 0.

    Attributes:
        source: The name of that source.
    """

    source: str = "activity"

    def __call__(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
        """Return one value for each candidate."""
        del request
        recent = [c for c in candidates if self.source in c.provenance]
        places = Counter(_place(c) for c in recent)
        return [places[_place(c)] / len(recent) if recent else 0.0 for c in candidates]


def _place(candidate: Candidate) -> tuple[str, str]:
    """Return the page that a block lies on, else the block itself."""
    page = candidate.metadata.get("page_id")
    return (candidate.source, str(page) if page else candidate.id)
