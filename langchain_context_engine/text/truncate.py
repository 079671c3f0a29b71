"""Truncators: cut a text to an allowance of tokens, as exact pieces of the original.

A truncator is `(text, allowance, count) -> text`. Its result never costs more than the allowance, for any
counter, even one whose parts cost more than the whole; where nothing fits it is "". It is one contiguous
piece, or such pieces in source order joined by `ELLIPSIS`; no character that people see as one is split.
A Markdown table is cut between rows, and never stands without its header.
"""

from __future__ import annotations

import math
import re
import string
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain, pairwise, takewhile
from operator import attrgetter
from typing import Any

from langchain_context_engine.text.analysis import analyse
from langchain_context_engine.text.sentences import is_code, sentence_spans
from langchain_context_engine.text.text_tables import Span, Table, is_rows, join_spans, tables, tables_of
from langchain_context_engine.text.words import query_terms, terms

Count = Callable[[str], int]
Truncator = Callable[[str, int, Count], str]

ELLIPSIS = " … "
"""What joins two pieces that are apart in the original."""

BLOCK_ELLIPSIS = "\n\n…\n\n"
"""What joins them where a Markdown block ends or begins there: a fence, a list, a table, a heading."""

_ROW = "…"
_SECOND_TRIES = 8
"""Sentences tried once more after the exact count left room."""

_MOST_GIVEN_UP = 0.2
"""The share of what is kept that a cut may give up to stand between sentences or words."""

_MOST_FOR_A_BLOCK = 0.1
"""The share of what is kept that a cut of a program may give up to stand before an empty line."""

_WINDOW = 2000
"""Characters looked through for a good place, at most."""

_WORD_WINDOW = 24
"""Characters looked through for a word's end, at least."""

_SENTENCE_WINDOW = 80
"""Characters beyond the window that tell where its sentences begin and end."""

_LEADS_ON = re.compile(r"^\s*+(?:$|//|#|/?\*(?!/)|--|;|@)|[({\[,:=]\s*$")
"""A line that says what comes after it: a comment, a decorator, one that opens a block or breaks off."""

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
_NEWLINE = re.compile("\n")
_BASE64 = string.ascii_letters + string.digits + "+/=_-"
_LEAST_UNREAD = 200
"""So many letters and digits in a row are no word."""

_LONGEST_CLUSTERS = 256
"""Characters looked back for the place where a cluster surely begins."""


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
    return _beginning(text, allowance, count, _good_ends)


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
    return _beginning(text, allowance, count, line_ends) or keep_start(text, allowance, count)


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
    if count(text) <= allowance:
        return text
    length = len(text)
    longest = _longest_that(length, lambda n: count(text[length - n :]) <= allowance, 4 * allowance)
    starts = (text[start:].lstrip() for start in _good_starts(text, length - longest))
    ending = _first_that_fits(starts, allowance, count)
    below = _rows_below_header(text, allowance, count)
    return below if len(below) > len(ending) else ending


