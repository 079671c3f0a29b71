"""What is worth reading: which records say something by themselves, and how much a part must tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_context_engine.models.places import has_place
from langchain_context_engine.models.types import Candidate, Ranked
from langchain_context_engine.pipeline.packing import Packing
from langchain_context_engine.pipeline.telling import is_part, is_read
from langchain_context_engine.ranking.aims import aims_of
from langchain_context_engine.ranking.editions import ASIDES, EDITION, WHOLE
from langchain_context_engine.text.units import WHOLE_UP_TO, Unit, holds_half, message_of
from langchain_context_engine.text.words import query_terms, terms
from langchain_context_engine.text.worth import (
    LEAST_WORDS,
    has_word,
    telling_words,
)

MANY = 20
"""Of fewer records their scores, which are told by the spread over all, tell little of their worth."""

LEAST_OF_CODE = 0.25
"""Of what cannot be split into sentences (code) a smaller part, a signature say, tells nothing."""

NEARLY_BEST = 0.8
"""What scores this share of the best is worth its room though it does not fit whole."""


READ_UP_TO = 12
"""Of what is indexed so many of the best are read; a larger budget reads one more for each further of
`TOKENS_EACH`. What comes later shares words with the question, and hardly ever answers it."""

TOKENS_EACH = 100

THIN = 10
"""A commit with fewer telling words says what was done, not why."""

MORE_OF_THIN = 1.4
"""So much more than others it must be worth to whom asks for reasons."""


def not_worth_reading(
    items: Sequence[Ranked],
    query: str,
    least: float,
    limit: int,
    units: Sequence[Sequence[Unit]],
    *,
    edition: int = EDITION,
) -> dict[int, dict[str, float]]:
    """Return item → what it lacks and the least of it, of those that are not packed though there be room.

    Args:
        items: Ranked, best first.
        query: The question.
        least: The least worth, 0–1; at 0 nothing is left out for being worth little, or coming late.
        limit: Tokens that the text may have.
        units: The units of each item.
        edition: Of the rules, see `ranking/editions.py`.
    """
    little = {**of_little_worth(items, least), **saying_little(items, query, edition=edition)}
    if edition < ASIDES or not least or len(items) < MANY:
        return little
    little = {**thin_commits(items, query, least, edition), **little}
    sizes = [0 if i in little else sum(unit.size for unit in own) for i, own in enumerate(units)]
    return {**coming_late(items, limit, sizes), **little}


def coming_late(items: Sequence[Ranked], limit: int, sizes: Sequence[int]) -> dict[int, dict[str, float]]:
    """Return item → its rank among what is indexed, and the last that is read; the newest have another bound.

    What fills the budget whole is read however small its records are.

    Args:
        items: Ranked, best first.
        limit: Tokens that the text may have.
        sizes: Tokens of each item that is worth reading, else 0.
    """
    most = max(READ_UP_TO, limit // TOKENS_EACH)
    late: dict[int, dict[str, float]] = {}
    rank = filled = 0
    for i, (item, size) in enumerate(zip(items, sizes, strict=True)):
        if not _is_bounded(item):
            continue
        rank += 1
        if rank > most and filled >= limit and not item.contributions.get("latest"):
            late[i] = {"rank": rank, "most": most}
        filled += size
    return late


def thin_commits(
    items: Sequence[Ranked], query: str, least: float, edition: int = EDITION
) -> dict[int, dict[str, float]]:
    """Return item → its worth and the least of commits without a reason, where reasons are asked for.

    Args:
        items: Ranked, best first.
        query: The question.
        least: The least worth of others, 0–1.
        edition: Of the rules, see `ranking/editions.py`.
    """
    best = max((item.score for item in items if not item.candidate.is_pinned), default=0.0)
    if best <= 0 or not aims_of(query, edition).history:
        return {}
    bound = min(1.0, MORE_OF_THIN * least)
    return {
        i: {"worth": item.score / best, "least": bound}
        for i, item in enumerate(items)
        if item.candidate.kind == "commit"
        and item.score < bound * best
        and _is_bounded(item)
        and not item.contributions.get("latest")
        and telling_words(message_of(item.candidate.text), False) < THIN
    }


def _is_bounded(item: Ranked) -> bool:
    return not item.candidate.is_pinned and is_indexed(item.candidate)


def of_little_worth(items: Sequence[Ranked], least: float) -> dict[int, dict[str, float]]:
    """Return item → its worth and the least of those that hardly answer beside the best.

    The worth is an item's score as a share of the best: among few, where hardly anything is known of how
    good a score is, there is no bound. Only what is indexed from files or a history is
    left out: there is always more of it, and it is there whether anybody asks or not. What stands for
    itself, as a memory or a message does, and what is pinned, is not.

    Args:
        items: Ranked, best first.
        least: The least worth, 0–1.
    """
    best = max((item.score for item in items if not item.candidate.is_pinned), default=0.0)
    if not least or best <= 0 or len(items) < MANY:
        return {}
    return {
        i: {"worth": item.score / best, "least": least}
        for i, item in enumerate(items)
        if item.score < least * best and _is_bounded(item)
    }


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


def saying_little(
    items: Sequence[Ranked], query: str, *, edition: int = EDITION
) -> dict[int, dict[str, float]]:
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
        told = telling_words(candidate.text, is_read(candidate, edition))
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
    if packing.edition < WHOLE or not packing.k:
        return {}
    best = enumerate(units[: packing.k])
    return {item: limit // packing.k for item, own in best if not any(map(says_enough, own))}
