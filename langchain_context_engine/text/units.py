"""The units that a context is packed from, and what each is worth for the question.

A short passage, or code, is one unit. A longer one is its sentences, a short first line joined to the
next. A unit's worth joins what its passage is worth with how much of the question it answers itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import accumulate, chain, repeat
from itertools import count as count_up
from typing import NamedTuple

from langchain_context_engine.models.types import Candidate, Ranked
from langchain_context_engine.text.analysis import (
    Found,
    analyse,
    find_terms,
    find_terms_in,
    idf_of,
    measure,
    shares_of,
    sizes_of,
)
from langchain_context_engine.text.text_tables import Span, tables_of
from langchain_context_engine.text.words import query_terms, term_number

WHOLE_UP_TO = 80
"""A passage of up to so many tokens is not worth cutting."""

AHEAD = 2
"""What ranks behind whole passages of so many times the budget is not packed by its sentences.

Without this bound seven labelled sets and SWE-QA's four repositories find the same to .001, with 4 too
(but `latest`, at 500 tokens: .014 more).
"""

CODE_KINDS = frozenset({"code", "code_history"})

MESSAGE_UP_TO = 250
"""A commit's message of up to so many tokens is one unit: its subject and its reasons belong together."""

MESSAGE_OF_BEST = 400
"""The same of the record that is the best of all."""

_AFTER_MESSAGE = re.compile(r"^(?:\S.* \(\+\d+ −\d+\)|[A-Z][\w-]*-by: .*|---)[ \t]*$", re.MULTILINE)


_SCORE, _LOCAL, _SIZE, _SMOOTHING = 14.0, 5.0, 0.25, 0.1
"""What weighs in a unit's value `14 · score + log softmax(5 · x) − .25 · log tokens`.

The softmax is over the passage's units; of x, what a unit holds of the question, its neighbours get a tenth.
Measured on labelled questions, see the README's benchmark.
"""


class Unit(NamedTuple):
    """A piece of a passage.

    Attributes:
        item: Place of the passage in the ranking.
        index: Place of the unit in its passage.
        span: Offsets in the original.
        size: Tokens of the piece by itself.
        value: What the unit is worth; comparable over passages.
        head: Place in its passage of the table header that it needs, its own for a header; else -1.
    """

    item: int
    index: int  # type: ignore[assignment]  # tuple.index is not missed
    span: Span
    size: int
    value: float
    head: int = -1

    @property
    def is_head(self) -> bool:
        """It is a table's header, which comes with the rows."""
        return self.head == self.index


def split_units(
    items: Sequence[Ranked],
    query: str,
    count: Callable[[str], int],
    *,
    room: int,
) -> list[list[Unit]]:
    """Return the units of each passage, in reading order.

    Args:
        items: Ranked passages, best first.
        query: The question.
        count: The token counter.
        room: Tokens to be filled: what ranks behind `AHEAD` times as many is one unit; 0: all are.
    """
    sizes = [measure(item.candidate.text, count) for item in items]
    in_rows: dict[int, bool] = {}
    before = chain((0,), accumulate(sizes))
    for i, (item, ahead) in enumerate(zip(items, before, strict=False)):
        if ahead >= AHEAD * room:
            break
        text, kind = item.candidate.text, item.candidate.kind
        if sizes[i] > WHOLE_UP_TO and kind not in CODE_KINDS:
            has_rows = bool(tables_of(text))
            if is_divisible(text, kind, in_rows=has_rows):
                in_rows[i] = has_rows
    wanted = numbers_of(query) if in_rows else ()
    found = find_terms_in([item.candidate.text for item in items], wanted, in_rows)
    idf = idf_of(found, len(wanted))
    units = []
    for i, item in enumerate(items):
        if i in in_rows:
            most = MESSAGE_UP_TO if i else MESSAGE_OF_BEST
            pieces = _shared_out(item.candidate, found[i], idf, count, in_rows=in_rows[i], most=most)
            units.append(_units(i, item, pieces))
        else:
            value = _SCORE * item.score - _SIZE * _log(sizes[i])
            units.append([Unit(i, 0, (0, len(item.candidate.text)), sizes[i], value)])
    return units


def message_of(text: str) -> str:
    r"""Return a commit's message, without the files that it changed and trailers.

    Example:
        >>> message_of("Mend it\n\na.py (+1 −0)")
        'Mend it\n\n'
    """
    after = _AFTER_MESSAGE.search(text)
    return text if after is None else text[: after.start()]


