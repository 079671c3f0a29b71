"""How good a context or a ranking is, as numbers from 0 to 1. Pure functions.

*Evidence* is scored on a text alone, so that any two systems compare: a piece of gold counts when
its words (lower case, runs of letters and digits) stand in a row among the text's words. A gold
span or document that does not stand there whole counts by the fraction of its sentences that do;
sentences of fewer than three words are left out, since they are found anywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from langchain_context_engine.errors import ConfigError

_WORD = re.compile(r"\w+")
# Deliberately simple, and not what extracts are cut by: a scorer must not favour one splitter.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_SHORTEST_SENTENCE = 3
_SAMPLES = 5000


@dataclass(frozen=True, slots=True)
class _Gold:
    whole: str
    sentences: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> _Gold:
        sentences = [_words(part) for part in _SENTENCE_END.split(text)]
        long_ones = [s for s in sentences if len(s) >= _SHORTEST_SENTENCE] or [s for s in sentences if s]
        return cls(whole=_joined(_words(text)), sentences=tuple(map(_joined, long_ones)))

    def found_in(self, row: str) -> tuple[float, tuple[str, ...]]:
        """Return which fraction of it stands in a row of words, and as which pieces."""
        if not self.sentences:
            return 0.0, ()
        # Gold that was marked by offsets may begin or end inside of a word, so its edges are not framed.
        if self.whole.strip() in row:
            return 1.0, (self.whole,)
        found = tuple(sentence for sentence in self.sentences if sentence.strip() in row)
        return len(found) / len(self.sentences), found


@dataclass(frozen=True, slots=True)
class Evidence:
    """The gold of one question, prepared once: of each piece of gold, texts that say it equally well."""

    golds: tuple[tuple[_Gold, ...], ...]

    @classmethod
    def of(cls, golds: Iterable[Iterable[str]]) -> Evidence:
        """Return the evidence of pieces of gold, each given as the texts that say it."""
        return cls(tuple(tuple(map(_Gold.of, texts)) for texts in golds))


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceScore:
    """How a text covers the evidence.

    `recall` is the mean over the pieces of gold of the fraction that stands in the text, of equals the best;
    `precision` the share of the text's words that belong to gold found in it.
    """

    recall: float
    precision: float


def score_evidence(text: str, evidence: Evidence) -> EvidenceScore:
    """Return evidence recall and precision of a text; 0 where there is no gold or no text."""
    row = _joined(_words(text))
    found = [[alternative.found_in(row) for alternative in gold] for gold in evidence.golds]
    recalls = [max((fraction for fraction, _ in gold), default=0.0) for gold in found]
    pieces = {piece for gold in found for _, parts in gold for piece in parts}
    recall = math.fsum(recalls) / len(recalls) if recalls else 0.0
    return EvidenceScore(recall=recall, precision=_covered_share(row, pieces))


def contains_words(text: str, passage: str) -> bool:
    """Return whether the words of a passage stand in a text in a row; False for one without words."""
    words = _joined(_words(passage))
    return bool(words) and words in _joined(_words(text))


def ndcg(grades: Sequence[float], ideal: Iterable[float] | None = None, k: int = 10) -> float:
    """Return the normalised discounted cumulative gain of a ranking's first k.

    The gain of a grade is 2^grade − 1, discounted by log2(place + 1) (Burges et al. 2005).

    Args:
        grades: Of the ranked items, best ranked first; 0 for the irrelevant and the unjudged.
        ideal: All grades that there are; by default those of the ranking.
        k: Places that count.

    Returns:
        0 where nothing relevant exists.
    """
    best = _gain(sorted(grades if ideal is None else ideal, reverse=True)[:k])
    return _gain(grades[:k]) / best if best else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The mean of the second less that of the first, with its confidence interval, over so many pairs."""

    difference: float
    low: float
    high: float
    pairs: int

    @property
    def is_real(self) -> bool:
        """Whether the interval leaves out 0, so that the difference is beyond noise."""
        return self.low > 0 or self.high < 0


def paired_bootstrap(
    first: Sequence[float], second: Sequence[float], *, confidence: float = 0.95
) -> Interval:
    """Return how much better the second is, by resampling pairs (Efron's percentile interval).

    Args:
        first: Scores of one setting, one for each question.
        second: Scores of the other, of the same questions in the same order.
        confidence: Of the interval, between 0 and 1.

    Raises:
        ConfigError: There is no pair, or the lengths differ.
    """
    if len(first) != len(second) or not first:
        raise ConfigError(
            f"a paired bootstrap takes as many scores of both, got {len(first)} and {len(second)}"
        )
    differences = np.asarray(second, dtype=float) - np.asarray(first, dtype=float)
    count = len(differences)
    chosen = np.random.default_rng(0).integers(0, count, (_SAMPLES, count))
    tail = (1 - confidence) / 2
    low, high = np.quantile(differences[chosen].mean(axis=1), [tail, 1 - tail])
    return Interval(difference=float(differences.mean()), low=float(low), high=float(high), pairs=count)


def mean(numbers: Iterable[float]) -> float:
    """Return the mean of the numbers that are known; NaN of none."""
    known = [number for number in numbers if not math.isnan(number)]
    return math.fsum(known) / len(known) if known else math.nan


def _gain(grades: Iterable[float]) -> float:
    return math.fsum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _joined(words: Sequence[str]) -> str:
    # Framed by spaces, so that a piece is found at word boundaries only.
    return f" {' '.join(words)} " if words else ""


def _covered_share(row: str, pieces: Iterable[str]) -> float:
    """Return the share of a row's words that stand in one of the pieces."""
    covered = bytearray(len(row))
    for piece in pieces:
        at = row.find(piece)
        while at >= 0:
            # Between its framing spaces; each word begins behind one.
            covered[at : at + len(piece) - 1] = b"\1" * (len(piece) - 1)
            at = row.find(piece, at + len(piece) - 1)
    begins = [place for place, character in enumerate(row[:-1]) if character == " "]
    return sum(map(covered.__getitem__, begins)) / len(begins) if begins else 0.0
