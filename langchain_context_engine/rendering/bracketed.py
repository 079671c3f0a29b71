"""What stands in square brackets of any script: the numbers of a list of citations, and its other members."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langchain_context_engine.text.memo import remember

__all__ = [
    "BRACKETS",
    "WIDEST",
    "in_brackets",
    "members",
    "number_spans",
    "opens_bracket",
    "ranges_across",
    "spans_of",
    "with_our_signs",
]

WIDEST = 2
"""How much is read: 0, numbers; 1, also footnotes (`^1`), labels (`Sources: 1`), words for a range and for a
choice; 2, also what names a passage (`doc 1`), raised numbers, ranges from one bracket to another."""

BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_OTHER_SIGNS = str.maketrans("［］【】〔〕〖〗", "[][][][]")
_MORE_SIGNS = str.maketrans("［］【】〔〕〖〗⟦⟧〚〛❲❳⦋⦌﹝﹞", "[][][][][][][][][]")
"""Brackets of other scripts and keyboards, each as wide as ours, so that places stay the same."""

_OPENS = re.compile(r"[\[［【〔〖⟦〚❲⦋﹝]")
_DASH = re.compile(r"(?<=\d)\s*[-‐‑‒–—−－~～〜]\s*(?=\d)")
_UP_TO = re.compile(
    r"(?<=\d)\s*(?:[-‐‑‒–—−－﹣~～〜∼…‥]|\.{2,3}|\b(?:to|through|bis|à|hasta|tot|до|till)\b|[至到]|から)\s*(?=\d)"
)
_BETWEEN = re.compile(
    r"[\s,;&+、，；､،؛·・＆]+(?:(?:and|und|et|y|e|i|och|og|en|и)\s+)?|(?<=\d)\s*[和与及跟と및]\s*(?=\d)"
)
_OR_BETWEEN = re.compile(
    r"[\s,;&+、，；､،؛·・＆﹐﹑‚]+(?:(?:and|und|et|y|e|i|och|og|en|и|or|oder|ou|o|of|ve|va|та|або|или|lub|eller|und/oder"
    r"|and/or)\s+|及び|または|又は|以及|[和与及跟と및或や])?"
    r"|(?<=\d)\s*(?:及び|または|又は|또는|以及|[和与及跟と및或や과와])\s*(?=\d)"
)
_SPACE = "[ \u00a0\u2009\u202f]"
_ACROSS = re.compile(
    rf"\[\s?\^?(\d{{1,9}})\s?\](?:{_SPACE}?(?:[-‐‑‒–—−－﹣~～〜∼…‥至到]|\.{{2,3}}|から){_SPACE}?"
    rf"|{_SPACE}(?:to|through|bis|à|hasta|tot|до|till){_SPACE})(?=\[\s?\^?(\d{{1,9}})\s?\])"
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻①②③④⑤⑥⑦⑧⑨", "0123456789-123456789")
_UNSEEN = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]")
_LABEL = re.compile(
    r"(?:sources?|citations?|cite[sd]?|refs?\.?|references?|quellen?|fuentes?|fontes?|bronn?en?|источники?|出典|来源"
    r"|來源|引用|출처)(?:\s++[:：]?+\s*+|[:：]\s*+|(?<=[^\x00-\x7f])(?=\d))",
    re.IGNORECASE,
)
_PASSAGE = re.compile(
    r"(?:docs?|documents?|passages?|chunks?|excerpts?|snippets?|contexts?|results?|footnotes?|fn|nos?|nr)"
    r"(?:\.|\b)\s{0,3}+[:#]?\s{0,3}+(?=\^?\d)",
    re.IGNORECASE,
)
_NOTE = re.compile(r"\^(?=\d)|(?<=\d)(?::\d{1,9})?†[^,;†]*")
_NUMBERS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_WIDEST_RANGE = 100  # what is wider is no list of citations


def opens_bracket(text: str) -> bool:
    """Return whether a bracket of any script is opened in a text: else nothing in it looks like a marker."""
    return _OPENS.search(text) is not None


def with_our_signs(text: str, width: int = WIDEST) -> str:
    """Return a text with our brackets in place of those of other scripts, place for place."""
    return text.translate(_MORE_SIGNS if width else _OTHER_SIGNS)


@remember(2**23)
def in_brackets(text: str, width: int = WIDEST) -> frozenset[str]:
    """Return what stands in innermost square brackets; kept, since pack measures a text many times."""
    text = with_our_signs(text, width)
    return frozenset(BRACKETS.findall(text)) if "[" in text else frozenset()


@remember(2**23)
def number_spans(text: str, width: int = WIDEST) -> frozenset[tuple[int, int]]:
    """Return the numbers that a text has in brackets, as (first, last) each."""
    spans = {span for inner in in_brackets(text, width) for span in spans_of(inner, width)}
    if width > 1:
        spans |= {span for _, span in ranges_across(with_our_signs(text))}
    return frozenset(spans)


def ranges_across(text: str) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield where a range from one bracket to another begins and its (first, last): `[1]–[3]`, `[1] to [3]`.

    Args:
        text: Already with our signs.
    """
    for found in _ACROSS.finditer(text):
        first, last = int(found[1]), int(found[2])
        if first <= last <= first + _WIDEST_RANGE:
            yield found.start(), (first, last)


def spans_of(inner: str, width: int = WIDEST) -> Iterator[tuple[int, int]]:
    """Return the numbers of a bracket as (first, last) each; none unless it holds nothing but numbers.

    Args:
        inner: What stands in the bracket.
        width: How much is read, see `WIDEST`.

    Example:
        >>> list(spans_of("^1, 3–5")), list(spans_of("Sources: 1 to 3")), list(spans_of("page 2"))
        ([(1, 1), (3, 5)], [(1, 3)], [])
    """
    inner = inner.translate(_RAISED) if width > 1 else inner
    if width and not inner.isdigit():
        inner = _UNSEEN.sub("", inner).strip()
        label = _LABEL.match(inner) or (_PASSAGE.match(inner) if width > 1 else None)
        inner = _NOTE.sub("", inner[label.end() :] if label else inner).strip("*_\\ ")
        inner = inner.strip("^.") if width > 1 else inner
    parts = [_NUMBERS.fullmatch(part) for part in members(inner, width)]
    for part in parts if all(parts) else ():
        if part is not None:
            first, last = int(part[1]), int(part[2] or part[1])
            if first <= last <= first + _WIDEST_RANGE:
                yield first, last


def members(inner: str, width: int = WIDEST) -> list[str]:
    """Return the members of a list in a bracket."""
    dash, between = (_UP_TO, _OR_BETWEEN) if width else (_DASH, _BETWEEN)
    return [part for part in between.split(dash.sub("-", inner.strip())) if part]
