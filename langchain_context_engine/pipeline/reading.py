"""What is worth reading: which records say something by themselves, and how much a part must tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_context_engine.models.metadata import has_place
from langchain_context_engine.models.types import Candidate, Ranked
from langchain_context_engine.pipeline.packing import Packing
from langchain_context_engine.pipeline.telling import is_part, is_read
from langchain_context_engine.text.units import WHOLE_UP_TO, Unit, holds_half
from langchain_context_engine.text.words import query_terms, terms
from langchain_context_engine.text.worth import (
    LEAST_WORDS,
    has_word,
    telling_words,
)

LEAST_OF_CODE = 0.25
"""Of what cannot be split into sentences (code) a smaller part, a signature say, tells nothing."""

NEARLY_BEST = 0.8
"""What scores this share of the best is worth its room though it does not fit whole."""


def due_in_turn(
    items: Sequence[Ranked], units: Sequence[Sequence[Unit]], share: float, limit: int
) -> dict[int, float]:
    """Return item → the least tokens of it that are worth having in its turn, where it does not fit whole.

    Those of a file that are nearly as good as the best, cannot be split and would fit if they came first:
    else what is worse but shorter takes the room, and of a function that answers its first line is left.

    Args:
        items: Ranked, best first.
        units: The units of each item.
        share: How much of it must fit, 0–1; at 1 nothing is cut in its turn.
        limit: Tokens that the text may have.
    """
    if share >= 1 or not items:
        return {}
    least = NEARLY_BEST * items[0].score
    return {
        i: share * own[0].size
        for i, own in enumerate(units)
        if len(own) == 1
        and WHOLE_UP_TO < own[0].size <= limit
        and items[i].score >= least
        and is_indexed(items[i].candidate)
    }


def least_left(units: Sequence[Sequence[Unit]], share: float) -> dict[int, float]:
    """Return item → the least share of it that a cut must leave; of the best of all any beginning is read.

    Args:
        units: The units of each item, best item first.
        share: As in `due_in_turn`; at 1 there is no least.
    """
    if share >= 1:
        return {}
    return {i: LEAST_OF_CODE for i, own in enumerate(units) if i and len(own) == 1}


def is_indexed(candidate: Candidate) -> bool:
    """Return whether a record was read from a file or a history: it has a place."""
    return bool(candidate.metadata.get("sha")) or has_place(candidate.metadata)


def saying_little(items: Sequence[Ranked], query: str) -> dict[int, dict[str, float]]:
    """Return item → its telling words and the least of those that are not worth reading even whole.

    A part of something larger must tell as much as an extract, unless it holds half of the question, and a
    whole file (a test's input, say) if it holds nothing of the question; what stands for itself, as a memory
    or a message does, may be as short as a word.
    """
    asked = frozenset(query_terms(query))
    little: dict[int, dict[str, float]] = {}
    for i, item in enumerate(items):
        candidate = item.candidate
        if candidate.is_pinned:
            continue
        if not is_part(candidate):
            if not has_word(candidate.text):
                little[i] = {"words": 0, "least": 1}
                continue
            if not _is_whole_file(candidate) or not asked.isdisjoint(terms(candidate.text)):
                continue
        told = telling_words(candidate.text, is_read(candidate))
        has_any = told or telling_words(candidate.text, False)
        if told < LEAST_WORDS and not (has_any and holds_half(candidate.text, query)):
            little[i] = {"words": told, "least": LEAST_WORDS}
    return little


def _is_whole_file(candidate: Candidate) -> bool:
    """Return whether a record begins with a file's first line, and is of no heading or symbol in it."""
    metadata = candidate.metadata
    begins = bool(metadata.get("path")) and metadata.get("start_line") == 1
    return begins and not (metadata.get("headings") or metadata.get("symbol"))


def mute_of_the_best(
    units: Sequence[Sequence[Unit]], limit: int, packing: Packing, says_enough: Callable[[Unit], bool]
) -> dict[int, int]:
    """Return those of the best k of which no piece tells enough: item → the tokens for its cut in its turn.

    Else a short one that ranks below it takes its place, and there is no further one.
    """
    if not packing.k:
        return {}
    best = enumerate(units[: packing.k])
    return {item: limit // packing.k for item, own in best if not any(map(says_enough, own))}
