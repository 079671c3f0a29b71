"""Texts taken apart, and as HTML with marks: passages, repeats, cuts, what a question asks for. Pure.

Every text is escaped here, and nowhere else does a text of a record become HTML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from rapidfuzz.distance import Indel

from inspector.palette import ROOM, fell_for
from inspector.wording import sentence
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.types import Key, Passage
from langchain_context_engine.ranking.identity import DEDUPE_RULES
from langchain_context_engine.text.matches import match_spans
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import Names

LONGEST = 20_000
"""Characters of each of two texts that are compared: it takes some hundredths of a second."""

_IN_A_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W_a-zA-Z]+")
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_AROUND, _LONGEST_EQUAL = 16, 80
"""Words and spaces that are shown around what differs, and characters of what is equal that are."""

ALIKE = 100
"""Of a similarity: nothing differs that is compared."""

_LONGEST_STRUCK, _MOST_LINES, _ENDS = 160, 3, 60
_FIRST_WORDS = re.compile(rf".{{0,{_ENDS}}}(?!\S)")
_LAST_WORDS = re.compile(rf"(?<!\S).{{0,{_ENDS}}}\Z")


def pieces(text: str, terms: Sequence[str]) -> list[tuple[str, bool]]:
    """Return a text in pieces, each with whether it is a word that the question asks for."""
    found, at = [], 0
    for start, stop in _matched(text, terms):
        found += [(text[at:start], False), (text[start:stop], True)]
        at = stop
    return [piece for piece in (*found, (text[at:], False)) if piece[0]]


def _matched(text: str, terms: Sequence[str]) -> list[tuple[int, int]]:
    """Return where words match; of a name of several words, `HelpFormatter.write_usage`, those that do."""
    spans = []
    for start, stop in match_spans(text, terms):
        words = [word.span() for word in _IN_A_NAME.finditer(text, start, stop)]
        own = [(a, b) for a, b in words if match_spans(text[a:b], terms)] if len(words) > 1 else []
        spans += own or [(start, stop)]
    return spans


def asked(text: str, terms: Sequence[str]) -> str:
    """Return a text as HTML, the question's words marked."""
    return "".join(_marked(piece, "mark" if is_asked else "") for piece, is_asked in pieces(text, terms))


def beginning(text: str, terms: Sequence[str], longest: int = 50_000) -> str:
    """Return a text as `asked` does; of a very long one its beginning, and how much more there is."""
    more = len(text) - longest
    told = f"<i>… {more:,} characters more …</i>" if more > 0 else ""
    return asked(text[:longest], terms) + told


def cut(parts: Iterable[tuple[str, bool]], terms: Sequence[str]) -> str:
    """Return an original as HTML: what stands in the text as it is, what does not struck out."""
    return "".join(
        f"<span>{asked(text, terms)}</span>" if is_kept else _struck(text) for text, is_kept in parts
    )


def sides(first: str, second: str, *, folds: bool = True) -> tuple[str, str]:
    """Return two texts as HTML, what differs coloured and underlined; what is equal far from it is folded."""
    if first == second:
        return ("<i>the same to the letter</i>",) * 2
    a, b = (_WORDS.findall(text[:LONGEST]) for text in (first, second))
    steps, left, right = Indel.opcodes(a, b), "", ""
    for number, step in enumerate(steps):
        words, others = a[step.src_start : step.src_end], b[step.dest_start : step.dest_end]
        if step.tag == "equal":
            before, after = _AROUND * (number > 0), _AROUND * (number + 1 < len(steps))
            last = max(before, len(words) - after)
            middle = "".join(words[before:last])
            if folds and len(middle) > _LONGEST_EQUAL:
                middle = f"\n… {len(middle):,} equal characters …\n"
            told = escape(middle.join(("".join(words[:before]), "".join(words[last:]))))
            left, right = left + told, right + told
        else:
            left += _marked("".join(words), "u class=ce-del") if words else ""
            right += _marked("".join(others), "u class=ce-ins") if others else ""
    return left.strip("\n"), right.strip("\n")


def pairs(told: Mapping[str, object]) -> str:
    """Return names and their values as a table, each value as it is."""
    cells = "".join(
        f"<tr><td>{escape(str(name))}</td><td>{escape(str(value))}</td></tr>" for name, value in told.items()
    )
    return f'<table class="ce-groups ce-pairs">{cells}</table>'


