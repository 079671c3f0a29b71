"""What ranking and packing need to know of a text: where it may be cut, and which terms stand where.

It costs some hundred microseconds a text and does not depend on the question, so it is kept, packed
closely, for as many texts as a bounded memo holds.
"""

from __future__ import annotations

import math
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from langchain_context_engine.text.memoize import memoize
from langchain_context_engine.text.sentences import is_code, row_spans, unit_spans
from langchain_context_engine.text.text_tables import Span, is_rows
from langchain_context_engine.text.words import term_numbers

MOST_BYTES = 2**26
"""What is kept of texts, about: those of some thirty thousand passages."""
_FEW_BYTES = 2**23

READ_CLOSELY = 40
"""So many of the best, by what the search and the names say, are read sentence by sentence: a rescorer.

A hundred bring nothing: SWE-QA's four repositories lose .002 of the lines, six labelled sets gain .001.
"""

_WIDTH = 4


@dataclass(frozen=True, slots=True)
class Analysis:
    """A text's pieces, and the terms of each.

    Attributes:
        is_prose: It is no program.
        edges: Start and end of each piece in turn.
        pairs: A number for each term of each piece, four bytes each, piece after piece.
        ends: Where each piece's terms end in it, in terms.
        heads: For each piece the place of the table header that it needs, or -1.
    """

    is_prose: bool
    edges: array[int]
    pairs: bytes
    ends: array[int]
    heads: array[int]

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def spans(self) -> list[Span]:
        """The pieces' spans, in order."""
        return list(zip(self.edges[::2], self.edges[1::2], strict=True))

    def pieces_with(self, term: bytes) -> tuple[int, ...]:
        """Return the places of the pieces that have a term, given as the bytes of its number, in order."""
        found: list[int] = []
        pairs, ends = self.pairs, self.ends
        place = pairs.find(term)
        while place >= 0:
            if place % _WIDTH == 0:
                piece = bisect_right(ends, place // _WIDTH)
                found.append(piece)
                place = ends[piece] * _WIDTH - 1  # each piece once
            place = pairs.find(term, place + 1)
        return tuple(found)


@memoize(MOST_BYTES)
def analyse(text: str, in_rows: bool) -> Analysis:
    """Return the analysis of a text; its tables whole, or in rows, which is what packing asks for."""
    spans, heads = row_spans(text) if in_rows else (whole := unit_spans(text), [-1] * len(whole))
    numbers: list[int] = []
    ends: list[int] = []
    for start, end in spans:
        numbers += term_numbers(text[start:end])
        ends.append(len(numbers))
    # Arrays made at once take what they need, growing ones more.
    edges = array("I", chain.from_iterable(spans))
    is_prose = not is_code(text) or (in_rows and is_rows(text))
    pairs = array("I", numbers).tobytes()
    return Analysis(is_prose, edges, pairs, array("I", ends), array("i", heads))


@memoize(MOST_BYTES)
def sizes_of(text: str, count: Callable[[str], int], in_rows: bool) -> Sequence[int]:
    """Return what each piece of a text counts by itself."""
    return array("I", [count(text[start:end]) for start, end in analyse(text, in_rows).spans])


@memoize(MOST_BYTES)
def measure(text: str, count: Callable[[str], int]) -> int:
    """Return `count(text)`; kept, as what is known of texts is."""
    return count(text)


Found = tuple[tuple[int, tuple[int, ...]], ...]
"""Which of some terms stand in a text: (place of the term among them, pieces that have it)."""


@memoize(_FEW_BYTES)
def find_terms(text: str, wanted: tuple[int, ...], in_rows: bool) -> Found:
    """Return which of some terms (their numbers) stand in which pieces of a text.

    Kept for a little, since ranking and packing ask the same.
    """
    pieces = analyse(text, in_rows)
    return tuple(
        [(i, places) for i, term in enumerate(_as_bytes(wanted)) if (places := pieces.pieces_with(term))]
    )


@memoize(MOST_BYTES)
def terms_of(text: str, is_analysed: bool) -> Any:
    """Return the numbers of a text's terms, each once: a NumPy array.

    Args:
        text: The text.
        is_analysed: It was taken apart already, so that its pieces tell them.
    """
    import numpy as np

    if is_analysed:
        return np.unique(np.frombuffer(analyse(text, False).pairs, dtype=np.uint32))
    found = term_numbers(text)
    return np.fromiter(found, np.uint32, len(found))


def presence(texts: Sequence[Any], wanted: Any) -> Any:
    """Return a table of booleans: which text (row) has which of some terms (column).

    Args:
        texts: For each text its `terms_of`.
        wanted: The numbers of the terms, an array in their order.
    """
    import numpy as np

    has = np.zeros((len(texts), len(wanted)), dtype=bool)
    if len(wanted) and len(texts):
        every = np.concatenate(texts)
        place = np.minimum(np.searchsorted(wanted, every), len(wanted) - 1)
        is_wanted = wanted[place] == every
        text = np.repeat(np.arange(len(texts)), [len(terms) for terms in texts])
        has[text[is_wanted], place[is_wanted]] = True
    return has


def find_terms_in(texts: Sequence[str], wanted: tuple[int, ...], closely: Mapping[int, bool]) -> list[Found]:
    """Return the terms found in texts; of some also in which pieces they stand.

    Args:
        texts: The texts.
        wanted: The numbers of the terms; of none nothing is looked for.
        closely: Places of the texts that are looked at piece by piece, and whether their tables are in rows.
    """
    found: list[Found] = [()] * len(texts)
    if not wanted:
        return found
    import numpy as np

    for i, in_rows in closely.items():
        found[i] = find_terms(texts[i], wanted, in_rows)
    others = [i for i in range(len(texts)) if i not in closely]
    in_order = np.argsort(wanted)
    has = presence([terms_of(texts[i], False) for i in others], np.asarray(wanted, dtype=np.uint32)[in_order])
    for place in np.flatnonzero(has.any(axis=1)).tolist():
        found[others[place]] = tuple([(term, ()) for term in np.sort(in_order[has[place]]).tolist()])
    return found


@lru_cache(maxsize=16)
def _as_bytes(numbers: tuple[int, ...]) -> tuple[bytes, ...]:
    return tuple(number.to_bytes(_WIDTH, sys.byteorder) for number in numbers)


@memoize(_FEW_BYTES, a_character=8)
def numbers_in(text: str) -> frozenset[int]:
    """Return the numbers of a short text's terms, wherever they stand in it; kept."""
    return term_numbers(text)


def idf_of(found: Sequence[Found], wanted: int) -> list[float]:
    """Return BM25's inverse document frequency of each of so many terms over the texts."""
    n, df = len(found), [0] * wanted
    for terms_found in found:
        for term, _ in terms_found:
            df[term] += 1
    return [math.log(1 + (n - have + 0.5) / (have + 0.5)) for have in df]


def shares_of(pieces: Analysis, found: Found, idf: Sequence[float]) -> list[float]:
    """Return, for each piece of a text, the share of the wanted terms' idf that it carries, 0–1."""
    shares = [0.0] * len(pieces)
    total = math.fsum(idf)
    for term, places in found:
        for place in places:
            shares[place] += idf[term]
    return [share / total for share in shares] if found and total else shares
