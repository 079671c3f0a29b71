"""Truncators: cut a text to an allowance of tokens, as exact pieces of the original.

A truncator is `(text, allowance, count) -> text`. Its result never costs more than the allowance, for any
counter, even one whose parts cost more than the whole; where nothing fits it is "". It is one contiguous
piece, or such pieces in source order joined by `ELLIPSIS`; no character that people see as one is split.
A Markdown table is cut between rows, and never stands without its header.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, pairwise
from operator import attrgetter

from langchain_context_engine.text.analysis import analyse
from langchain_context_engine.text.boundaries import good_ends, good_starts, line_ends
from langchain_context_engine.text.sentences import is_code
from langchain_context_engine.text.tables import Span, Table, is_rows, tables_of
from langchain_context_engine.text.words import query_terms, terms

__all__ = [
    "BLOCK_ELLIPSIS",
    "ELLIPSIS",
    "TRUNCATORS",
    "Count",
    "Extractive",
    "Span",
    "Truncator",
    "extractive",
    "keep_end",
    "keep_lines",
    "keep_start",
    "keep_whole",
    "locate",
    "merge",
    "pieces",
]

Count = Callable[[str], int]


def keep_start(text: str, allowance: int, count: Count) -> str:
    """Return the longest beginning that fits, given up by at most a fifth to end with a sentence or word.

    Args:
        text: The text; returned as it is if it fits.
        allowance: Tokens the result may cost.
        count: Counts the tokens of a text.

    Example:
        >>> keep_start("One two. Three four five.", 4, lambda text: len(text.split()))
        'One two. Three four'
    """
    return text if fits_in(text, allowance, count) else beginning_of(text, allowance, count)


def keep_lines(text: str, allowance: int, count: Count) -> str:
    r"""Return the longest beginning of whole lines that fits, somewhat less to end well (`line_ends`).

    Where not even the first line fits, a beginning of it (`keep_start`).

    Args:
        text: A program; returned as it is if it fits.
        allowance: Tokens the result may cost.
        count: Counts the tokens of a text.

    Example:
        >>> keep_lines("a = 1\nb = 2\nc = 3 + 4", 8, lambda text: len(text.split()))
        'a = 1\nb = 2'
    """
    if fits_in(text, allowance, count):
        return text
    ends = line_ends(text, _most(text, allowance, count))
    whole_lines = first_that_fits((text[:end].rstrip() for end in ends), allowance, count)
    return whole_lines or beginning_of(text, allowance, count)


def fits_in(text: str, allowance: int, count: Count) -> bool:
    """Return whether a text costs no more than an allowance."""
    return count(text) <= allowance


def beginning_of(text: str, allowance: int, count: Count) -> str:
    """Return the beginning of a text that does not fit whole, as `keep_start` ends it."""
    ends = good_ends(text, _most(text, allowance, count))
    return first_that_fits((text[:end].rstrip() for end in ends), allowance, count)


def first_that_fits(pieces: Iterable[str], allowance: int, count: Count) -> str:
    """Return the first of some pieces that is not empty and fits, or ""."""
    return next((piece for piece in pieces if piece and fits_in(piece, allowance, count)), "")


def _most(text: str, allowance: int, count: Count) -> int:
    return longest_that(len(text), lambda n: fits_in(text[:n], allowance, count), 4 * allowance)


def longest_that(length: int, fits: Callable[[int], bool], guess: int) -> int:
    """Return the largest number below `length` that fits, as far as fitting is monotone.

    Steps double away from the guess before they are halved, so that the cost is that of counting texts
    about as long as the answer, however long the whole is.
    """
    if length < 2:  # noqa: PLR2004 - only 0 is below
        return 0
    low, high = 0, length
    step = max(1, min(guess, length - 1))
    is_growing = fits(step)
    low, high = (step, high) if is_growing else (low, step)
    step = max(1, step // 8)
    while is_growing and low + step < high:
        if fits(low + step):
            low += step
            step *= 2
        else:
            high = low + step
            break
    while not is_growing and high - step > low:
        if fits(high - step):
            low = high - step
            break
        high -= step
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


ELLIPSIS = " … "
"""What joins two pieces that are apart in the original."""

BLOCK_ELLIPSIS = "\n\n…\n\n"
"""What joins them where a Markdown block ends or begins there: a fence, a list, a table, a heading."""

_ROW = "…"

_BLOCK_START = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]|[-*+•][ \t]|\d+[.)][ \t]|>|\||`{3}|~{3}|:{3}|<[A-Za-z!/]"
    r"|\S[^\n]*\n[=~^-]{3,}[ \t]*(?:\n|\Z))"
)
_BLOCK_LAST = re.compile(
    r"[ \t]*+(?:#{1,6}[ \t].*|\|.*|.*\|[ \t]*|`{3,}[ \t]*|~{3,}[ \t]*|:{3,}[ \t]*|<.*>[ \t]*|[=~^-]{3,}[ \t]*"
    r"|[-*+•][ \t].*|\d+[.)][ \t].*)"
)
_ANY_ELLIPSIS = re.compile(r"(?: |\n\n)…(?: |\n\n)|\n[ \t]*…\n")
_INDENT = re.compile(r"[ \t]*+")


def pieces(text: str, spans: Iterable[Span], found: Sequence[Table] | None = None) -> str:
    r"""Return spans of a text as one text: verbatim where only space is between them, else with an ellipsis.

    It stands on a line of its own where a Markdown block ends or begins, so that both parse as they did;
    between rows of a table it is a row of one cell.

    Args:
        text: The text.
        spans: Half-open offsets.
        found: Its tables that may be cut into rows; None: all.

    Example:
        >>> pieces("One.  Two. Three. Four.", [(18, 23), (0, 4), (6, 10)])
        'One.  Two. … Four.'
        >>> pieces("```\nx\n```\nOne. Two.", [(0, 9), (15, 19)])
        '```\nx\n```\n\n…\n\nTwo.'
    """
    merged = merge(text, spans)
    if len(merged) <= 1:
        return "".join(text[start:end] for start, end in merged)
    found = tables_of(text) if found is None else found
    written = [text[slice(*merged[0])]]
    for before, after in pairwise(merged):
        part = text[slice(*after)]
        between = _between_rows(text, found, before[1], after[0]) if found else ""
        written += (between or _ellipsis_between(text[slice(*before)], part), part)
    return "".join(written)


def _between_rows(text: str, found: Sequence[Table], end: int, start: int) -> str:
    """Return what stands where rows are left out, or between a table and what follows it; "" elsewhere."""
    at = bisect_right(found, end, key=attrgetter("head")) - 1
    if at < 0 or end > found[at].end:
        return BLOCK_ELLIPSIS if any(table.start == start for table in found[at + 1 : at + 2]) else ""
    if start >= found[at].end:
        return BLOCK_ELLIPSIS
    indent = _INDENT.match(text, start)
    return f"\n{indent[0] if indent else ''}{_ROW}\n"


def _ellipsis_between(before: str, after: str) -> str:
    last = before[before.rfind("\n") + 1 :]
    is_block = _BLOCK_LAST.fullmatch(last) or _BLOCK_START.match(after)
    return BLOCK_ELLIPSIS if is_block else ELLIPSIS


def merge(text: str, spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans in order, those with only space between them as one.

    Example:
        >>> merge("One.  Two. Three. Four.", [(18, 23), (0, 4), (6, 10)])
        ((0, 10), (18, 23))
    """
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and (start <= merged[-1][1] or not text[merged[-1][1] : start].strip()):
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def locate(text: str, piece: str) -> tuple[Span, ...]:
    """Return the spans of a text that a truncator's result consists of; () if it does not.

    Example:
        >>> locate("One. Two. Three.", "One. … Three.")
        ((0, 4), (10, 16))
    """
    start = (
        len(text) - len(piece) if text.endswith(piece) and not text.startswith(piece) else text.find(piece)
    )
    if start >= 0:
        return ((start, start + len(piece)),) if piece else ()
    spans: list[Span] = []
    position = 0
    for part in _ANY_ELLIPSIS.split(piece):
        start = text.find(part, position)
        if start < 0 or not part:
            return ()
        position = start + len(part)
        spans.append((start, position))
    return tuple(spans)


