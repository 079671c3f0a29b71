"""Texts as HTML with marks: what a question asks for, what differs, what was cut. Pure.

Every text is escaped here, and nowhere else does a text of a record become HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from langchain_context_engine.text.differences import Difference
from langchain_context_engine.text.matches import match_spans

_LONGEST_STRUCK, _ENDS = 240, 80


def pieces(text: str, terms: Sequence[str]) -> list[tuple[str, bool]]:
    """Return a text in pieces, each with whether it is a word that the question asks for."""
    found, at = [], 0
    for start, stop in match_spans(text, terms):
        found += [(text[at:start], False), (text[start:stop], True)]
        at = stop
    return [piece for piece in (*found, (text[at:], False)) if piece[0]]


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


def sides(found: Sequence[Difference]) -> tuple[str, str]:
    """Return both sides of what differs as HTML, coloured and underlined; what is left out is told."""
    left, right = [], []
    for difference in found:
        if difference.skipped:
            told = f"<i>… {difference.skipped:,} equal characters …</i>"
            left.append(told)
            right.append(told)
        left.append(_side(difference.left, "del"))
        right.append(_side(difference.right, "ins"))
    return "<br>".join(left), "<br>".join(right)


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
    if len(text) <= _LONGEST_STRUCK:
        return f"<del>{escape(text)}</del>"
    middle = escape(text[_ENDS:-_ENDS])
    told = f"… {len(text) - 2 * _ENDS:,} characters more that do not stand in the text …"
    opened = f"<details><summary>{told}</summary><del>{middle}</del></details>"
    return f"<del>{escape(text[:_ENDS])}</del>{opened}<del>{escape(text[-_ENDS:])}</del>"


def _side(parts: Sequence[tuple[str, bool]], mark: str) -> str:
    return "".join(_marked(text, f"u class=ce-{mark}" if differs else "") for text, differs in parts)


def _marked(text: str, mark: str) -> str:
    return f"<{mark}>{escape(text)}</{mark.partition(' ')[0]}>" if mark else escape(text)