def numbers_of(query: str) -> tuple[int, ...]:
    """Return the numbers of a question's terms, each once, in order."""
    return tuple(map(term_number, query_terms(query)))


Pieces = tuple[Sequence[Span], Sequence[int], Sequence[float], Sequence[int]]
"""The spans of a passage's units, their sizes, the share of the question that each holds, their headers."""


def _shared_out(
    candidate: Candidate,
    found: Found,
    idf: Sequence[float],
    count: Callable[[str], int],
    *,
    in_rows: bool,
    most: int,
) -> Pieces:
    text = candidate.text
    analysis = analyse(text, in_rows)
    sizes = sizes_of(text, count, in_rows)
    spans, shares = analysis.spans, shares_of(analysis, found, idf)
    heads: Sequence[int] = analysis.heads
    if candidate.kind != "commit":
        return spans, sizes, shares, heads
    edge = len(message_of(text))
    within = sum(1 for start, _ in spans if start < edge)
    groups = [(0, within), (within, len(spans))]
    if not 0 < measure(text[:edge], count) <= most:
        groups = [*((j, j + 1) for j in range(within)), groups[1]]
    else:
        heads = [-1, -1]
    groups = [(first, end) for first, end in groups if first < end]
    joined = [(spans[first][0], spans[end - 1][1]) for first, end in groups]
    sizes = [measure(text[a:b], count) for a, b in joined]
    return joined, sizes, _held(found, idf, groups), [*heads[:within], -1][: len(joined)]


def _held(found: Found, idf: Sequence[float], groups: Sequence[tuple[int, int]]) -> list[float]:
    """Return the share of the question that each group of pieces holds, a term counted once a group."""
    total = math.fsum(idf) or 1.0
    return [
        math.fsum(idf[term] for term, places in found if any(first <= place < end for place in places))
        / total
        for first, end in groups
    ]


def _units(i: int, item: Ranked, pieces: Pieces) -> list[Unit]:
    spans, sizes, shares, heads = pieces
    base = _SCORE * item.score
    less = [_SIZE * _log(size) for size in sizes]
    if any(shares):
        exponents = [_LOCAL * x for x in _smoothed(shares)]
        base -= math.log(math.fsum(map(math.exp, exponents)))
        values = [base + exponent - minus for exponent, minus in zip(exponents, less, strict=True)]
    else:
        base -= math.log(len(spans))
        values = [base - minus for minus in less]
    return list(map(_unit, zip(repeat(i), count_up(), spans, sizes, values, heads, strict=False)))


_unit = partial(tuple.__new__, Unit)
"""Makes a unit of its fields at the speed of C: a question makes a thousand."""


@lru_cache(maxsize=4096)
def _log(size: int) -> float:
    """Return the logarithm of a number of tokens; a counter may find none."""
    return math.log(max(1, size))


def best_shares(candidates: Sequence[Candidate], wanted: tuple[int, ...]) -> list[float]:
    """Return how much of a question the best single piece of each passage holds, 0–1.

    Args:
        candidates: The passages.
        wanted: The numbers of the question's terms; a rare one counts more.
    """
    found = [find_terms(candidate.text, wanted, False) for candidate in candidates]
    idf = idf_of(found, len(wanted))
    total = math.fsum(idf)
    best = []
    for candidate, held in zip(candidates, found, strict=True):
        # One term stands in some piece; more need not stand in the same.
        if len(held) > 1 and is_divisible(candidate.text, candidate.kind):
            best.append(max(shares_of(analyse(candidate.text, False), held, idf)))
        else:
            best.append(math.fsum(idf[term] for term, _ in held) / total)
    return best


def holds_half(text: str, query: str) -> bool:
    """Return whether a text has at least two of a question's terms, and half of them or more."""
    wanted = numbers_of(query)
    held = len(find_terms(text, wanted, False)) if wanted else 0
    return held > 1 and 2 * held >= len(wanted)


def is_divisible(text: str, kind: str, *, in_rows: bool = False) -> bool:
    """Return whether a passage may be packed by its sentences, or rows: it is prose of more than one."""
    return kind not in CODE_KINDS and (analysis := analyse(text, in_rows)).is_prose and len(analysis) > 1


def _smoothed(scores: Sequence[float]) -> list[float]:
    padded = [0.0, *scores, 0.0]
    return [
        (here + _SMOOTHING * (before + after)) / (1 + 2 * _SMOOTHING)
        for before, here, after in zip(padded, padded[1:], padded[2:], strict=False)
    ]