Truncator = Callable[[str, int, Count], str]

_SECOND_TRIES = 8
"""Sentences tried once more after the exact count left room."""


def keep_end(text: str, allowance: int, count: Count) -> str:
    """Return the longest ending that fits, given up by at most a fifth to begin with a sentence or word.

    One that begins within a table has the table's header before its rows.

    Args:
        text: The text; returned as it is if it fits.
        allowance: Tokens the result may cost.
        count: Counts the tokens of a text.

    Example:
        >>> keep_end("One two. Three four five.", 4, lambda text: len(text.split()))
        'two. Three four five.'
    """
    if fits_in(text, allowance, count):
        return text
    ending = keep_end_of_prose(text, allowance, count)
    below = _rows_below_header(text, allowance, count)
    return below if len(below) > len(ending) else ending


def keep_end_of_prose(text: str, allowance: int, count: Count) -> str:
    """Return the longest ending that fits and does not begin within a table (see `keep_end`)."""
    if fits_in(text, allowance, count):
        return text
    length = len(text)
    longest = longest_that(length, lambda n: fits_in(text[length - n :], allowance, count), 4 * allowance)
    starts = good_starts(text, length - longest)
    return first_that_fits((text[start:].lstrip() for start in starts), allowance, count)


def _rows_below_header(text: str, allowance: int, count: Count) -> str:
    """Return the header of the table that an ending begins in, and the ending from a row of it on."""
    for table in reversed(tables_of(text)):
        fits = partial(_fits_below, text, table, allowance, count)
        if not fits(1):
            return ""
        if not fits(len(table.rows)):
            return _below(text, table, longest_that(len(table.rows), fits, 1))
    return ""


