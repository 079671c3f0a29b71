"""The redundancy between passages: which of them says again what another one says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langchain_context_engine.models.types import Passage
from langchain_context_engine.pipeline.snippet_quality import is_indexed
from langchain_context_engine.text.memoize import memoize
from langchain_context_engine.text.similarity import Wording, similarity
from langchain_context_engine.text.units import message_of

_WORD = re.compile(r"(?:(?<!\w)[-−](?=\d))?\w+")  # a number with its minus
_MERGE = re.compile(
    r"\AMerge (?:pull request #\d+ from \S+|(?:remote-tracking )?branch(?:es)? [^\n]*|commit [^\n]*"
    r"|[a-z]+ request[^\n]*)\n"
)
_NUMBER_OF_REQUEST = re.compile(r"\A([^\n]*\S)[ \t]+\((?:#|!|GH-)\d+\)(?=[ \t\r]*(?:\n|\Z))")
_LONGEST_COMPARED = 1200
"""Characters of an extract that is compared with others for likeness; beyond it only for equal words."""


@dataclass(frozen=True, slots=True)
class Twin:
    """A passage (by its place in a sequence) that another one says again, and how alike they are, 0–100."""

    place: int
    winner: int
    alike: float


class TwinFinder:
    """Finds a passage whose words another one has in a row, or nearly; pairs are compared once.

    Whole records that are near are told apart already (`dedupe`): nearness counts where one is an extract.
    A pinned passage is no twin.

    Args:
        threshold: The least likeness of near texts, 0–100; None: only words in a row count.
    """

    def __init__(self, threshold: float | None) -> None:
        self._threshold = threshold
        self._alike: dict[tuple[str, str], float] = {}
        self._without: dict[int, Passage] = {}

    def __call__(self, passages: Sequence[Passage]) -> Twin | None:
        """Return the first twin, from the last passage on, or None.

        Args:
            passages: Best first; which of two is better never changes.
        """
        every = range(len(passages))
        # Of those that were looked at before, none says again what another of them says.
        new = [i for i in every if id(passages[i]) not in self._without]
        told = [_in_a_row(passage.text) for passage in passages] if new else []
        for place in reversed(every) if new else ():
            if passages[place].ranked.candidate.is_pinned:
                continue
            mine = told[place]
            others = every if place in new else new
            for winner in others:
                other = told[winner]
                shorter, longer = (mine, other) if len(mine) <= len(other) else (other, mine)
                if shorter in longer and winner != place and _says_again(passages, told, place, winner):
                    return Twin(place, winner, 100.0)
            near = self._nearest(passages, place, others)
            if near is not None:
                return near
        self._without = {id(passage): passage for passage in passages}
        return None

    def _nearest(self, passages: Sequence[Passage], place: int, others: Iterable[int]) -> Twin | None:
        mine, threshold = passages[place], self._threshold
        if threshold is None or len(mine.text) > _LONGEST_COMPARED:
            return None
        for winner in others:
            other = passages[winner]
            if winner >= place or not (mine.is_truncated or other.is_truncated):
                continue
            shorter, longer = sorted((len(mine.text), len(other.text)))
            if longer * threshold > 110 * shorter:
                continue
            pair = other.text, mine.text
            if pair not in self._alike:
                self._alike[pair] = similarity(_wording(pair[0]), _wording(pair[1]), threshold)
            if self._alike[pair]:
                return Twin(place, winner, self._alike[pair])
        return None


def _says_again(passages: Sequence[Passage], told: Sequence[str], place: int, winner: int) -> bool:
    mine, other = told[place], told[winner]
    if not mine.strip() or not other.strip():
        return False
    if all(passages[i].ranked.signals.get("latest") for i in (place, winner)):
        # The newest is the answer, however short: of one change told twice the older telling goes.
        return place > winner
    # Of two that are equal the better stays; a whole record of its own stands beside one that says more.
    is_in = mine in other and (mine != other or place > winner)
    return is_in and not (mine != other and _stands_alone(passages[place]))


def _stands_alone(passage: Passage) -> bool:
    return not passage.is_truncated and not is_indexed(passage.ranked.candidate)


@memoize(2**23)
def _in_a_row(text: str) -> str:
    """Return the words of a text between spaces, so that those of another one are found as a piece of it.

    That a commit merges, or the number of its request, says nothing beside the commit that was merged, nor
    do the files that both list.
    """
    text = message_of(text) if _MERGE.match(text) else text
    text = _NUMBER_OF_REQUEST.sub(r"\1", _MERGE.sub("", text).lstrip())
    return f" {' '.join(_WORD.findall(text.lower()))} "


@memoize(2**24, a_result=2000, a_character=30)  # ten forms of the text, each made when first asked for
def _wording(text: str) -> Wording:
    return Wording(text)