def keep_whole(text: str, allowance: int, count: Count) -> str:
    """Return the text if it fits, else "": what does not fit whole is left out.

    Example:
        >>> keep_whole("One two. Three.", 2, lambda text: len(text.split()))
        ''
    """
    return text if count(text) <= allowance else ""


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
        in_lines: The text is a program, which is cut between its lines (`keep_lines`).

    Example:
        >>> Extractive("who left?")("It rains. Ana left. Bo came.", 2, lambda text: len(text.split()))
        'Ana left.'
        >>> extractive("Rust is fast. It rains. Rust is safe.", 7, lambda text: len(text.split()))
        'Rust is fast. … Rust is safe.'
    """

    query: str = ""
    in_lines: bool = False

    def __call__(self, text: str, allowance: int, count: Count) -> str:
        """Return the extract."""
        if count(text) <= allowance:
            return text
        if self.in_lines:
            return keep_lines(text, allowance, count)
        found = tables_of(text)
        extract = pieces(text, _choose(text, _by_value(text, self.query), allowance, count, found), found)
        is_answer = not set(query_terms(self.query)).isdisjoint(terms(extract))
        if is_answer or (extract and 2 * count(extract) >= allowance):
            return extract
        beginning = keep_start(text, allowance, count)
        return beginning if beginning and count(beginning) > count(extract) else extract


extractive = Extractive()
"""Chooses the sentences that say most of what the text is about; pack tells it the question."""


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


TRUNCATORS: Mapping[str, Truncator] = {
    "keep_start": keep_start,
    "keep_end": keep_end,
    "extractive": extractive,
    "none": keep_whole,
}
"""The built-in truncators by name."""


def asking(truncator: Truncator, query: str) -> Truncator:
    """Return the truncator as it cuts for a question: extracts are chosen by what answers it.

    One that keeps the start or the end and a function of one's own are returned as they are; an `Extractive`
    that has a question keeps it.

    Example:
        >>> words = lambda text: len(text.split())
        >>> asking(extractive, "who came?")("It rains. Ana left. Bo came.", 2, words)
        'Bo came.'
    """
    return _changed(truncator, lambda cuts: replace(cuts, query=cuts.query or query))


def by_lines(truncator: Truncator) -> Truncator:
    r"""Return the truncator as it cuts a program: extracts are its first lines, whole.

    One that keeps the start or the end and a function of one's own are returned as they are.

    Example:
        >>> words = lambda text: len(text.split())
        >>> by_lines(extractive)("# It adds.\ntotal = 1 + 2\nprint(total)", 8, words)
        '# It adds.\ntotal = 1 + 2'
    """
    return _changed(truncator, lambda cuts: replace(cuts, in_lines=True))


def _changed(truncator: Truncator, change: Callable[[Extractive], Extractive]) -> Truncator:
    """Return a truncator with what chooses extracts changed, within whatever is around it."""
    if isinstance(truncator, AtLeast):
        return replace(truncator, truncator=_changed(truncator.truncator, change))
    return change(truncator) if isinstance(truncator, Extractive) else truncator


@lru_cache(maxsize=8)
def _by_value(text: str, query: str) -> tuple[tuple[Span, ...], ...]:
    """Return the units of a text, the best first, each with the header that it needs before it.

    Kept for a little: one text is cut to several lengths.
    """
    if is_code(text) and not is_rows(text):
        return ()
    analysis = analyse(text, True)
    units, heads = analysis.spans, analysis.heads
    asked, central = _values([terms(text[a:b]) for a, b in units], query)
    order = sorted(range(len(units)), key=lambda i: (-asked[i], -central[i], i))
    return tuple((units[i],) if heads[i] < 0 else (units[heads[i]], units[i]) for i in order if heads[i] != i)


def _values(units: Sequence[Sequence[str]], query: str) -> tuple[list[float], list[float]]:
    having = Counter(term for unit in units for term in set(unit))
    wanted = set(query_terms(query))
    weights = {term: math.log1p(len(units) / having[term]) for term in sorted(wanted & having.keys())}
    mass = [math.fsum(weights[term] for term in set(unit) & weights.keys()) for unit in units]
    padded = [0.0, *mass, 0.0]
    asked = [(x + 0.1 * padded[i] + 0.1 * padded[i + 2]) / 1.2 for i, x in enumerate(mass)]
    central = [
        sum(having[term] for term in set(unit)) / max(len(unit), 5) * (1 + 1 / (1 + i))
        for i, unit in enumerate(units)
    ]
    return asked, central


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
        return count(pieces(text, set(chain.from_iterable(taken)), found)) <= allowance

    if not fits(chosen):
        chosen = chosen[: _longest_that(len(chosen), lambda n: fits(chosen[:n]), len(chosen) - 1)]
    for unit in left_out[:_SECOND_TRIES]:
        if fits([*chosen, unit]):
            chosen.append(unit)
    return [*set(chain.from_iterable(chosen))]


def _beginning(text: str, allowance: int, count: Count, ends: Callable[[str, int], Iterable[int]]) -> str:
    """Return a text if it fits, else its longest beginning that does, or somewhat less to end well."""
    if count(text) <= allowance:
        return text
    most = _longest_that(len(text), lambda n: count(text[:n]) <= allowance, 4 * allowance)
    return _first_that_fits((text[:end].rstrip() for end in ends(text, most)), allowance, count)


def _first_that_fits(candidates: Iterable[str], allowance: int, count: Count) -> str:
    return next((piece for piece in candidates if piece and count(piece) <= allowance), "")


def _longest_that(length: int, fits: Callable[[int], bool], guess: int) -> int:
    """Return the largest number below `length` that fits, as far as fitting is monotone.

    Steps double away from the guess before they are halved, so that the cost is that of counting texts
    about as long as the answer, however long the whole is.
    """
    low, high = 0, length
    at = max(1, min(guess, length - 1))
    step = max(1, at // 8)
    while high - low > 1:
        if fits(at):
            low, at = at, at + step
        else:
            high, at = at, at - step
        step *= 2
        if not low < at < high:
            at = (low + high) // 2
    return low


def _rows_below_header(text: str, allowance: int, count: Count) -> str:
    """Return the header of the table that an ending begins in, and the ending from a row of it on."""
    for table in reversed(tables_of(text)):

        def below(rows: int, table: Table = table) -> str:
            """Return the table's header with so many of its last rows, and what follows them."""
            head = text[table.start : table.head]
            start = table.start + len(head) - len(head.lstrip())
            return pieces(text, [(start, table.head), (table.rows[-rows][0], len(text))], (table,))

        if count(below(1)) > allowance:
            return ""
        if count(below(len(table.rows))) > allowance:
            return below(_longest_that(len(table.rows), lambda rows: count(below(rows)) <= allowance, 1))
    return ""


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
    return tuple(
        join_spans(
            sorted(spans),
            lambda before, span: span[0] <= before[1] or not text[before[1] : span[0]].strip(),
        )
    )


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


