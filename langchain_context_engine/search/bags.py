"""The words of a record as the index keeps them: counted, packed closely, and scored by BM25.

Scores are worked out here and not by the library that finds the records, because the frequency of a
word and the mean length of a text are those within a request's scope, over all collections of an engine.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from langchain_context_engine.text.analysis import term_number
from langchain_context_engine.text.words import terms

K1, B = 1.2, 0.75
"""BM25's constants, those of Lucene and tantivy."""

MOST_CHARACTERS = 2**23
"""Characters of one text whose words are indexed; what one record may cost is bounded."""

_HEAD = struct.Struct("<II")
_WIDTH = 4
_PAIR_JOINT = "\x1f"
_MIXED = (0x9E3779B1, 0x85EBCA77)
_NUMBERS = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Words:
    """What a record can be found by: the terms of its text and of its names, in order, repeats included."""

    body: tuple[str, ...]
    named: tuple[str, ...]

    @classmethod
    def of(cls, text: str, metadata: Mapping[str, Any]) -> Words:
        """Read a record's text, and its title, path and symbol."""
        title = " ".join(str(metadata[key]) for key in ("title", "path", "symbol") if metadata.get(key))
        return cls(tuple(terms(text[:MOST_CHARACTERS])), tuple(terms(title)) if title else ())

    @property
    def terms(self) -> tuple[str, ...]:
        """All terms."""
        return (*self.body, *self.named)

    @property
    def pairs(self) -> list[str]:
        """Each two terms that stand together."""
        return [*joined(self.body), *joined(self.named)]


@dataclass(frozen=True, slots=True)
class Bag:
    """The numbers of a record's terms and pairs, rising, repeats included."""

    packed: bytes

    @property
    def lengths(self) -> tuple[int, int]:
        """How many terms and how many pairs there are."""
        terms_, pairs = _HEAD.unpack_from(self.packed)
        return terms_, pairs

    def numbers(self, *, of_pairs: bool) -> Any:
        """Return the numbers of the terms or pairs."""
        import numpy as np

        first, second = self.lengths
        start, size = (_HEAD.size + 4 * first, second) if of_pairs else (_HEAD.size, first)
        return np.frombuffer(self.packed, np.uint32, size, start)

    def has(self, number: int, *, of_pairs: bool) -> bool:
        """Tell whether a term or pair stands in it."""
        numbers = self.numbers(of_pairs=of_pairs)
        place = int(numbers.searchsorted(number))
        return place < len(numbers) and int(numbers[place]) == number


def number_of(word: str, *, is_pair: bool) -> int:
    """Return the number of a term, or of a pair as `joined` writes it."""
    if not is_pair:
        return term_number(word)
    first, _, second = word.partition(_PAIR_JOINT)
    return (term_number(first) * _MIXED[0] + term_number(second) * _MIXED[1]) & _NUMBERS


def bags_of(words: Sequence[Words]) -> list[Bag]:
    """Number the words of some records, all at once: one by one it takes three times as long."""
    import numpy as np

    fields = [field for each in words for field in (each.body, each.named)]
    lengths = list(map(len, fields))
    numbers = np.fromiter(map(term_number, chain.from_iterable(fields)), np.uint64, sum(lengths))
    field_of = np.repeat(np.arange(len(fields), dtype=np.uint64), lengths)
    mixed = numbers[:-1] * np.uint64(_MIXED[0]) + numbers[1:] * np.uint64(_MIXED[1])
    is_pair = field_of[:-1] == field_of[1:]
    terms_ = _sorted_by_owner(numbers, field_of // 2, len(words))
    pairs = _sorted_by_owner(mixed[is_pair], field_of[:-1][is_pair] // 2, len(words))
    return [
        Bag(_HEAD.pack(len(first) // _WIDTH, len(second) // _WIDTH) + first + second)
        for first, second in zip(terms_, pairs, strict=True)
    ]


def _sorted_by_owner(numbers: Any, owners: Any, count: int) -> Iterator[bytes]:
    """Yield the numbers of each of so many owners, rising, packed."""
    import numpy as np

    low = np.uint64(_NUMBERS)
    rising = np.sort((owners << np.uint64(32)) | (numbers & low)) & low
    packed = rising.astype(np.uint32).tobytes()
    end = 0
    for size in (np.bincount(owners.astype(np.int64), minlength=count) * _WIDTH).tolist():
        end += size
        yield packed[end - size : end]


def joined(words: Sequence[str]) -> list[str]:
    """Return each two terms that stand together as one word of the index."""
    return [f"{first}{_PAIR_JOINT}{second}" for first, second in pairwise(words)]


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
        (number_of(word, is_pair=of_pairs), group, weight * idf[word])
        for group, spellings in enumerate(wanted)
        for word, weight in spellings
        if idf.get(word)
    ]
    if not bags or not groups:
        return [0.0] * len(bags)
    groups.sort()
    parts = [bag.numbers(of_pairs=of_pairs) for bag in bags]
    numbers = np.concatenate(parts)
    owners = np.repeat(np.arange(len(bags)), list(map(len, parts)))
    lengths = np.asarray(list(map(len, parts)), dtype=np.float64)
    norms = K1 * (1 - B + B * lengths / (mean or 1.0))
    asked = np.fromiter((number for number, _, _ in groups), np.uint32, len(groups))
    hits = np.flatnonzero(np.isin(numbers, asked))
    numbers, owners = numbers[hits], owners[hits]
    found = np.zeros((len(bags), len(wanted)))
    for number, group, weight in groups:
        often = np.bincount(owners[numbers == number], minlength=len(bags))
        gained = weight * often * (K1 + 1) / (often + norms)
        found[:, group] = np.maximum(found[:, group], gained)
    return [math.fsum(row) for row in found.tolist()]
