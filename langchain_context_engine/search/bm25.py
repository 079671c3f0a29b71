"""BM25 within a scope: what a question's words weigh there, and what each record scores by them.

Frequencies, the mean length and the spellings that a word is corrected to are those of the records that a
request may see, over all collections of an engine. So scores compare over sources, and nobody learns from
one, or from a correction, what stands in others' records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from langchain_context_engine.search.snapshot import Mask, Snapshot
from langchain_context_engine.text.words import closed_forms, query_terms

K1, B = 1.2, 0.75
"""BM25's constants, those of Lucene."""

_CORRECTABLE, _TWICE_CORRECTABLE = 4, 8
"""Letters from which on a word that nobody has is corrected by one edit, and by two."""
_WEIGHTS = (1.0, 0.8, 0.5)
"""What a word counts at edit distance 0, 1 and 2; two letters that changed places are one edit."""
_MOST_SPELLINGS = 20

Spellings = Sequence[tuple[str, float]]
"""A word of a question in the spellings that it may have, each with what it weighs."""


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """A question as it is looked up.

    Attributes:
        terms: Its terms, each once.
        needs_all: A record must have every term, in some spelling; else one will do.
        closed: For each term the words that it makes with the one beside it (`closed_forms`).
    """

    terms: tuple[str, ...]
    needs_all: bool = False
    closed: tuple[tuple[str, ...], ...] = ()

    @staticmethod
    @lru_cache(maxsize=64)
    def of(query: str) -> LexicalQuery:
        """Read a question; every collection is asked it."""
        found, forms = tuple(query_terms(query)), closed_forms(query)
        return LexicalQuery(found, closed=tuple(forms.get(term, ()) for term in found))


@dataclass(frozen=True, slots=True)
class Weighed:
    """A question's words as they count within a scope.

    Attributes:
        words: Each in its spellings.
        idf: Spelling → inverse document frequency.
        mean: The mean number of terms of a record.
        needs_all: Every word must stand in a record.
    """

    words: tuple[Spellings, ...]
    idf: Mapping[str, float]
    mean: float
    needs_all: bool = False

    def scores(self, snapshot: Snapshot) -> Any:
        """Return the BM25 score of each row; of a word's spellings the best one counts."""
        total = np.zeros(snapshot.size)
        had = np.zeros(snapshot.size, dtype=np.uint16) if self.needs_all else None
        for spellings in self.words:
            gained = [self._gained(snapshot, word, weight) for word, weight in spellings]
            if len(gained) == 1:
                ((rows, points),) = gained
            else:
                best = np.zeros(snapshot.size)
                for rows, points in gained:
                    best[rows] = np.maximum(best[rows], points)
                rows = np.flatnonzero(best)
                points = best[rows]
            total[rows] += points
            if had is not None:
                had[rows] += 1
        if had is not None:
            total[had < len(self.words)] = 0.0
        return total

    def _gained(self, snapshot: Snapshot, word: str, weight: float) -> tuple[Any, Any]:
        rows, often = snapshot.postings(word)
        norms = K1 * (1 - B + B * snapshot.lengths[rows] / self.mean)
        return rows, weight * self.idf[word] * often * (K1 + 1) / (often + norms)


def weigh(query: LexicalQuery, parts: Sequence[tuple[Snapshot, Mask]]) -> Weighed:
    """Return what a question's words weigh among the rows that the masks of some snapshots admit."""
    extents = [snapshot.extent(mask) for snapshot, mask in parts]
    records, length = sum(count for count, _ in extents), sum(length for _, length in extents)
    counted: dict[str, int] = {}

    def frequency(word: str) -> int:
        if word not in counted:
            counted[word] = sum(snapshot.frequency(word, mask) for snapshot, mask in parts)
        return counted[word]

    words: list[Spellings] = []
    for word, closed in zip(query.terms, query.closed or ((),) * len(query.terms), strict=True):
        own = idf_of(frequency(word), records)
        forms = {form: idf_of(frequency(form), records) for form in closed if frequency(form)}
        # A rare name that two words make counts for each no more than the word itself.
        spellings = [(word, 1.0), *((form, min(1.0, own / rarity)) for form, rarity in forms.items())]
        if not forms and not frequency(word) and len(word) >= _CORRECTABLE:
            spellings = _corrected(word, [snapshot for snapshot, _ in parts], frequency) or spellings
        words.append(tuple(spellings))
    idf = {word: idf_of(frequency(word), records) for spellings in words for word, _ in spellings}
    return Weighed(tuple(words), idf, (length / records if records else 0.0) or 1.0, query.needs_all)


def idf_of(frequency: int, records: int) -> float:
    """Return BM25's inverse document frequency (Robertson's, with Lucene's one added)."""
    return math.log(1 + (max(0, records - frequency) + 0.5) / (frequency + 0.5))


def _corrected(
    word: str, snapshots: Sequence[Snapshot], frequency: Callable[[str], int]
) -> list[tuple[str, float]]:
    """Return the words nearest to a misspelt one, of those that stand in a record within the scope."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    furthest = 2 if len(word) >= _TWICE_CORRECTABLE else 1
    vocabulary = sorted(set().union(*(snapshot.vocabulary(word[0]) for snapshot in snapshots)))
    near = process.extract(word, vocabulary, scorer=OSA.distance, score_cutoff=furthest, limit=None)
    found: list[tuple[str, float]] = []
    for spelling, distance, _ in sorted(near, key=lambda hit: (hit[1], hit[0])):
        if len(found) == _MOST_SPELLINGS:
            break
        if frequency(spelling):
            found.append((spelling, _WEIGHTS[int(distance)]))
    return found
