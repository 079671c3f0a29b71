"""The final text taken apart: its passages, what repeats them, what was cut. Pure."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.types import Key, Passage
from langchain_context_engine.ranking.identity import DEDUPE_RULES
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import Names, how_alike


class Piece(NamedTuple):
    """A part of the final text: a passage with all that stands around it, or what stands before the first."""

    text: str
    key: Key | None = None
    citation: str = ""


def pieces(context: Context) -> list[Piece]:
    """Return the final text cut where its passages begin; the pieces joined are the text.

    A cut falls at the beginning of a line, unless another passage begins in the same one. A passage that is
    not found in the text as it was packed, nor by its citation, stays with the one before.
    """
    text, at = context.text, 0
    starts: list[tuple[int, Passage | None]] = [(0, None)]
    for passage in context.passages:
        marks = (passage.text, passage.citation)
        places = [place for mark in marks if mark and (place := text.find(mark, at)) >= 0]
        if places:
            line = text.rfind("\n", 0, min(places)) + 1
            starts.append((line if line >= at else min(places), passage))
            at = min(places) + 1
    ends = [*(start for start, _ in starts[1:]), len(text)]
    return [
        Piece(text[start:end], passage.key if passage else None, passage.citation if passage else "")
        for (start, passage), end in zip(starts, ends, strict=True)
        if end > start
    ]


def duplicate_pairs(context: Context) -> list[tuple[Key, Key, str]]:
    """Return what stands for another, that other, and in words how alike they are.

    First those of which one is in the context, then by what stands for most.
    """
    names, final = Names(context), context.final_decisions()
    of = {key: one.repeats for key, one in final.items() if one.repeats is not None}
    many = Counter(of.values())
    found = []
    for key, winner in of.items():
        told, details = how_alike(final[key], context, names), final[key].details
        rules = [
            name.replace("_", " ") for name, rule in DEDUPE_RULES.items() if repr(rule) == details.get("rule")
        ]
        least = f"{details['threshold']:g} % suffice" if "threshold" in details else ""
        found.append((winner, key, ", ".join(filter(None, (told, least, *rules)))))
    kept = {passage.key for passage in context.passages}
    return sorted(found, key=lambda pair: (pair[0] not in kept, -many[pair[0]], pair[:2]))


def cut_pieces(passage: Passage) -> list[tuple[str, bool]]:
    """Return the original in pieces, each with whether it stands in the text, to the character.

    A rewritten passage has no pieces: none of the original stands there.
    """
    original = passage.ranked.candidate.text
    if not passage.is_truncated:
        return [(original, True)]
    pieces, at = [], 0
    for start, end in passage.spans:
        pieces += [(original[at:start], False), (original[start:end], True)]
        at = end
    pieces.append((original[at:], False))
    return [piece for piece in pieces if piece[0]]


def cut_tokens(context: Context, passage: Passage) -> tuple[int, int] | None:
    """Return how many tokens of how many of the original a passage shows.

    None where the tokenizer was given as a function, which a trace cannot hold.
    """
    try:
        count = resolve_tokenizer(context.settings.get("tokenizer") or "auto")
    except ConfigError:
        return None
    return count(passage.text), count(passage.ranked.candidate.text)
