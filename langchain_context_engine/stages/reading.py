"""What is worth reading: which records say something by themselves, and how much a part must tell."""

from __future__ import annotations

from collections.abc import Container, Sequence
from collections.abc import Set as AbstractSet

from langchain_context_engine.ranking.aims import aims_of
from langchain_context_engine.ranking.editions import ASIDES, EDITION
from langchain_context_engine.text.units import WHOLE_UP_TO, Unit, holds_half, message_of
from langchain_context_engine.text.words import query_terms, terms
from langchain_context_engine.text.worth import (
    LEAST_ASIDE,
    LEAST_WORDS,
    figures,
    has_word,
    is_appendix,
    is_ornament,
    telling_words,
)
from langchain_context_engine.values.types import Candidate, Ranked

MANY = 20
"""Of fewer records their scores, which are told by the spread over all, tell little of their worth."""

LEAST_OF_CODE = 0.25
"""Of what cannot be split into sentences (code) a smaller part, a signature say, tells nothing."""

NEARLY_BEST = 0.8
"""What scores this share of the best is worth its room though it does not fit whole."""

LEAST_HELD = 2
"""So many terms of the question hold a row of figures in."""


def is_part(candidate: Candidate) -> bool:
    """Return whether a record is a part of something larger that has a place: of a file, or of a history.

    A turn of a conversation, though it has neighbours, is all that somebody said.
    """
    return bool((candidate.neighbours and candidate.place) or candidate.metadata.get("sha"))


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
    little = {**of_little_worth(items, least), **saying_little(items, query)}
    if edition < ASIDES or not least or len(items) < MANY:
        return little
    little = {**thin_commits(items, query, least), **little}
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


def thin_commits(items: Sequence[Ranked], query: str, least: float) -> dict[int, dict[str, float]]:
    """Return item → its worth and the least of commits without a reason, where reasons are asked for.

    Args:
        items: Ranked, best first.
        query: The question.
        least: The least worth of others, 0–1.
    """
    best = max((item.score for item in items if not item.candidate.is_pinned), default=0.0)
    if best <= 0 or not aims_of(query).history:
        return {}
    bound = min(1.0, MORE_OF_THIN * least)
    return {
        i: {"worth": item.score / best, "least": bound}
        for i, item in enumerate(items)
        if item.candidate.kind == "commit"
        and item.score < bound * best
        and _is_bounded(item)
        and not item.contributions.get("latest")
        and telling_words(message_of(item.candidate.text)) < THIN
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


def tells_cut(candidate: Candidate, cut: str, least: float) -> bool:
    """Return whether what a cut leaves of a record says something; what is no part of another always does.

    Args:
        candidate: The record.
        cut: What is left.
        least: The share of the record that it must be, 0–1.
    """
    if not is_part(candidate):
        return True
    return telling_words(cut) >= LEAST_WORDS and len(cut) >= least * len(candidate.text)


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
    return bool(candidate.place or candidate.metadata.get("sha"))


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
        told = telling_words(candidate.text)
        if told < LEAST_WORDS and not (told and holds_half(candidate.text, query)):
            little[i] = {"words": told, "least": LEAST_WORDS}
    return little


def _is_whole_file(candidate: Candidate) -> bool:
    """Return whether a record begins with a file's first line, and is of no heading or symbol in it."""
    metadata = candidate.metadata
    begins = bool(metadata.get("path")) and metadata.get("start_line") == 1
    return begins and not (metadata.get("headings") or metadata.get("symbol"))


def tells(
    candidate: Candidate,
    units: Sequence[Unit],
    unit: Unit,
    chosen: Container[int],
    asked: AbstractSet[str],
) -> bool:
    """Return whether a piece of a longer record says something by itself, or beside what is in of it.

    Args:
        candidate: The record.
        units: All of its pieces.
        unit: The piece. A row tells what it does below its header, which tells nothing without a row.
        chosen: The places of those that are in.
        asked: The terms of the question.
    """
    text = candidate.text[slice(*unit.span)]
    beside = (unit.index - 1 in chosen) + (unit.index + 1 in chosen)
    if beside:
        return beside > 1 or not is_ornament(text)
    if unit.head < 0:
        return tells_alone(candidate, text, asked)
    if not unit.is_head and has_word(text) and not asked.isdisjoint(terms(text)):
        return True
    head = candidate.text[slice(*units[unit.head].span)]
    return not unit.is_head and tells_alone(candidate, f"{head}\n{text}", asked)


def tells_alone(candidate: Candidate, text: str, asked: AbstractSet[str]) -> bool:
    """Return whether a piece of a longer record says something with nothing of it beside.

    Args:
        candidate: The record.
        text: The piece.
        asked: The terms of the question.
    """
    told = telling_words(text)
    if is_appendix(text):
        return False
    if told < LEAST_WORDS:
        # A row of figures says little in words: one that the question speaks of is read all the same.
        held = len(asked & set(terms(text)))
        return held >= LEAST_HELD and told + figures(text) >= LEAST_WORDS
    # A sentence of a document that neither tells much nor speaks of the question only fills the room.
    return told >= LEAST_ASIDE or not is_part(candidate) or not asked.isdisjoint(terms(text))
