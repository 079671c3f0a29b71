"""The units that a context is packed from, and what each is worth for the question.

A short passage, or code, is one unit. A longer one is its sentences, a short first line joined to the
next. A unit's worth joins what its passage is worth with how much of the question it answers itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from langchain_context_engine.sentences import Span, is_code, unit_spans
from langchain_context_engine.types import Candidate, Ranked
from langchain_context_engine.words import query_terms, terms

WHOLE_UP_TO = 80
"""A passage of up to so many tokens is not worth cutting."""

SPLIT_FIRST = 100
"""So many of the best passages may be packed by their sentences; the others only whole."""

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
        size: Tokens of the piece by itself.
        value: What the unit is worth; comparable over passages.
    """

    item: int
    index: int
    span: Span
    size: int
    value: float


def split_units(
    items: Sequence[Ranked],
    query: str,
    value: UnitValue,
    count: Callable[[str], int],
    *,
    may_split: bool = True,
) -> list[list[Unit]]:
    """Return the units of each passage, in reading order.

    Args:
        items: Ranked passages, best first.
        query: The question.
        value: How units are valued.
        count: The token counter.
        may_split: False: every passage is one unit.
    """
    splits = [
        may_split
        and i < SPLIT_FIRST
        and is_divisible(item.candidate.text, item.candidate.kind)
        and measure(item.candidate.text, count) > WHOLE_UP_TO
        for i, item in enumerate(items)
    ]
    wanted = tuple(dict.fromkeys(query_terms(query))) if any(splits) else ()
    # What is split is read by its units only: reading it as a whole too would double the work.
    read = [_terms_of_units if split else term_set for split in splits]
    idf = _idf(
        [of(item.candidate.text) for of, item in zip(read, items, strict=True)] if wanted else [], wanted
    )
    return [
        _units(i, item, value, idf, count)
        if splits[i]
        else [_whole(i, item.candidate, value.passage * item.score, count)]
        for i, item in enumerate(items)
    ]


def _whole(i: int, candidate: Candidate, value: float, count: Callable[[str], int]) -> Unit:
    return Unit(i, 0, (0, len(candidate.text)), measure(candidate.text, count), value)


def _units(
    i: int, item: Ranked, value: UnitValue, idf: Mapping[str, float], count: Callable[[str], int]
) -> list[Unit]:
    text = item.candidate.text
    base = value.passage * item.score
    spans = cut_points(text)
    local = _smoothed(_local_scores(text, idf), value.smoothing)
    exponents = [value.local * x for x in local]
    base -= math.log(math.fsum(map(math.exp, exponents)))
    sizes = _unit_sizes(text, count)
    return [Unit(i, j, span, sizes[j], base + exponents[j]) for j, span in enumerate(spans)]


@lru_cache(maxsize=16384)
def measure(text: str, count: Callable[[str], int]) -> int:
    """Return `count(text)`; cached, since the same texts come again."""
    return count(text)


@lru_cache(maxsize=8192)
def is_divisible(text: str, kind: str) -> bool:
    """Return whether a passage may be packed by its sentences: it is prose of more than one."""
    return kind not in CODE_KINDS and not is_code(text) and len(cut_points(text)) > 1


@lru_cache(maxsize=8192)
def cut_points(text: str) -> tuple[Span, ...]:
    """Return the spans of a text's units; cached, since the same texts come again."""
    return tuple(unit_spans(text))


@lru_cache(maxsize=8192)
def _unit_sizes(text: str, count: Callable[[str], int]) -> tuple[int, ...]:
    return tuple(count(text[start:end]) for start, end in cut_points(text))


@lru_cache(maxsize=16384)
def term_set(text: str) -> frozenset[str]:
    """Return the terms of a text; cached, since the same texts come again."""
    return frozenset(terms(text))


@lru_cache(maxsize=8192)
def _unit_terms(text: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(terms(text[start:end])) for start, end in cut_points(text))


@lru_cache(maxsize=8192)
def _terms_of_units(text: str) -> frozenset[str]:
    return frozenset().union(*_unit_terms(text))


def _idf(texts: Sequence[frozenset[str]], wanted: Sequence[str]) -> dict[str, float]:
    """Return BM25's idf of each query term over texts given as their terms."""
    n = len(texts)
    query = frozenset(wanted)
    df = dict.fromkeys(wanted, 0)
    for terms_of_text in texts:
        for term in terms_of_text & query:
            df[term] += 1
    return {term: math.log(1 + (n - count + 0.5) / (count + 0.5)) for term, count in df.items()}


def _local_scores(text: str, idf: Mapping[str, float]) -> list[float]:
    """Return, for each unit, the share of the query's idf that its terms carry, 0–1."""
    units = _unit_terms(text)
    total = math.fsum(idf.values())
    if not total:
        return [0.0] * len(units)
    query = frozenset(idf)
    return [
        0.0 if query.isdisjoint(found) else sum(idf[term] for term in idf if term in found) / total
        for found in units
    ]


def _smoothed(scores: Sequence[float], share: float) -> list[float]:
    padded = [0.0, *scores, 0.0]
    whole = 1 + 2 * share
    return [
        (here + share * (before + after)) / whole
        for before, here, after in zip(padded, padded[1:], padded[2:], strict=False)
    ]