def _good_ends(text: str, end: int) -> Iterator[int]:
    """Yield places to end a beginning of a text that is at most `end` long, the best first, down to 0.

    A sentence's end and then a word's within the last fifth, then ever shorter ones.
    """
    end = _outside_letters(text, end)[0] or end
    found = tables(text)
    last = _outside_rows(found, text, end)
    if last == end:
        near = max(0, end - min(int(end * _MOST_GIVEN_UP), _WINDOW))
        # From the beginning of a line: a rest of one looks like a short line, which ends a sentence.
        line = max(text.rfind("\n", 0, near) + 1, near - _SENTENCE_WINDOW)
        ends = [line + b for _, b in sentence_spans(text[line : end + _SENTENCE_WINDOW]) if line + b <= end]
        if ends and ends[-1] >= near:
            yield boundary_from(text, ends[-1], -1)
        if end < len(text) and not (text[end].isspace() or text[end - 1].isspace()):
            near = max(0, min(near, end - _WORD_WINDOW))
            head = text[near:end].rsplit(maxsplit=1)
            yield boundary_from(text, near + len(head[0]) if len(head) > 1 else end, -1)
    step = 0
    while last > 0:
        yield boundary_from(text, last, -1)
        step = 2 * step or 1
        last = _outside_rows(found, text, max(0, end - step))


