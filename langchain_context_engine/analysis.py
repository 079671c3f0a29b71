"""What packing needs to know of a text: where it may be cut, and which terms stand in which piece.

It costs some hundred microseconds a text and does not depend on the question, so it is kept, packed
closely, for as many texts as a bounded memo holds. Sources whose texts stay in memory have them analysed
when they read them: a question then meets no text for the first time.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from zlib import crc32

from langchain_context_engine.sentences import Span, is_code, unit_spans
from langchain_context_engine.words import terms

MOST_TEXTS = 2**16
"""Texts that are kept, about a kilobyte each."""

_WIDTH = 4


@dataclass(frozen=True, slots=True)
class Analysis:
    """A text's pieces, and the terms of each.

    Attributes:
        is_prose: It is no program.
        edges: Start and end of each piece in turn.
        pairs: A number for each term of each piece, four bytes each, piece after piece.
        ends: Where each piece's terms end in it, in terms.
    """

    is_prose: bool
    edges: array[int]
    pairs: bytes
    ends: array[int]

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def spans(self) -> list[Span]:
        """The pieces' spans, in order."""
        return list(zip(self.edges[::2], self.edges[1::2], strict=True))

    def pieces_with(self, term: bytes) -> Iterator[int]:
        """Yield the places of the pieces that have a term (see `term_number`), in order."""
        place = self.pairs.find(term)
        while place >= 0:
            if place % _WIDTH == 0:
                piece = bisect_right(self.ends, place // _WIDTH)
                yield piece
                place = self.ends[piece] * _WIDTH - 1  # each piece once
            place = self.pairs.find(term, place + 1)


@lru_cache(maxsize=MOST_TEXTS)
def analyse(text: str) -> Analysis:
    """Return the analysis of a text."""
    spans = unit_spans(text)
    numbers: list[int] = []
    ends: list[int] = []
    for start, end in spans:
        numbers += map(_number, frozenset(terms(text[start:end])))
        ends.append(len(numbers))
    # Arrays made at once take what they need, growing ones more.
    edges = array("I", chain.from_iterable(spans))
    return Analysis(not is_code(text), edges, array("I", numbers).tobytes(), array("I", ends))


@lru_cache(maxsize=MOST_TEXTS)
def sizes_of(text: str, count: Callable[[str], int]) -> Sequence[int]:
    """Return what a text counts, and what each of its pieces does by itself."""
    spans = analyse(text).spans
    return array("I", [count(text), *(count(text[start:end]) for start, end in spans)])


@lru_cache(maxsize=4096)
def measure(text: str, count: Callable[[str], int]) -> int:
    """Return `count(text)` of a text that a template repeats; kept."""
    return count(text)


def prepare(text: str, count: Callable[[str], int] | None) -> None:
    """Analyse a text before a question meets it; without a counter, all but its sizes."""
    analyse(text)
    if count is not None:
        sizes_of(text, count)


def term_number(term: str) -> bytes:
    """Return what a term is found by in an analysis."""
    return array("I", (_number(term),)).tobytes()


@lru_cache(maxsize=2**16)
def _number(term: str) -> int:
    # Two terms share a number once in four thousand million pairs.
    return crc32(term.encode("utf-8", "replace"))
