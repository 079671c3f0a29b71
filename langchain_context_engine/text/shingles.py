"""Finds which of many texts may be near duplicates, without comparing each with each.

Two texts that are mostly the same share runs of tokens. A text is kept under its runs, cut one after the
other; another is looked up by all of its runs, wherever they start. Where edits touch fewer places than
the text has runs, one run is untouched and the pair is found (the pigeonhole of PassJoin, Li et al. 2011).
A run is as long as that allows: long runs are seldom shared by chance. Of a long text, an eighth of the
runs must be shared.

Short texts and those without spaces between words are taken by characters, others by words.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

_SHORT_TEXT = 32
"""Characters up to which a text is taken by characters."""

_FARTHEST = 1e6
"""So many times as long as the other no text is looked for."""

_LONG_WORD = 12
"""Mean characters between spaces above which a text is taken by characters."""

_LONGEST_RUN = 5
_LONGEST_RUN_UNSPACED = 8
_LONGEST_RUN_SHORT = 4
_LEAST_SHARED = 0.12

_MOST_PLACES = 32
"""Texts kept under one run, the first ones; a run that more texts share is boilerplate and says little."""

_MOST_CANDIDATES = 16


@dataclass(frozen=True, slots=True)
class Shingles:
    """The runs of a text as hashes: those that it is kept under, and those that it is looked up by.

    Equal hashes of different runs only make a pair be compared for nothing.
    """

    kept_under: array[int]
    looked_up: array[int]

    @classmethod
    def of(cls, tokens: Sequence[str], threshold: float) -> Shingles:
        """Cut a text.

        Args:
            tokens: The text's words.
            threshold: The least similarity of a pair that must be found, 0–100.
        """
        return cls(_hashed(_cut(tokens, threshold)), _hashed(_runs(tokens, threshold)))


class ShingleIndex:
    """Texts by number, found again by what they share with another.

    Example:
        >>> index = ShingleIndex()
        >>> words = "we decided to use stripe for all billing in europe from now on".split()
        >>> index.add(7, Shingles.of(words, 90))
        >>> index.candidates(Shingles.of(words[:6] + words[7:], 90))
        [7]
    """

    def __init__(self) -> None:
        self._places: dict[int, int | list[int]] = {}
        self._kept_under: dict[int, int] = {}

    def add(self, number: int, shingles: Shingles) -> None:
        """Keep a text under its runs."""
        if self._places.keys().isdisjoint(shingles.kept_under):
            # So it is of most texts, and told at the speed of C.
            self._places.update(dict.fromkeys(shingles.kept_under, number))
            self._kept_under[number] = len(shingles.kept_under)
            return
        kept_under = 0
        for run in shingles.kept_under:
            place = self._places.setdefault(run, number)
            kept_under += 1
            # A bare number is cheaper than a list of one.
            if not isinstance(place, list):
                if place != number:
                    self._places[run] = [place, number]
            elif len(place) < _MOST_PLACES:
                place.append(number)
            else:
                kept_under -= 1
        self._kept_under[number] = kept_under

    def candidates(self, shingles: Shingles) -> list[int]:
        """Return the numbers of texts that share enough runs: the largest share first, then the lowest.

        At most `_MOST_CANDIDATES`.
        """
        # Most texts share nothing, which this tells at the speed of C.
        shared = self._places.keys() & shingles.looked_up
        if not shared:
            return []
        places = [self._places[run] for run in shared]
        hits = Counter(chain.from_iterable(p if isinstance(p, list) else (p,) for p in places))
        shares = {number: count / self._kept_under[number] for number, count in hits.items()}
        enough = (number for number, share in shares.items() if share >= _LEAST_SHARED)
        return sorted(enough, key=lambda number: (-shares[number], number))[:_MOST_CANDIDATES]


def _hashed(runs: Iterable[tuple[str, ...]]) -> array[int]:
    return array("I", [number & 0xFFFFFFFF for number in map(hash, runs)])


def _cut(tokens: Sequence[str], threshold: float) -> Iterator[tuple[str, ...]]:
    """Yield the runs of a text, cut one after the other."""
    for sequence in _sequences(tokens, margin=0.0):
        size = _run_length(len(sequence), threshold, isinstance(sequence, str))
        yield from zip(*(sequence[i::size] for i in range(size)), strict=False)


def _runs(tokens: Sequence[str], threshold: float) -> Iterator[tuple[str, ...]]:
    """Return the runs of a text wherever they start, as long as those of texts that may be alike."""
    return chain.from_iterable(
        zip(*(sequence[i:] for i in range(size)), strict=False)
        for sequence in _sequences(tokens, margin=0.25)
        for size in _partner_run_lengths(len(sequence), threshold, isinstance(sequence, str))
    )


def _sequences(tokens: Sequence[str], margin: float) -> Iterator[Sequence[str]]:
    """Yield the sequence to cut into runs; near the borders, where a partner may differ, both."""
    characters = sum(map(len, tokens)) + len(tokens) - 1
    length = characters / (_SHORT_TEXT + 1)
    mean = characters / max(1, len(tokens)) / _LONG_WORD
    if length < 1 + margin or mean > 1 - margin:
        yield " ".join(tokens)
    if length >= 1 - margin and mean <= 1 + margin:
        yield tokens


@lru_cache(maxsize=4096)
def _run_length(count: int, threshold: float, is_unspaced: bool) -> int:
    """Return the longest run of which a text has four, and one more than edits that leave it alike enough.

    Within a short text each inserted or deleted character may be an edit of its own. In a long one
    without spaces, edits are taken for substitutions, which are two; of words, most edits change more
    than one character, so somewhat fewer are reckoned with.
    """
    if not threshold:
        return 1
    dissimilar = (100 - threshold) / threshold
    if not is_unspaced:
        share, longest = 1.75 * dissimilar, _LONGEST_RUN
    elif count > 2 * _SHORT_TEXT:
        share, longest = dissimilar, _LONGEST_RUN_UNSPACED
    else:
        share, longest = 2 * dissimilar, _LONGEST_RUN_SHORT
    return next((n for n in range(longest, 1, -1) if count // n >= max(4, count * share + 1)), 1)


@lru_cache(maxsize=4096)
def _partner_run_lengths(count: int, threshold: float, is_unspaced: bool) -> tuple[int, ...]:
    """Return the run lengths of all texts whose count is near enough to be alike."""
    # Of a threshold next to 0 it is infinite.
    reach = min((200 - threshold) / threshold, _FARTHEST) if threshold else float(count + 1)
    counts = range(int(count / reach), min(int(count * reach) + 2, count + 400))
    return tuple(sorted({_run_length(n, threshold, is_unspaced) for n in counts}))
