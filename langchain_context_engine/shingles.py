"""Finds which of many texts may be near duplicates, without comparing each with each.

Two texts that are mostly the same share a run of tokens. A text is kept under its runs, cut one after
the other; another is looked up by all of its runs, wherever they start. If edits touch fewer places than
the text has runs, one run is untouched and the pair is found (the pigeonhole of PassJoin, Li et al. 2011).
A run is as long as that allows, at most `_LONGEST_RUN`: long runs are shared by chance less often.

Short texts and those without spaces between words are taken by characters, others by words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice

_LONGEST_RUN = 4
_SHORT_TEXT = 48
"""Characters up to which a text is taken by characters."""

_LONG_WORD = 12
"""Mean characters between spaces above which a text is taken by characters."""

_MOST_PLACES = 64
"""Texts kept under one run, the first ones; a run that more texts share is boilerplate."""

_MOST_CANDIDATES = 32


class ShingleIndex:
    """Texts by number, found again by what they share with another.

    Args:
        threshold: The least similarity of a pair that must be found, 0–100.

    Example:
        >>> index = ShingleIndex(90)
        >>> index.add(7, "we decided to use stripe for all billing in europe from now on".split())
        >>> index.candidates("we decided to use stripe for billing in europe from now on".split())
        [7]
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._places: dict[tuple[str, ...], int | list[int]] = {}

    def add(self, number: int, tokens: Sequence[str]) -> None:
        """Keep a text under its runs."""
        for sequence in _sequences(tokens, margin=0.0):
            size = _run_length(len(sequence), self._threshold)
            for run in zip(*(sequence[i::size] for i in range(size)), strict=False):
                place = self._places.setdefault(run, number)
                # Most runs are of one text only: a bare number is cheaper than a list of one.
                if isinstance(place, list):
                    if len(place) < _MOST_PLACES:
                        place.append(number)
                elif place != number:
                    self._places[run] = [place, number]

    def candidates(self, tokens: Sequence[str]) -> list[int]:
        """Return the numbers of texts that share a run, those of the rarest runs first.

        At most `_MOST_CANDIDATES`: where boilerplate is shared by many, the rare runs tell.
        """
        # Most texts share nothing, which this tells at the speed of C.
        if self._places.keys().isdisjoint(self._runs(tokens)):
            return []
        places = [self._places[run] for run in self._runs(tokens) if run in self._places]
        hits = sorted((place if isinstance(place, list) else [place] for place in places), key=len)
        return list(islice(dict.fromkeys(chain.from_iterable(hits)), _MOST_CANDIDATES))

    def _runs(self, tokens: Sequence[str]) -> Iterator[tuple[str, ...]]:
        return chain.from_iterable(
            zip(*(sequence[i:] for i in range(size)), strict=False)
            for sequence in _sequences(tokens, margin=0.25)
            for size in _partner_run_lengths(len(sequence), self._threshold)
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
def _run_length(count: int, threshold: float) -> int:
    """Return the longest run of which a text of so many tokens has one more than it can have edits."""
    share = 2 * (1 - threshold / 100) / (threshold / 100) if threshold else 1.0
    return next((n for n in range(_LONGEST_RUN, 1, -1) if count // n >= count * share + 1), 1)


@lru_cache(maxsize=4096)
def _partner_run_lengths(count: int, threshold: float) -> tuple[int, ...]:
    """Return the run lengths of all texts whose count is near enough to be alike."""
    reach = (2 - threshold / 100) / (threshold / 100) if threshold else float(count + 1)
    counts = range(int(count / reach), min(int(count * reach) + 2, count + 400))
    return tuple(sorted({_run_length(n, threshold) for n in counts}))