def _fits_below(text: str, table: Table, allowance: int, count: Count, rows: int) -> bool:
    return fits_in(_below(text, table, rows), allowance, count)


def _below(text: str, table: Table, rows: int) -> str:
    """Return a table's header with so many of its last rows, and what follows them."""
    head = text[table.start : table.head]
    start = table.start + len(head) - len(head.lstrip())
    return pieces(text, [(start, table.head), (table.rows[-rows][0], len(text))], (table,))


def keep_whole(text: str, allowance: int, count: Count) -> str:
    """Return the text if it fits, else "": what does not fit whole is left out.

    Example:
        >>> keep_whole("One two. Three.", 2, lambda text: len(text.split()))
        ''
    """
    return text if fits_in(text, allowance, count) else ""


def extractive(text: str, allowance: int, count: Count) -> str:
    """Return the sentences that say most of what the text is about, in source order (`Extractive`).

    Example:
        >>> extractive("Rust is fast. It rains. Rust is safe.", 7, lambda text: len(text.split()))
        'Rust is fast. … Rust is safe.'
    """
    return Extractive()(text, allowance, count)


@dataclass(frozen=True, slots=True)
class Extractive:
    """Chooses whole sentences by value, the best first, as long as they fit; joins them in source order.

    With a query, a sentence is worth the weight of the query's terms in it, plus a tenth of its
    neighbours'; a term's weight is ln(1 + sentences / sentences that have it). Ties, and everything
    without a query, go by centrality: how common its terms are among the sentences, times
    1 + 1/(1 + place), for a text says early what it is about.

    Code is cut by `keep_start`, and so is a text whose sentences are too long: where those that fit
    would fill less than half of the allowance and have nothing that the query asks for.

    Attributes:
        query: What the extract should answer, or "".
        in_rows: A table is its rows, of which each brings the header; else it is one piece.
        in_lines: The text is a program, which is cut between its lines (`keep_lines`).

    Example:
        >>> Extractive("who left?")("It rains. Ana left. Bo came.", 2, lambda text: len(text.split()))
        'Ana left.'
    """

    query: str = ""
    in_rows: bool = True
    in_lines: bool = False

    def __call__(self, text: str, allowance: int, count: Count) -> str:
        """Return the extract."""
        if fits_in(text, allowance, count):
            return text
        if self.in_lines:
            return keep_lines(text, allowance, count)
        found = tables_of(text) if self.in_rows else ()
        chosen = _choose(text, _by_value(text, self.query, bool(found)), allowance, count, found)
        extract = pieces(text, chosen, found)
        is_answer = not set(query_terms(self.query)).isdisjoint(terms(extract))
        if is_answer or (extract and 2 * count(extract) >= allowance):
            return extract
        beginning = beginning_of(text, allowance, count)
        return beginning if beginning and count(beginning) > count(extract) else extract


@lru_cache(maxsize=8)
def _by_value(text: str, query: str, in_rows: bool) -> tuple[tuple[Span, ...], ...]:
    """Return the units of a text, the best first, each with the header that it needs before it.

    Kept for a little: one text is cut to several lengths.
    """
    if is_code(text) and not (in_rows and is_rows(text)):
        return ()
    analysis = analyse(text, in_rows)
    units, heads = analysis.spans, analysis.heads
    asked, central = _values([terms(text[a:b]) for a, b in units], query)
    order = sorted(range(len(units)), key=lambda i: (-asked[i], -central[i], i))
    return tuple((units[i],) if heads[i] < 0 else (units[heads[i]], units[i]) for i in order if heads[i] != i)


