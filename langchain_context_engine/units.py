"""The units that a context is packed from, and what each is worth for the question.

A short passage, or code, is one unit. A longer one is its sentences, a short first line joined to the
next. A unit's worth joins what its passage is worth with how much of the question it answers itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from langchain_context_engine.sentences import Span, is_code, unit_spans
from langchain_context_engine.types import Candidate, Ranked
from langchain_context_engine.words import query_terms, terms

WHOLE_UP_TO_CHARACTERS = 320
"""A passage up to this long (about 80 tokens) is not worth cutting."""

CODE_KINDS = frozenset({"code", "code_history"})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitValue:
    """What weighs in a unit's value `passage · score + log softmax(local · x)`.

    Measured on labelled questions, see the README's benchmark.

    Attributes:
        passage: Weight of the passage's score.
        local: Sharpness of the softmax over the passage's units.
        smoothing: Share of its neighbours' local score that a unit gets.
    """

    passage: float = 14.0
    local: float = 4.0
    smoothing: float = 0.1


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a passage.

    Attributes:
        item: Place of the passage in the ranking.
        index: Place of the unit in its passage.
        span: Offsets in the original.
        value: What the unit is worth; comparable over passages.
    """

    item: int
    index: int
    span: Span
    value: float


def split_units(
    items: Sequence[Ranked], query: str, value: UnitValue, *, may_split: bool = True
) -> list[list[Unit]]:
    """Return the units of each passage, in reading order.

    Args:
        items: Ranked passages, best first.
        query: The question.
        value: How units are valued.
        may_split: False: every passage is one unit.
    """
    wanted = tuple(dict.fromkeys(query_terms(query)))
    texts = [item.candidate.text for item in items]
    idf = _idf(texts, wanted) if wanted and may_split else {}
    return [_units(i, item, value, idf, may_split=may_split) for i, item in enumerate(items)]


def _units(
    i: int, item: Ranked, value: UnitValue, idf: Mapping[str, float], *, may_split: bool
) -> list[Unit]:
    text = item.candidate.text
    base = value.passage * item.score
    spans = cut_points(text) if may_split and is_divisible(item.candidate) else ((0, len(text)),)
    if len(spans) == 1:
        return [Unit(i, 0, (0, len(text)), base)]
    local = _smoothed(_local_scores(text, spans, idf), value.smoothing)
    exponents = [value.local * x for x in local]
    log_sum = math.log(math.fsum(math.exp(e) for e in exponents))
    return [Unit(i, j, span, base + exponents[j] - log_sum) for j, span in enumerate(spans)]


def is_divisible(candidate: Candidate) -> bool:
    """Return whether a passage may be packed by its sentences: long enough, and prose."""
    if len(candidate.text) <= WHOLE_UP_TO_CHARACTERS or candidate.kind in CODE_KINDS:
        return False
    return not is_code(candidate.text)


@lru_cache(maxsize=8192)
def cut_points(text: str) -> tuple[Span, ...]:
    """Return the spans of a text's units; cached, since the same texts come again."""
    return tuple(unit_spans(text))


@lru_cache(maxsize=16384)
def term_set(text: str) -> frozenset[str]:
    """Return the terms of a text; cached, since the same texts come again."""
    return frozenset(terms(text))


@lru_cache(maxsize=8192)
def _unit_terms(text: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(terms(text[start:end])) for start, end in cut_points(text))


def _idf(texts: Sequence[str], wanted: Sequence[str]) -> dict[str, float]:
    """Return BM25's idf of each query term over the texts."""
    n = len(texts)
    sets = [term_set(text) for text in texts]
    df = {term: sum(term in found for found in sets) for term in wanted}
    return {term: math.log(1 + (n - count + 0.5) / (count + 0.5)) for term, count in df.items()}


def _local_scores(text: str, spans: Sequence[Span], idf: Mapping[str, float]) -> list[float]:
    total = math.fsum(idf.values())
    if not total:
        return [0.0] * len(spans)
    wanted = idf.keys()
    return [sum(idf[term] for term in found & wanted) / total for found in _unit_terms(text)]


def _smoothed(scores: Sequence[float], share: float) -> list[float]:
    padded = [0.0, *scores, 0.0]
    return [
        (padded[i] + share * padded[i - 1] + share * padded[i + 1]) / (1 + 2 * share)
        for i in range(1, len(padded) - 1)
    ]
