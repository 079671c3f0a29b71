"""The words of a record as the index keeps them: counted, packed closely, and scored by BM25.

Scores are worked out here and not by the library that finds the records, because the frequency of a
word and the mean length of a text are those within a request's scope, over all collections of an engine.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.text.analysis import term_number
from langchain_context_engine.text.words import bigrams, terms

K1, B = 1.2, 0.75
"""BM25's constants, those of Lucene and tantivy."""

MOST_CHARACTERS = 2**20
"""Characters of one text whose words are indexed; what one record may cost is bounded."""

_HEAD = struct.Struct("<IIII")
_MOST = 255
_PAIR_JOINT = "\x1f"


@dataclass(frozen=True, slots=True)
class Words:
    """What a record can be found by: its terms and its pairs of adjoining terms, in order, repeats included."""

    terms: tuple[str, ...]
    pairs: tuple[str, ...]

    @classmethod
    def of(cls, text: str, metadata: Mapping[str, Any]) -> Words:
        """Read a record's text, and its title, path and symbol."""
        title = " ".join(str(metadata[key]) for key in ("title", "path", "symbol") if metadata.get(key))
        body, named = terms(text[:MOST_CHARACTERS]), terms(title) if title else []
        return cls((*body, *named), (*joined(body), *joined(named)))


@dataclass(frozen=True, slots=True)
class Bag:
    """How often a record has which term and which pair, by their numbers."""

    packed: bytes

    @classmethod
    def of(cls, words: Words) -> Bag:
        """Count the words."""
        import numpy as np

        parts, sizes = [], []
        for each in (words.terms, words.pairs):
            counted = sorted(Counter(map(term_number, each)).items())
            numbers = np.fromiter((number for number, _ in counted), np.uint32, len(counted))
            counts = np.fromiter((min(n, _MOST) for _, n in counted), np.uint8, len(counted))
            parts += [numbers.tobytes(), counts.tobytes()]
            sizes += [len(counted), len(each)]
        return cls(_HEAD.pack(*sizes) + b"".join(parts))

    @property
    def lengths(self) -> tuple[int, int]:
        """How many terms and how many pairs there are, repeats included."""
        _, terms_, _, pairs = _HEAD.unpack_from(self.packed)
        return terms_, pairs

    def numbers(self, *, of_pairs: bool) -> tuple[Any, Any]:
        """Return the numbers of the terms or pairs, rising, and how often each stands there."""
        import numpy as np

        first, _, second, _ = _HEAD.unpack_from(self.packed)
        start, size = _HEAD.size, first
        if of_pairs:
            start, size = start + 5 * first, second
        return (
            np.frombuffer(self.packed, np.uint32, size, start),
            np.frombuffer(self.packed, np.uint8, size, start + 4 * size),
        )

    def has(self, number: int, *, of_pairs: bool) -> bool:
        """Tell whether a term or pair stands in it."""
        numbers, _ = self.numbers(of_pairs=of_pairs)
        place = int(numbers.searchsorted(number))
        return place < len(numbers) and int(numbers[place]) == number


EMPTY = Bag(_HEAD.pack(0, 0, 0, 0))


def joined(words: Sequence[str]) -> list[str]:
    """Return each two terms that stand together as one word of the index."""
    return [pair.replace(" ", _PAIR_JOINT) for pair in bigrams(words)]


def idf_of(frequency: int, records: int) -> float:
    """Return BM25's inverse document frequency (Robertson's, with Lucene's one added)."""
    return math.log(1 + (max(0, records - frequency) + 0.5) / (frequency + 0.5))


Spellings = Sequence[tuple[str, float]]
"""A word of a question in the spellings that it may have, each with what it weighs."""


def score(
    bags: Sequence[Bag], wanted: Sequence[Spellings], idf: Mapping[str, float], mean: float, *, of_pairs: bool
) -> list[float]:
    """Return the BM25 score of each bag; of a word's spellings the best one counts.

    Args:
        bags: The records' words.
        wanted: The question's words.
        idf: Of each spelling.
        mean: The mean length of what is searched.
        of_pairs: Score by pairs instead of terms.
    """
    import numpy as np

    groups = [
        (term_number(word), group, weight * idf[word])
        for group, spellings in enumerate(wanted)
        for word, weight in spellings
        if idf.get(word)
    ]
    if not bags or not groups:
        return [0.0] * len(bags)
    groups.sort()
    asked = np.fromiter((number for number, _, _ in groups), np.uint32, len(groups))
    parts = [bag.numbers(of_pairs=of_pairs) for bag in bags]
    numbers, counts = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    owners = np.repeat(np.arange(len(bags)), [len(part[0]) for part in parts])
    lengths = np.asarray([bag.lengths[int(of_pairs)] for bag in bags], dtype=np.float64)
    norms = K1 * (1 - B + B * lengths / (mean or 1.0))
    found = np.zeros((len(bags), len(wanted)))
    hits = np.flatnonzero(np.isin(numbers, asked))
    for place in range(len(groups)):
        _, group, weight = groups[place]
        mine = hits[numbers[hits] == asked[place]]
        often, whose = counts[mine].astype(np.float64), owners[mine]
        gained = weight * often * (K1 + 1) / (often + norms[whose])
        found[whose, group] = np.maximum(found[whose, group], gained)
    return [math.fsum(row) for row in found.tolist()]