def _values(units: Sequence[Sequence[str]], query: str) -> tuple[list[float], list[float]]:
    having = Counter(term for unit in units for term in set(unit))
    wanted = set(query_terms(query))
    weights = {term: math.log1p(len(units) / having[term]) for term in sorted(wanted & having.keys())}
    mass = [_mass(weights, unit) for unit in units]
    padded = [0.0, *mass, 0.0]
    asked = [(x + 0.1 * padded[i] + 0.1 * padded[i + 2]) / 1.2 for i, x in enumerate(mass)]
    central = [
        sum(having[term] for term in set(unit)) / max(len(unit), 5) * (1 + 1 / (1 + i))
        for i, unit in enumerate(units)
    ]
    return asked, central


TRUNCATORS: Mapping[str, Truncator] = {
    "keep_start": keep_start,
    "keep_end": keep_end,
    "extractive": extractive,
    "none": keep_whole,
}
"""The built-in truncators by name."""


def _mass(weights: Mapping[str, float], unit: Iterable[str]) -> float:
    return math.fsum(weights[term] for term in set(unit) & weights.keys()) if weights else 0.0


def _choose(
    text: str, units: Sequence[Sequence[Span]], allowance: int, count: Count, found: Sequence[Table]
) -> list[Span]:
    """Choose greedily by what the units cost alone, then correct by what the whole costs."""
    gap = count(ELLIPSIS)
    chosen: list[Sequence[Span]] = []
    left_out: list[Sequence[Span]] = []
    standing: set[Span] = set()
    room = allowance
    for unit in units:
        new = [span for span in unit if span not in standing]
        cost = sum(count(text[start:end]) for start, end in new) + (gap if chosen else 0)
        # A unit that ends or begins where another does may close a gap; the exact count tells.
        if cost <= room:
            chosen.append(unit)
            standing.update(new)
            room -= cost
        else:
            left_out.append(unit)

    def fits(taken: Sequence[Sequence[Span]]) -> bool:
        return fits_in(pieces(text, set(chain.from_iterable(taken)), found), allowance, count)

    if not fits(chosen):
        chosen = chosen[: longest_that(len(chosen), lambda n: fits(chosen[:n]), len(chosen) - 1)]
    for unit in left_out[:_SECOND_TRIES]:
        if fits([*chosen, unit]):
            chosen.append(unit)
    return [*set(chain.from_iterable(chosen))]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLeast:
    """A truncator whose result is left out where it would be very short.

    Attributes:
        truncator: What cuts.
        characters: Below so many the result is "".

    Example:
        >>> words = lambda text: len(text.split())
        >>> AtLeast(truncator=extractive, characters=10)("Ana left. Bo came.", 2, words)
        ''
    """

    truncator: Truncator
    characters: int

    def __call__(self, text: str, allowance: int, count: Count) -> str:
        """Return the cut text, or ""."""
        cut = self.truncator(text, allowance, count)
        return cut if len(cut) >= self.characters else ""


def asking(truncator: Truncator, query: str) -> Truncator:
    """Return the truncator as it cuts for a question: extracts are chosen by what answers it.

    One that keeps the start or the end and a function of one's own are returned as they are; an `Extractive`
    that has a question keeps it.

    Args:
        truncator: Any.
        query: The question.

    Example:
        >>> words = lambda text: len(text.split())
        >>> asking(extractive, "who came?")("It rains. Ana left. Bo came.", 2, words)
        'Bo came.'
    """

    def asked(cuts: Truncator) -> Truncator:
        if isinstance(cuts, Extractive):
            return replace(cuts, query=cuts.query or query)
        return cuts

    return _changed(truncator, asked)


def by_lines(truncator: Truncator) -> Truncator:
    r"""Return the truncator as it cuts a program: extracts are its first lines, whole.

    One that keeps the start or the end and a function of one's own are returned as they are.

    Args:
        truncator: Any.

    Example:
        >>> words = lambda text: len(text.split())
        >>> by_lines(extractive)("# It adds.\ntotal = 1 + 2\nprint(total)", 8, words)
        '# It adds.\ntotal = 1 + 2'
    """

    def in_lines(cuts: Truncator) -> Truncator:
        return replace(cuts, in_lines=True) if isinstance(cuts, Extractive) else cuts

    return _changed(truncator, in_lines)


def _changed(truncator: Truncator, change: Callable[[Truncator], Truncator]) -> Truncator:
    """Return a truncator with what does the cutting changed, within whatever is around it."""
    if isinstance(truncator, AtLeast):
        return replace(truncator, truncator=_changed(truncator.truncator, change))
    return change(Extractive() if truncator is extractive else truncator)
