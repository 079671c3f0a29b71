"""Citation markers: how passages are numbered, and which of them an answer used.

Every marker is unique in its context and occurs in no text that it could be confused with: one that
would is replaced by another, so that no record can forge a citation.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from langchain_context_engine.models.types import Key, Passage
from langchain_context_engine.rendering.bracketed import (
    BRACKETS,
    WIDEST,
    in_brackets,
    members,
    number_spans,
    opens_bracket,
    ranges_across,
    spans_of,
    with_our_signs,
)
from langchain_context_engine.rendering.templates.values import title_of

__all__ = [
    "CITATION_STYLES",
    "Citation",
    "chosen_markers",
    "excerpt",
    "key_markers",
    "mark_used",
    "number_markers",
    "opens_bracket",
    "used_citations",
]

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_PLAIN_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_JOINER = "\u200d"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_HASH_LENGTH = 6
_LONGEST_HASH = 24


def number_markers(texts: Sequence[str], *, avoid: Iterable[str] = (), width: int = WIDEST) -> list[str]:
    """Return one marker for each text: `[1]`, `[2]`, … in order, without those that stand in any text.

    A number counts as standing there in a group too: `[3, 4]` or `[3-5]`.

    Args:
        texts: The texts that get a marker.
        avoid: Further texts in which no marker may stand.
        width: See `bracketed.spans_of`.

    Example:
        >>> number_markers(["as shown in [2]", "b", "c"])
        ['[1]', '[3]', '[4]']
    """
    taken = {span for text in itertools.chain(texts, avoid) for span in number_spans(text, width)}
    numbers: list[int] = []
    number = 1
    for first, last in sorted(taken):
        numbers += range(number, min(first, number + len(texts) - len(numbers)))
        number = max(number, last + 1)
    numbers += range(number, number + len(texts) - len(numbers))
    return [f"[{n}]" for n in numbers]


def key_markers(
    items: Sequence[tuple[str, Key]], *, avoid: Iterable[str] = (), width: int = WIDEST
) -> list[str]:
    """Return one marker for each item, made of its kind and its key: `[fil-1a2b3c]`.

    The same item has the same marker in every context, but where it would equal another one or
    stand in a text: then it is longer.

    Args:
        items: (kind, key) of each.
        avoid: Texts in which no marker may stand.
        width: See `bracketed.spans_of`.

    Example:
        >>> key_markers([("file", ("docs", "a.md")), ("message", ("chat", "7"))])
        ['[fil-59qeqo]', '[mes-2unz0z]']
    """
    taken = {inner for text in avoid for inner in in_brackets(text, width)}
    seen: dict[tuple[str, Key], int] = {}
    names = []
    for item in items:
        seen[item] = seen.get(item, -1) + 1
        names.append(_hashes(*item, salt=seen[item]))
    lengths = [_HASH_LENGTH] * len(items)
    while True:
        current = [f"{prefix}-{digits[:n]}" for (prefix, digits), n in zip(names, lengths, strict=True)]
        times = Counter(current)
        clashing = [i for i, name in enumerate(current) if name in taken or times[name] > 1]
        if not clashing:
            return [f"[{name}]" for name in current]
        for i in clashing:
            lengths[i] += 1
            if lengths[i] > _LONGEST_HASH:
                seen[items[i]] += 1
                names[i], lengths[i] = _hashes(*items[i], salt=seen[items[i]]), _HASH_LENGTH


@lru_cache(maxsize=4096)
def _hashes(kind: str, key: Key, salt: int) -> tuple[str, str]:
    """Return a kind's first three letters, and a key's hash in base 36."""
    prefix = "".join(c for c in kind.lower() if "a" <= c <= "z")[:3] or "src"
    # The length first, so that no two keys are joined to the same text.
    joined = f"{salt}:{len(key[0])}:{key[0]}{key[1]}"
    number = int.from_bytes(hashlib.blake2b(joined.encode(errors="replace"), digest_size=20).digest())
    digits = []
    for _ in range(_LONGEST_HASH):
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return prefix, "".join(digits)


def _shown(passages: Sequence[Passage], width: int) -> list[str]:
    """Return the texts beside which markers may stand: what is left of one, before edition 7 all of it."""
    candidates = [passage.ranked.candidate for passage in passages]
    return [
        *(c.text for c in candidates if width < WIDEST),
        *(p.text for p in passages),
        *(
            name
            for c in candidates
            for name in (title_of(c), c.place, c.id, c.source, c.origin, c.kind)
            if opens_bracket(name)
        ),
    ]


def _numbered(passages: Sequence[Passage], avoid: Iterable[str], width: int) -> list[str]:
    texts = [p.text for p in passages]
    return number_markers(texts, avoid=(*_shown(passages, width), *avoid), width=width)


def _keyed(passages: Sequence[Passage], avoid: Iterable[str], width: int) -> list[str]:
    items = [(p.ranked.candidate.kind or p.ranked.candidate.origin, p.key) for p in passages]
    return key_markers(items, avoid=(*_shown(passages, width), *avoid), width=width)


@dataclass(frozen=True, slots=True)
class CitationStyle:
    """Gives passages, in text order, their markers.

    Attributes:
        mark: Makes them, without those that stand in some further texts.
        avoid: Those texts: what a template itself says, and the question where it is written.
        width: See `bracketed.spans_of`; not so for traces of before.
    """

    mark: Callable[[Sequence[Passage], Iterable[str], int], list[str]]
    avoid: tuple[str, ...] = ()
    width: int = WIDEST

    def __call__(self, passages: Sequence[Passage]) -> list[str]:
        """Return one marker for each passage."""
        return self.mark(passages, self.avoid, self.width)


CITATION_STYLES: Mapping[str, Callable[[Sequence[Passage]], Sequence[str]]] = {
    "number": CitationStyle(_numbered),
    "key": CitationStyle(_keyed),
}
"""How passages, given in text order, get their markers: `[1]`, or `[fil-1a2b3c]`."""


def used_citations(answer: str, markers: Iterable[str]) -> tuple[str, ...]:
    """Return the markers that an answer used, each once, in the order of first use.

    Groups are read (`[1, 2]`, `[1][2]`, `[1-3]`, `[1]–[3]`), in any script's signs (`［1］`, `【1、2】`),
    footnotes (`[^1]`) and what is labelled (`[Sources: 1, 2]`, `[doc 1]`) too. A number within code is an
    index, not a citation, and one in round brackets may count anything.

    Args:
        answer: What the model wrote.
        markers: The markers of the context, for example `context.citations`.

    Example:
        >>> used_citations("It moved [2], as agreed [1, 3].", ["[1]", "[2]", "[3]", "[4]"])
        ('[2]', '[1]', '[3]')
    """
    names = {m[1:-1] if BRACKETS.fullmatch(m) else m: m for m in markers if m}
    numbers = {int(name): m for name, m in names.items() if _PLAIN_NUMBER.fullmatch(name)}
    others = {name: m for name, m in names.items() if m not in numbers.values()}
    answer = with_our_signs(answer)
    found = [(answer.find(m), m) for name, m in others.items() if name == m and m in answer]
    for group in BRACKETS.finditer(answer):
        found += [(group.start(), others[n]) for n in (group[1].strip(), *members(group[1])) if n in others]
    prose = _CODE.sub(lambda code: " " * len(code[0]), answer)
    spans = [(group.start(), span) for group in BRACKETS.finditer(prose) for span in spans_of(group[1])]
    for place, (first, last) in (*spans, *ranges_across(prose)):
        found += [(place, numbers[n]) for n in range(first, last + 1) if n in numbers]
    return tuple(dict.fromkeys(m for _, m in sorted(found, key=lambda pair: pair[0])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """One source of a context, as shown to a person.

    Attributes:
        marker: What stands in the text.
        key: (source, id).
        source: Its title or path, else where it comes from.
        kind: What it is.
        path: Its path, or "".
        place: Where it stands (`a.py:3-9 · Tea.brew`), or "".
        excerpt: What the context shows of it, on one line.
        relevance: What it was sorted by, 0–1.
        is_used: The answer used it.
    """

    marker: str
    key: Key
    source: str
    kind: str = ""
    path: str = ""
    place: str = ""
    excerpt: str = ""
    relevance: float = 0.0
    is_used: bool = False


def mark_used(citations: Iterable[Citation], used: Iterable[str] | str) -> tuple[Citation, ...]:
    """Return the citations with `is_used` set for the used ones; those marked before stay so.

    Args:
        citations: From `list_citations`.
        used: Markers, or the answer itself.
    """
    citations = tuple(citations)
    chosen = chosen_markers(used, [citation.marker for citation in citations])
    return tuple(replace(c, is_used=True) if c.marker in chosen else c for c in citations)


def chosen_markers(used: Iterable[str] | str, markers: Sequence[str]) -> frozenset[str]:
    """Return the markers that were used: those given, or those that an answer cites."""
    return frozenset(used_citations(used, markers) if isinstance(used, str) else used)


def excerpt(text: str, length: int = 50) -> str:
    """Return the first characters of a text on one line, no character that people see as one split.

    Example:
        >>> excerpt("one  two three", 7)
        'one two'
    """
    line = " ".join(text.split())
    end = min(length, len(line))
    while 0 < end < len(line) and (_joins(line[end]) or line[end - 1] == _JOINER):
        end -= 1
    return line[:end]


def _joins(character: str) -> bool:
    """Return whether a character belongs to the one before it: accents, selectors, skin tones."""
    return character == _JOINER or unicodedata.category(character) in {"Mn", "Mc", "Me", "Sk"}
