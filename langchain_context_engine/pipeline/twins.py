"""Twins: passages of one context of which one says again what another says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_context_engine.models.types import Passage
from langchain_context_engine.pipeline.reading import is_indexed
from langchain_context_engine.text.memo import remember
from langchain_context_engine.text.similarity import Wording, similarity
from langchain_context_engine.text.units import message_of

_WORD = re.compile(r"\w+")
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


def find_twin(passages: Sequence[Passage], threshold: float | None) -> Twin | None:
    """Return the first passage, from the last on, whose words another one has in a row, or nearly; else None.

    Whole records that are near are told apart already (`dedupe`): nearness counts where one is an extract.
    A pinned passage is no twin.

    Args:
        passages: Best first.
        threshold: The least likeness of near texts, 0–100; None: only words in a row count.
    """
    told = [_in_a_row(passage.text) for passage in passages]
    for place in reversed(range(len(passages))):
        if passages[place].ranked.candidate.is_pinned:
            continue
        for winner in range(len(passages)):
            if winner != place and _says_again(passages, told, place, winner):
                return Twin(place, winner, 100.0)
        if threshold is not None:
            near = _nearest(passages, place, threshold)
            if near is not None:
                return near
    return None


def _says_again(passages: Sequence[Passage], told: Sequence[str], place: int, winner: int) -> bool:
    if _answer_by_time(passages[place], passages[winner]):
        # The newest is the answer, however short: of one change told twice the older telling goes.
        return place > winner and (_is_in(told, place, winner) or _is_in(told, winner, place))
    is_more = told[place] != told[winner]
    return _is_in(told, place, winner) and not (is_more and _stands_alone(passages[place]))


def _stands_alone(passage: Passage) -> bool:
    """Return whether a passage is a whole record of its own: what more another one says is another matter."""
    return not passage.is_truncated and not is_indexed(passage.ranked.candidate)


def _answer_by_time(a: Passage, b: Passage) -> bool:
    return all(passage.ranked.signals.get("latest") for passage in (a, b))


def _is_in(told: Sequence[str], place: int, winner: int) -> bool:
    mine, other = told[place], told[winner]
    # Of two that are equal the better stays.
    return (
        mine.strip() != "" and len(mine) <= len(other) and mine in other and (mine != other or place > winner)
    )


def _nearest(passages: Sequence[Passage], place: int, threshold: float) -> Twin | None:
    mine = passages[place]
    if len(mine.text) > _LONGEST_COMPARED:
        return None
    for winner in range(place):
        other = passages[winner]
        is_near_in_size = max(len(mine.text), len(other.text)) * threshold <= 110 * min(
            len(mine.text), len(other.text)
        )
        if (mine.is_truncated or other.is_truncated) and is_near_in_size:
            alike = similarity(_wording(other.text), _wording(mine.text), threshold)
            if alike:
                return Twin(place, winner, alike)
    return None


@remember(2**23)
def _in_a_row(text: str) -> str:
    """Return the words of a text between spaces, so that those of another one are found as a piece of it.

    That a commit merges, or the number of its request, says nothing beside the commit that was merged, nor
    do the files that both list.
    """
    text = message_of(text) if _MERGE.match(text) else text
    text = _NUMBER_OF_REQUEST.sub(r"\1", _MERGE.sub("", text).lstrip())
    return f" {' '.join(_WORD.findall(text.lower()))} "


@remember(2**24, a_result=2000, a_character=30)  # ten forms of the text, each made when first asked for
def _wording(text: str) -> Wording:
    return Wording(text)
