"""What stands in square brackets of any script: the numbers of a list of citations, and its other members."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langchain_context_engine.text.memo import remember

__all__ = [
    "BRACKETS",
    "in_brackets",
    "members",
    "number_spans",
    "opens_bracket",
    "spans_of",
    "with_our_signs",
]

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
_UNSEEN = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]")
_LABEL = re.compile(
    r"(?:sources?|citations?|cite[sd]?|refs?\.?|references?|quellen?|fuentes?|fontes?|bronn?en?|источники?|出典|来源"
    r"|來源|引用|출처)(?:\s++[:：]?+\s*+|[:：]\s*+|(?<=[^\x00-\x7f])(?=\d))",
    re.IGNORECASE,
)
_NOTE = re.compile(r"\^(?=\d)|(?<=\d)(?::\d{1,9})?†[^,;†]*")
_NUMBERS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_WIDEST_RANGE = 100  # what is wider is no list of citations


def opens_bracket(text: str) -> bool:
    """Return whether a bracket of any script is opened in a text: else nothing in it looks like a marker."""
    return _OPENS.search(text) is not None


def with_our_signs(text: str, is_wide: bool = True) -> str:
    """Return a text with our brackets in place of those of other scripts, place for place."""
    return text.translate(_MORE_SIGNS if is_wide else _OTHER_SIGNS)


@remember(2**23)
def in_brackets(text: str, is_wide: bool = True) -> frozenset[str]:
    """Return what stands in innermost square brackets; kept, since pack measures a text many times."""
    text = with_our_signs(text, is_wide)
    return frozenset(BRACKETS.findall(text)) if "[" in text else frozenset()


@remember(2**23)
def number_spans(text: str, is_wide: bool = True) -> frozenset[tuple[int, int]]:
    """Return the numbers that a text has in brackets, as (first, last) each."""
    return frozenset(span for inner in in_brackets(text, is_wide) for span in spans_of(inner, is_wide))


def spans_of(inner: str, is_wide: bool = True) -> Iterator[tuple[int, int]]:
    """Return the numbers of a bracket as (first, last) each; none unless it holds nothing but numbers.

    Args:
        inner: What stands in the bracket.
        is_wide: Footnotes (`^1`), labels (`Sources: 1`), words for a range and for a choice are read too.

    Example:
        >>> list(spans_of("^1, 3–5")), list(spans_of("Sources: 1 to 3")), list(spans_of("page 2"))
        ([(1, 1), (3, 5)], [(1, 3)], [])
    """
    if is_wide and not inner.isdigit():
        inner = _UNSEEN.sub("", inner).strip()
        label = _LABEL.match(inner)
        inner = _NOTE.sub("", inner[label.end() :] if label else inner).strip("*_\\ ")
    parts = [_NUMBERS.fullmatch(part) for part in members(inner, is_wide)]
    for part in parts if all(parts) else ():
        if part is not None:
            first, last = int(part[1]), int(part[2] or part[1])
            if first <= last <= first + _WIDEST_RANGE:
                yield first, last


def members(inner: str, is_wide: bool = True) -> list[str]:
    """Return the members of a list in a bracket."""
    dash, between = (_UP_TO, _OR_BETWEEN) if is_wide else (_DASH, _BETWEEN)
    return [part for part in between.split(dash.sub("-", inner.strip())) if part]
