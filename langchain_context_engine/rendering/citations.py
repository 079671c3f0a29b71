"""Citation markers: how passages are numbered, and which of them an answer used.

Every marker is unique in its context and occurs in no text that it could be confused with: one that
would is replaced by another, so that no record can forge a citation.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langchain_context_engine.models.types import Key, Passage
from langchain_context_engine.rendering.templates import title_of
from langchain_context_engine.text.memoize import memoize
from langchain_context_engine.text.truncate import boundary_from

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_SIGNS = str.maketrans("［］【】〔〕〖〗⟦⟧〚〛❲❳⦋⦌﹝﹞", "[][][][][][][][][]")
"""Brackets of other scripts and keyboards, each as wide as ours, so that places stay the same."""

_OPENS = re.compile(r"[\[［【〔〖⟦〚❲⦋﹝]")
_CODE = re.compile(r"(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)|`[^`\n]*`", re.DOTALL)
_PLAIN_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_NUMBER = re.compile(r"\d{1,9}")
_UNSEEN = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]")
_SOURCE_LABEL = re.compile(
    r"(?<![^\W\d_])(?:sources?|citations?|cite[sd]?|refs?|references?|docs?|documents?|passages?|chunks?|excerpts?"
    r"|snippets?|contexts?|results?|footnotes?|fn|nos?|nr|quellen?|fuentes?|fontes?|bronn?en?|источники?|źródł[ao]"
    r"|zdroje?|kaynak|nguồn|المصدر|مصدر|स्रोत|出典|来源|來源|引用|출처)"
    r"(?![^\W\d_])[\s.:#]{0,4}(?=\^?\d)",
    re.IGNORECASE,
)
_FOOTNOTE = re.compile(r"(?<=\d)(?::\d{1,9})?†[^,;†]*")
_RANGES = frozenset(
    {*"-‐‑‒–—−~〜∼…‥至到", "..", "...", "から", "to", "through", "bis", "à", "hasta", "tot", "до", "till"}
)
_LISTING = re.compile(
    "[和与及跟と및或や과와yeiouо]|and|or|und|oder|et|ou|och|en|of|и|или|ve|va|及び|または|又は|또는|以及|eller|lub"
    "|або|та|and/or|und/oder"
)
"""Words between the numbers of a list."""

_COMMAS = " \t\n,;&+、，；､،؛·・＆﹐﹑‚^"
_MEMBERS = re.compile(r"[\s,;&、，；]+")
_WIDEST_RANGE = 100  # what is wider is no list of citations
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_HASH_LENGTH = 6


def opens_bracket(text: str) -> bool:
    """Return whether a bracket of any script is opened in a text: else nothing in it looks like a marker."""
    return _OPENS.search(text) is not None


@memoize(2**23)
def _in_brackets(text: str) -> frozenset[str]:
    """Return what stands in innermost square brackets; kept, since pack measures a text many times."""
    return frozenset(_BRACKETS.findall(text.translate(_SIGNS))) if opens_bracket(text) else frozenset()


@memoize(2**23)
def _number_spans(text: str) -> frozenset[tuple[int, int]]:
    """Return the numbers that a text has in brackets, as (first, last) each."""
    return frozenset(span for _, span in _cited(text)) if opens_bracket(text) else frozenset()


def _cited(text: str) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield where numbers stand in brackets, with (first, last): of `[1, 3–5]`, `[1]–[3]`, `[doc 1]`."""
    text = text.translate(_SIGNS)
    before: tuple[int, int] | None = None
    start = end = 0
    for group in _BRACKETS.finditer(text):
        spans = list(_spans_of(group[1]))
        alone = spans[0] if len(spans) == 1 else None
        between = text[end : group.start()]
        if (
            before
            and alone
            and _is_range(between.strip(" \u00a0\u2009\u202f"))
            and _fits(before[1], alone[0])
        ):
            yield start, (before[1], alone[0])
        yield from ((group.start(), span) for span in spans)
        before, start, end = alone, group.start(), group.end()


def _is_range(between: str) -> bool:
    return unicodedata.normalize("NFKC", between).lower() in _RANGES or between in _RANGES


def _fits(first: int, last: int) -> bool:
    return first <= last <= first + _WIDEST_RANGE


def _spans_of(inner: str) -> Iterator[tuple[int, int]]:
    """Yield the numbers of a bracket as (first, last) each; none unless it holds nothing but numbers."""
    inner = unicodedata.normalize("NFKC", _UNSEEN.sub("", inner)).strip("*_\\ ^")
    inner = _FOOTNOTE.sub("", _SOURCE_LABEL.sub("", inner))
    if inner.startswith("..") or inner.endswith(".."):
        return  # of a program, from there to the end
    inner = inner.strip("^., ")
    numbers = list(_NUMBER.finditer(inner))
    if not numbers or numbers[0].start() or numbers[-1].end() < len(inner):
        return
    spans = [(int(numbers[0][0]),) * 2]
    for one, other in itertools.pairwise(numbers):
        between = inner[one.end() : other.start()]
        number = int(other[0])
        if _is_range(between.strip(" ^")) and spans[-1][0] == spans[-1][1]:
            spans[-1] = (spans[-1][0], number)
        elif between and (not (word := between.strip(_COMMAS).lower()) or _LISTING.fullmatch(word)):
            spans.append((number, number))
        else:
            return
    yield from (span for span in spans if _fits(*span))


