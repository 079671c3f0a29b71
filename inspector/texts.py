"""Texts made comparable: duplicates side by side, what was cut, where tokens begin. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_context_engine.answering.context import Context
from langchain_context_engine.answering.explain import final_decisions
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.values.types import Key, Passage, Verdict

__all__ = [
    "Duplicate",
    "Group",
    "Piece",
    "cut_lines",
    "duplicate_groups",
    "mark_difference",
    "pieces",
    "token_view",
]

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_LONGEST_COMPARED = 6000
_BOUNDARY = "│"


@dataclass(frozen=True, slots=True)
class Piece:
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


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A text that was dropped for a better one, how alike they are (0–100), and by which rule."""

    key: Key
    text: str
    similarity: float | None
    rule: str


@dataclass(frozen=True, slots=True)
class Group:
    """The best ranked of texts that say the same, and the others; `is_kept`: it is in the context."""

    key: Key
    text: str
    citation: str
    is_kept: bool
    duplicates: tuple[Duplicate, ...]


def duplicate_groups(context: Context) -> list[Group]:
    """Return the duplicates by what survived them, the largest groups first."""
    texts = {candidate.key: candidate.text for candidate in context.candidates}
    cited = {tuple(key): marker for marker, key in context.citations.items()}
    groups: dict[Key, list[Duplicate]] = {}
    final = final_decisions(context)
    for key, decision in final.items():
        details, winner = decision.details, decision.repeats
        if winner is None:
            continue
        similarity = details.get("similarity")
        groups.setdefault(winner, []).append(
            Duplicate(
                key=key,
                text=texts.get(key, ""),
                similarity=float(similarity) if isinstance(similarity, (int, float)) else None,
                rule=str(details.get("rule") or details.get("how") or ""),
            )
        )
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    kept = {key for key, decision in final.items() if decision.verdict is Verdict.KEPT}
    return [
        Group(key, texts.get(key, ""), cited.get(key, ""), key in kept, tuple(members))
        for key, members in ordered
    ]


def mark_difference(first: str, second: str) -> tuple[str, str]:
    """Return both texts with the words that the other lacks in ⟦brackets⟧.

    Example:
        >>> mark_difference("due on 3 May", "due on 4 May")
        ('due on ⟦3⟧ May', 'due on ⟦4⟧ May')
    """
    a, b = _WORDS.findall(first[:_LONGEST_COMPARED]), _WORDS.findall(second[:_LONGEST_COMPARED])
    left, right = [], []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        mine, other = "".join(a[i:j]), "".join(b[k:m])
        left.append(mine if tag == "equal" else _bracketed(mine))
        right.append(other if tag == "equal" else _bracketed(other))
    return "".join(left), "".join(right)


def _bracketed(text: str) -> str:
    return f"⟦{text}⟧" if text else ""


def cut_lines(passage: Passage) -> str:
    """Return the original with every kept line marked `+` and every cut one `-`, as a difference reads.

    A line is broken where the cut falls inside it, so that the boundary is seen to the character.
    A rewritten passage has no pieces: all of the original is cut, and what was written is kept.
    """
    original = passage.ranked.candidate.text
    if not passage.is_truncated:
        return _prefixed("+", original)
    if not passage.spans:
        return f"{_prefixed('-', original)}\n{_prefixed('+', passage.text)}"
    pieces, at = [], 0
    for start, end in passage.spans:
        pieces += [_prefixed("-", original[at:start]), _prefixed("+", original[start:end])]
        at = end
    pieces.append(_prefixed("-", original[at:]))
    return "\n".join(piece for piece in pieces if piece)


def _prefixed(mark: str, text: str) -> str:
    return "\n".join(f"{mark} {line}" for line in text.splitlines() if line.strip())


def token_view(context: Context, longest: int = 20_000) -> str:
    """Return the text with a bar at every token's beginning.

    Args:
        context: Its settings name the tokenizer.
        longest: Characters that are shown at most.

    Raises:
        ConfigError: The tokenizer was given as a function, or only counts.
    """
    counter = resolve_tokenizer(context.settings.get("tokenizer") or "auto")
    pieces: Sequence[str] = [counter.decode([token]) for token in counter.encode(context.text[:longest])]
    return _BOUNDARY.join(pieces)