def _good_starts(text: str, start: int) -> Iterator[int]:
    """Yield places to begin an ending of a text, at `start` or later, the best first.

    A sentence's start and then a word's within the first fifth, then ever later ones. Rows of a table
    are skipped, since they cannot keep its header.
    """
    after = _outside_letters(text, start)[1]
    start = after if after < len(text) else start
    found = [*tables(text), *((table.start, table.head, table.end) for table in tables_of(text))]
    first = _after_table(found, start)
    if first == start:
        reach = start + min(int((len(text) - start) * _MOST_GIVEN_UP), _WINDOW)
        near = max(0, start - _SENTENCE_WINDOW)
        starts = (near + a for a, _ in sentence_spans(text[near : reach + 1]))
        sentence = next((a for a in starts if start <= a <= reach), None)
        if sentence is not None:
            yield boundary_from(text, _after_table(found, sentence), 1)
        if 0 < start < len(text) and not (text[start - 1].isspace() or text[start].isspace()):
            reach = min(len(text), max(reach, start + _WORD_WINDOW))
            tail = text[start:reach].split(maxsplit=1)
            if len(tail) > 1:
                yield boundary_from(text, reach - len(tail[1]), 1)
    step = 0
    while first < len(text):
        yield boundary_from(text, first, 1)
        step = 2 * step or 1
        first = _after_table(found, min(len(text), start + step))


def line_ends(text: str, end: int) -> Iterator[int]:
    r"""Yield places to end a beginning of a program that is at most `end` long, the best first.

    Within the last tenth before an empty line; within the last half after a line that neither opens a block
    nor is a comment to what follows. Then after the last line, and after ever earlier ones.

    Example:
        >>> list(line_ends("a = f(1)\nb = 2\nif a:\n    c = 3", 22))
        [14, 20, 8]
    """
    ends = [found.start() for found in _NEWLINE.finditer(text, 1, end + 1)][::-1]
    late = takewhile(lambda at: at >= end * (1 - _MOST_FOR_A_BLOCK), ends)
    of_block = next((at for at in late if not _line_at(text, at + 1).strip()), None)
    later = takewhile(lambda at: 2 * at >= end, ends)
    lines = ((at, _line_at(text, text.rfind("\n", 0, at) + 1)) for at in later)
    whole = next((at for at, line in lines if not _LEADS_ON.search(line)), None)
    yield from dict.fromkeys(at for at in (of_block, whole, *ends) if at is not None)


def _line_at(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start:end]


def _outside_letters(text: str, position: int) -> Span:
    """Return the places before and behind letters that nobody reads, as of a picture, or twice the same."""
    first = len(text[:position].rstrip(_BASE64))
    last = len(text) - len(text[position:].lstrip(_BASE64))
    return (first, last) if last - first >= _LEAST_UNREAD else (position, position)


def _outside_rows(found: list[tuple[int, int, int]], text: str, end: int) -> int:
    """Step back from inside a table to the end of a row, or to before a table without any."""
    for start, body, stop in found:
        if start < end < stop:
            row = end if text[end] in "\r\n" else text.rfind("\n", start, end)
            return row if row > body else start
    return end


def _after_table(found: list[tuple[int, int, int]], start: int) -> int:
    return next((stop for top, _, stop in found if top < start < stop), start)


def boundary_from(text: str, position: int, step: int) -> int:
    r"""Return the next place between two characters, from a position on, before (-1) or behind (1) it.

    A character as people see it may be several code points: a letter with its accents, a family, a flag, a
    line break of two (extended grapheme clusters, UAX #29).

    Example:
        >>> boundary_from("e\u0301!", 1, -1), boundary_from("e\u0301!", 1, 1), boundary_from("e\u0301!", 2, 1)
        (0, 2, 2)
    """
    if not 0 < position < len(text) or (text[position] < "\u0300" and text[position] != "\n"):
        return position
    start = position - 1
    while start > 0 and text[start] >= "\u0300" and position - start < _LONGEST_CLUSTERS:
        start -= 1
    for found in _cluster().finditer(text, start):
        if found.end() >= position:
            return int(found.start() if step < 0 and found.end() > position else found.end())
    return len(text)


@cache
def _cluster() -> Any:
    import regex

    return regex.compile(r"\X")
