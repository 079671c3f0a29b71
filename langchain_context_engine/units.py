"""The units that a context is packed from, and what each is worth for the question.

A short passage, or code, is one unit. A longer one is its sentences, a short first line joined to the
next. A unit's worth joins what its passage is worth with how much of the question it answers itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count as count_up
from itertools import repeat
from typing import NamedTuple

from langchain_context_engine.analysis import analyse, sizes_of, term_number
from langchain_context_engine.sentences import Span
from langchain_context_engine.types import Candidate, Ranked
from langchain_context_engine.words import query_terms

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


class Unit(NamedTuple):
    """A piece of a passage.

    Attributes:
        item: Place of the passage in the ranking.
        index: Place of the unit in its passage.
        span: Offsets in the original.
        size: Tokens of the piece by itself.
        value: What the unit is worth; comparable over passages.
    """

    item: int
    index: int  # type: ignore[assignment]  # tuple.index is not missed
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
        and sizes_of(item.candidate.text, count)[0] > WHOLE_UP_TO
        for i, item in enumerate(items)
    ]
    wanted = [term_number(term) for term in dict.fromkeys(query_terms(query))] if any(splits) else []
    found = [_found(item.candidate.text, wanted) for item in items]
    idf = _idf(found, len(wanted))
    return [
        _units(i, item, value, _shares(item.candidate.text, found[i], idf), count)
        if splits[i]
        else [_whole(i, item.candidate, value.passage * item.score, count)]
        for i, item in enumerate(items)
    ]


def _whole(i: int, candidate: Candidate, value: float, count: Callable[[str], int]) -> Unit:
    return Unit(i, 0, (0, len(candidate.text)), sizes_of(candidate.text, count)[0], value)


def _units(
    i: int, item: Ranked, value: UnitValue, shares: Sequence[float], count: Callable[[str], int]
) -> list[Unit]:
    text = item.candidate.text
    base, sizes, spans = value.passage * item.score, sizes_of(text, count)[1:], analyse(text).spans
    if any(shares):
        exponents = [value.local * x for x in _smoothed(shares, value.smoothing)]
        base -= math.log(math.fsum(map(math.exp, exponents)))
        values = [base + exponent for exponent in exponents]
    else:
        values = [base - math.log(len(spans))] * len(spans)
    return list(map(_unit, zip(repeat(i), count_up(), spans, sizes, values, strict=False)))


_unit = partial(tuple.__new__, Unit)
"""Makes a unit of its fields at the speed of C: a question makes a thousand."""


def _shares(text: str, found: Sequence[tuple[int, Sequence[int]]], idf: Sequence[float]) -> list[float]:
    """Return, for each piece of a text, the share of the query's idf that its terms carry, 0–1."""
    shares = [0.0] * len(analyse(text))
    total = math.fsum(idf)
    for term, places in found:
        for place in places:
            shares[place] += idf[term]
    return [share / total for share in shares] if found and total else shares


def is_divisible(text: str, kind: str) -> bool:
    """Return whether a passage may be packed by its sentences: it is prose of more than one."""
    if kind in CODE_KINDS:
        return False
    pieces = analyse(text)
    return pieces.is_prose and len(pieces) > 1


def _found(text: str, wanted: Sequence[bytes]) -> list[tuple[int, list[int]]]:
    """Return (place of a wanted term, pieces of the text that have it) of those that stand in it."""
    if not wanted:
        return []
    pieces = analyse(text)
    return [
        (i, places)
        for i, term in enumerate(wanted)
        if term in pieces.pairs and (places := list(pieces.pieces_with(term)))
    ]


def _idf(found: Sequence[Sequence[tuple[int, Sequence[int]]]], wanted: int) -> list[float]:
    """Return BM25's idf of each query term over the texts."""
    n, df = len(found), [0] * wanted
    for terms_found in found:
        for term, _ in terms_found:
            df[term] += 1
    return [math.log(1 + (n - have + 0.5) / (have + 0.5)) for have in df]


def _smoothed(scores: Sequence[float], share: float) -> list[float]:
    padded = [0.0, *scores, 0.0]
    whole = 1 + 2 * share
    return [
        (here + share * (before + after)) / whole
        for before, here, after in zip(padded, padded[1:], padded[2:], strict=False)
    ]
