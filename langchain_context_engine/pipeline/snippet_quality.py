"""What is worth reading: which records say something by themselves, and how much a part must tell."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from collections.abc import Set as AbstractSet

from langchain_context_engine.models.metadata import has_place
from langchain_context_engine.models.types import Candidate, Ranked
from langchain_context_engine.ranking.intent import signs_of
from langchain_context_engine.ranking.recency import newest_of
from langchain_context_engine.text.analysis import analyse
from langchain_context_engine.text.boilerplate import (
    LEAST_ASIDE,
    LEAST_WORDS,
    figures,
    has_word,
    is_appendix,
    is_ornament,
    only_opens,
    opens_block,
    telling_words,
)
from langchain_context_engine.text.memoize import memoize
from langchain_context_engine.text.units import CODE_KINDS, Unit, holds_half, is_divisible, message_of
from langchain_context_engine.text.words import query_terms, terms

LEAST_HELD = 2
"""So many terms of the question hold a row of figures in."""

_FILE_OR_BRANCH = re.compile(
    r"\bMerge (?:pull request \S+ from|(?:remote-tracking )?branch) \S+|(?<!\S)(?=\S{0,300}\w[/.]\w)\S+"
)
"""What a commit's message names rather than says."""

LEAST_OF_SENTENCE = 0.5
"""Of what is longer than a sentence and has no stop a smaller part breaks off before it has said anything."""

LONGEST_SENTENCE = 400
"""Characters of a first sentence that is read whole or not at all, its heading included."""


def is_part(candidate: Candidate) -> bool:
    """Return whether a record is a part of something larger that has a place: of a file, or of a history.

    A turn of a conversation, though it has neighbours, is all that somebody said.
    """
    return bool((candidate.neighbours and candidate.place) or candidate.metadata.get("sha"))


def tells_cut(candidate: Candidate, cut: str, least: float, rank: int = 0) -> bool:
    """Return whether what a cut leaves of a record says something; of one that is no file's it always does.

    Args:
        candidate: The record.
        cut: What is left.
        least: The share of the record that it must be, 0–1.
        rank: Its place in the ranking; of the best of all, at 0, the beginning of a sentence is read.
    """
    if not (is_part(candidate) or candidate.place):
        return True
    if (rank and breaks_off(candidate, cut)) or only_opens(cut):
        return False
    told = telling_words(cut, is_read(candidate))
    # Of a record that has few words over and over a part tells as much as the whole.
    has_enough = told >= LEAST_WORDS or told == telling_words(candidate.text, is_read(candidate))
    return has_enough and len(cut) >= least * len(candidate.text)


def breaks_off(candidate: Candidate, cut: str) -> bool:
    """Return whether a cut of prose ends within its first sentence: of a very long one, before its half."""
    text = candidate.text
    if not text.startswith(cut) or not is_divisible(text, candidate.kind):
        return False
    start, end = analyse(text, False).spans[0]
    return len(cut) < (end if end - start <= LONGEST_SENTENCE else start + LEAST_OF_SENTENCE * (end - start))


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
        return beside > 1 or not is_ornament(text, is_read(candidate))
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
    told = telling_words(text, is_read(candidate))
    if is_appendix(text):
        return False
    if is_part(candidate) and (opens_block(text) or only_opens(text)):
        return False
    if told < LEAST_WORDS:
        # A row of figures says little in words: one that the question speaks of is read all the same.
        held = len(asked & set(terms(text)))
        return held >= LEAST_HELD and told + figures(text) >= LEAST_WORDS
    # A sentence of a document that neither tells much nor speaks of the question only fills the room.
    return told >= LEAST_ASIDE or not is_part(candidate) or not asked.isdisjoint(terms(text))


def is_read(candidate: Candidate) -> bool:
    """Return whether what a reader but looks at has no words: in code, tags and marks are what is read."""
    return candidate.kind not in CODE_KINDS


def is_indexed(candidate: Candidate) -> bool:
    """Return whether a record was read from a file or a history: it has a place."""
    return bool(candidate.metadata.get("sha")) or has_place(candidate.metadata)


def saying_little(items: Sequence[Ranked], query: str) -> dict[int, dict[str, float]]:
    """Return item → its telling words and the least of those that are not worth reading even whole.

    A part of something larger must tell as much as an extract, unless it holds half of the question, and a
    whole file (a test's input, say, or a heading alone) if it holds nothing of the question; what stands for
    itself, as a memory or a message does, may be as short as a word.
    """
    asked = frozenset(query_terms(query))
    # What changed is answered by a commit that says no more than where.
    is_after_changes = newest_of(query) is not None or "history" in signs_of(query)
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
        is_where = candidate.kind == "commit" and not is_after_changes
        said = _without_names(candidate.text) if is_where else candidate.text
        told = telling_words(said, is_read(candidate))
        has_any = told or telling_words(said, False)
        if told < LEAST_WORDS and not (has_any and holds_half(said, query)):
            little[i] = {"words": told, "least": LEAST_WORDS}
    return little


@memoize(2**22)
def _without_names(text: str) -> str:
    """Return a commit's message without the names of files and branches."""
    return _FILE_OR_BRANCH.sub(" ", message_of(text))


def _is_whole_file(candidate: Candidate) -> bool:
    """Return whether a record begins with a file's first line, and is of no symbol or other heading."""
    metadata = candidate.metadata
    begins = bool(metadata.get("path")) and metadata.get("start_line") == 1
    is_of_heading = bool(metadata.get("headings")) and not only_opens(candidate.text)
    return begins and not (is_of_heading or metadata.get("symbol"))