def number_markers(passages: Sequence[Passage], avoid: Iterable[str]) -> list[str]:
    """Return a marker for each passage: `[1]`, `[2]`, … without those that stand in a text to avoid.

    A number counts as standing there in a group too: `[3, 4]` or `[3-5]`.
    """
    numbers: list[int] = []
    number = 1
    for first, last in sorted({span for text in avoid for span in _number_spans(text)}):
        numbers += range(number, min(first, number + len(passages) - len(numbers)))
        number = max(number, last + 1)
    numbers += range(number, number + len(passages) - len(numbers))
    return [f"[{n}]" for n in numbers]


def key_markers(passages: Sequence[Passage], avoid: Iterable[str]) -> list[str]:
    """Return a marker for each passage, made of its kind (else its origin) and its key: `[fil-1a2b3c]`.

    The same record has the same marker in every context, but where it would equal another one or stand in a
    text to avoid: then it is made with another salt.
    """
    taken = {inner for text in avoid for inner in _in_brackets(text)}
    markers = []
    for passage in passages:
        candidate = passage.ranked.candidate
        made = (_hashed(candidate.kind or candidate.origin, passage.key, salt) for salt in itertools.count())
        name = next(name for name in made if name not in taken)
        taken.add(name)
        markers.append(f"[{name}]")
    return markers


@lru_cache(maxsize=4096)
def _hashed(kind: str, key: Key, salt: int) -> str:
    """Return a kind's first three letters, and a key's hash in base 36."""
    prefix = "".join(c for c in kind.lower() if "a" <= c <= "z")[:3] or "src"
    # The length first, so that no two keys are joined to the same text.
    joined = f"{salt}:{len(key[0])}:{key[0]}{key[1]}"
    number = int.from_bytes(hashlib.blake2b(joined.encode(errors="replace"), digest_size=20).digest())
    return f"{prefix}-" + "".join(_DIGITS[number // 36**place % 36] for place in range(_HASH_LENGTH))


def shown_beside(passage: Passage) -> tuple[str, ...]:
    """Return the texts of a passage beside which its marker may stand, of those that open a bracket."""
    c = passage.ranked.candidate
    said = (passage.text, title_of(c), c.place, c.id, c.source, c.origin, c.kind)
    return tuple(filter(opens_bracket, said)) if opens_bracket("".join(said)) else ()


Markers = Callable[[Sequence[Passage], Iterable[str]], Sequence[str]]
"""Gives passages, in text order, their markers, none of which stands in some texts."""

CITATION_STYLES: Mapping[str, Markers] = {"number": number_markers, "key": key_markers}
"""The built-in styles by name: `[1]`, or `[fil-1a2b3c]`."""


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
    names = {m[1:-1] if _BRACKETS.fullmatch(m) else m: m for m in markers if m}
    numbers = {int(name): m for name, m in names.items() if _PLAIN_NUMBER.fullmatch(name)}
    others = {name: m for name, m in names.items() if m not in numbers.values()}
    answer = answer.translate(_SIGNS)
    found = [(answer.find(m), m) for name, m in others.items() if name == m and m in answer]
    for group in _BRACKETS.finditer(answer) if others else ():
        members = (group[1].strip(), *_MEMBERS.split(group[1].strip()))
        found += [(group.start(), others[name]) for name in members if name in others]
    prose = _CODE.sub(lambda code: " " * len(code[0]), answer)
    for place, (first, last) in _cited(prose):
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


def excerpt(text: str, length: int = 50) -> str:
    """Return the first characters of a text on one line, no character that people see as one split."""
    line = " ".join(text.split())
    return line[: boundary_from(line, length, -1)]


def list_citations(context: Any) -> tuple[Citation, ...]:
    """Return the citations of a context in text order, none of them marked as used."""
    return tuple(
        Citation(
            marker=passage.citation,
            key=passage.key,
            source=title_of(passage.ranked.candidate) or passage.ranked.candidate.origin,
            kind=passage.ranked.candidate.kind,
            path=str(passage.ranked.candidate.metadata.get("path") or ""),
            place=passage.ranked.candidate.place,
            excerpt=" ".join(passage.text.split()),
            relevance=passage.ranked.score,
        )
        for passage in context.passages
        if passage.citation
    )


def sources_block(citations: Iterable[Citation]) -> str:
    """Return the list of sources to put below an answer; "" where there are none.

    A line for each: marker, source, and the first 50 characters of what was shown.
    """
    lines = [
        f"{c.marker}: {c.source}" + (f" - {excerpt(c.excerpt)}..." if c.excerpt else "") for c in citations
    ]
    return "\n\n---\nSources:\n" + "\n".join(lines) if lines else ""