def box(html: str, name: str = "", height: int | None = None) -> str:
    """Return HTML of this module in a box that keeps lines and wraps them, and scrolls beyond a height."""
    style = f' style="max-height:{height}px"' if height else ""
    return f'<div class="ce-text {escape(name)}" tabindex="0"{style}>{html}</div>'


def _struck(text: str) -> str:
    """Return what does not stand in the text; the middle of what is long is folded."""
    body = text.strip("\n")
    lead, tail = text[: len(text) - len(text.lstrip("\n"))], text[len(text.rstrip("\n")) :] or "\n"
    words = _FIRST_WORDS.match(body), _LAST_WORDS.search(body, max(0, len(body) - _ENDS))
    ends = words[0][0] if words[0] else body[:_ENDS], words[1][0] if words[1] else body[-_ENDS:]
    folded = body[len(ends[0]) : -len(ends[1]) or None]
    if len(folded) <= _ENDS or (len(text) <= _LONGEST_STRUCK and text.count("\n") <= _MOST_LINES):
        return f"<del>{escape(text)}</del>"
    told = f"… {len(folded):,} characters more that do not stand in the text …"
    opened = f"<details><summary>{told}</summary><del>{escape(folded.strip())}</del></details>"
    return f"{lead}<del>{escape(ends[0])}</del>{opened}<del>{escape(ends[1])}</del>{tail}"


def _marked(text: str, mark: str) -> str:
    return f"<{mark}>{escape(text)}</{mark.partition(' ')[0]}>" if mark else escape(text)


class Piece(NamedTuple):
    """A part of the final text: a passage with all that stands around it, or what stands before the first."""

    text: str
    key: Key | None = None
    citation: str = ""


def passages_of_text(context: Context) -> list[Piece]:
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


def how_joined(context: Context, key: Key) -> str:
    """Return in a sentence how alike a duplicate is to what stands for it, and from where on it counts."""
    decision = context.final_decisions()[key]
    details, how = decision.details, Names(context).how_alike(decision)
    rules = [name for name, rule in DEDUPE_RULES.items() if repr(rule) == details.get("rule")]
    what = ", ".join(rules).replace("_", " ").replace("of symbol", "of one symbol") or "two texts"
    if not how:
        return sentence(f"{what} count as one") if rules else ""
    if "threshold" in details and details.get("similarity") != ALIKE:
        how += f"; from {details['threshold']:g} % on {what} count as one"
    if decision.stage == "pack" and "duplicate_of" not in details:
        how += "; compared was what would stand, in part or whole, and marked below are the whole texts"
    return sentence(how)


def cut_pieces(passage: Passage) -> list[tuple[str, bool]]:
    """Return the original in pieces, each with whether it stands in the text, to the character.

    A rewritten passage has no pieces: none of the original stands there.
    """
    original = passage.ranked.candidate.text
    if not passage.is_truncated:
        return [(original, True)]
    found, at = [], 0
    for start, end in passage.spans:
        found += [(original[at:start], False), (original[start:end], True)]
        at = end
    return [piece for piece in (*found, (original[at:], False)) if piece[0]]


def cut_tokens(context: Context, passage: Passage) -> tuple[int, int] | None:
    """Return how many tokens of how many of the original a passage shows.

    None where the tokenizer was given as a function, which a trace cannot hold.
    """
    count = _counter(context)
    return count and (count(passage.text), count(passage.ranked.candidate.text))


def whole_tokens(context: Context) -> dict[Key, int]:
    """Return the tokens of the whole of what stands in part, or of which a part lacked room.

    What stands is counted with its marker and place, as in the text; what lacked room, its text alone.
    """
    count, final = _counter(context), context.final_decisions()
    texts = {one.key: one.text for one in context.candidates}
    costs = {key: one.details.get("needed") for key, one in final.items() if fell_for(one) in ROOM}
    known = {key: cost for key, cost in costs.items() if count and isinstance(cost, int) and key in texts}
    wholes = {key: count(texts[key]) for key in known} if count else {}
    stand = {
        passage.key: passage.tokens - count(passage.text) + count(passage.ranked.candidate.text)
        for passage in context.passages
        if count and passage.is_truncated
    }
    return {key: whole for key, whole in wholes.items() if whole > known[key]} | stand


def _counter(context: Context) -> Callable[[str], int] | None:
    try:
        return resolve_tokenizer(context.settings.get("tokenizer") or "auto")
    except ConfigError:
        return None
