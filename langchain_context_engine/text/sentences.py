"""Sentences of a text as spans, and the units that an extract is made of.

A span is a pair of offsets, half-open. The spans of a text are in order, do not overlap, have no space
at their ends and leave nothing but space between them. One pass over the text, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from langchain_context_engine.text.boilerplate import closes, opens
from langchain_context_engine.text.text_tables import (
    Span,
    at_most,
    by_rows,
    fenced_blocks,
    join_spans,
    tables,
    tables_of,
)

NEVER_LAST = frozenset(
    (  # noqa: SIM905
        "dr mr mrs ms mx prof st gen col capt lt sgt rev hon sen rep gov messrs vs cf e.g i.e viz "
        "mme mlle mgr sr sra srta dra sig dhr mevr hr fr ing sn av ul bzw ca evtl ggf inkl sog vgl "
        "г ул им проф акад доц тов гр см ср напр"
    ).split()
)
"""Abbreviations that never end a sentence, but behind a number: of a year, or an hour."""

NUMBERED = frozenset(
    (  # noqa: SIM905
        "no nos fig figs eq eqs sec ch vol vols p pp art para nr tab ref app "
        "abb abs anm bd kap núm tel гл д кв п пп рис ст стр табл"
    ).split()
)
"""Abbreviations that do not end a sentence before a number."""

SELDOM_LAST = frozenset(
    (  # noqa: SIM905
        "etc inc ltd co corp dept jr al a.m p.m approx est ed eds u.s u.k u.n e.u d.c ph.d b.c a.d "
        "usw др пр руб тыс "
        "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri ave blvd"
    ).split()
)
"""Abbreviations that end a sentence only where a capital follows."""

INITIALS = re.compile(r"(?!I$)[A-Z]|[^\W\d_](?:\.[^\W\d_])+")
"""Of a name or of words: one capital, not "I", or several letters with stops."""


_END = re.compile(
    # Only the first of a run of stops may start a match, or a million dots would cost their square.
    r"""(?<![.!?…؟۔।॥])(?P<stop>[.!?…؟۔।॥]++)(?P<quote>["'”’)\]»*_]*+)(?=\s)"""
    # Of Chinese and Japanese, of Armenian, Ethiopic, Khmer, Burmese, Tibetan and Mongolian.
    r"""|[。！？｡．։፧።៕។༎།᠃။][。！？｡．։፧።៕។༎།᠃။]*+[」』）】》”’"'»]*+"""
    # Thai and Lao part sentences by a space.
    r"|(?<=[\u0e00-\u0eff]{8})[ ]++(?=[\u0e00-\u0eff])"
    # Empty lines after it end nothing more.
    r"|(?P<newline>\n)(?:[ \t\r]*+\n)*+"
)
_NEWLINE = re.compile("\n")
_LAST_WORD = re.compile(r"(?<![^\W_])(?<![^\W_]\.)[^\W_]++(?:\.[^\W_]++)*+$")
_BEHIND_NUMBER = re.compile(r"\d\s$")
_NEXT = re.compile(r"\s*[\"'“‘(\[«*_]*")
_NEXT_INITIAL = re.compile(r" [^\W\d_]\.")
_NEW_BLOCK = re.compile(r"[ \t\r]*(?:\n|#{1,6} |[-*+•–] |\d+[.)] |\||>|<|$)")
_CODE_LINE = re.compile(
    r"[;{}(\[]\s*$|^\s*[)}\]]"
    r"|^\s*(?:(?:async )?(?:def|with|for|if|while|class|try|except|elif|else)\b.*:\s*(?:#.*)?$"
    r"|(?:import|from|return|raise|assert|await|const|let|var|func|fn|function|public|private|static|use)\s"
    r"|@\w|#include|//|[\w.\[\]\"']+(?:: [\w.\[\]| ]+)? [-+*/|]?= \S|[\w.]+\(|[\w*]+(?:: ?[^ ].*)?,\s*$)"
)

_WRAPPED_WIDTH = 50
"""A line of so many characters without a stop goes on in the next one; 20 fewer before a small letter."""

_LOOKBEHIND = 24
_TITLE_WORDS = 24
"""Words of a first line, at most, that is joined to the sentence after it."""

_LETTER = re.compile(r"[^\W\d_]")
_FIRST_LETTER = re.compile(r"(?:\s|[^\w\s]){0,12}([^\W\d_])")
_MARKS = re.compile(r"([^\w\s])\1*")
_LONGEST_BARE = 24
"""Characters of a piece without a letter that is joined to another; longer ones are rows of figures."""

_LONGEST_JOINED = 1000
"""Characters that joining may come to: a column of figures does not become one piece."""


MOST_PIECES = 10_000
"""Pieces of one text that are weighed: what has more, a million letters with stops, is cut coarser."""


def sentence_spans(text: str) -> list[Span]:
    """Return the spans of the sentences.

    No sentence ends after an abbreviation, an initial or inside a number. A heading, a list item and a
    line of code are sentences; so are a fenced block and a Markdown table, each as a whole. A
    hard-wrapped line goes on in the next one.

    Example:
        >>> text = "Dr. Rao paid $3.50. Then he left. Done."
        >>> [text[a:b] for a, b in sentence_spans(text)]
        ['Dr. Rao paid $3.50.', 'Then he left.', 'Done.']
    """
    spans: list[Span] = []
    position = 0
    for start, end in _blocks(text):
        spans += _plain_spans(text, position, start)
        spans += _trimmed(text, start, end)
        position = end
    spans += _plain_spans(text, position, len(text))
    return spans


def unit_spans(text: str) -> list[Span]:
    r"""Return the spans that an extract may choose from: sentences, a title joined to what follows it.

    A piece that says nothing alone goes with what it belongs to: a heading, a label or an introduction
    with what follows; a reference, a closing mark or a short piece without a letter, as `[19]`, with what
    it follows. A short first line goes with the sentence after it, which would often say nothing without it.

    Example:
        >>> text = "Billing\nWe chose Stripe. It was cheap."
        >>> [text[a:b] for a, b in unit_spans(text)]
        ['Billing\nWe chose Stripe.', 'It was cheap.']
    """
    spans = _with_words(text, at_most(MOST_PIECES, sentence_spans(text)))
    if not spans:
        return []
    start = spans[0][0]
    newline = text.find("\n", start)
    inside = sum(1 for _, end in spans if end <= newline)
    is_title = 0 < inside < len(spans) and len(text[start:newline].split()) <= _TITLE_WORDS
    titled = [(start, spans[inside][1]), *spans[inside + 1 :]] if is_title else spans
    return _with_what_it_belongs_to(text, titled)


def row_spans(text: str) -> tuple[list[Span], list[int]]:
    """Return the same with each table as its rows, and for each span the place of its header, or -1."""
    spans = unit_spans(text)
    return by_rows(text, spans, MOST_PIECES) if spans and tables_of(text) else (spans, [-1] * len(spans))


def _with_what_it_belongs_to(text: str, spans: list[Span]) -> list[Span]:
    """Join pieces that open something to what follows them, those that close something to what is before."""
    joined: list[Span] = []
    is_open = False
    for start, end in spans:
        piece = text[start:end]
        is_part = joined and (is_open or closes(piece)) and end - joined[-1][0] <= _LONGEST_JOINED
        if is_part:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
        is_open = opens(piece)
    if is_open and len(joined) > 1 and joined[-1][1] - joined[-2][0] <= _LONGEST_JOINED:
        # What it opens stands in another record.
        last = joined.pop()
        joined[-1] = (joined[-1][0], last[1])
    return joined


def _with_words(text: str, spans: list[Span]) -> list[Span]:
    """Join short pieces without a letter to the piece before them, the first to the one after it."""
    return join_spans(
        spans,
        lambda before, span: (
            span[1] - before[0] <= _LONGEST_JOINED and (_is_bare(text, *span) or _is_bare(text, *before))
        ),
    )


def _is_bare(text: str, start: int, end: int) -> bool:
    is_short = end - start <= _LONGEST_BARE and not _LETTER.search(text, start, end)
    return is_short or _MARKS.fullmatch(text, start, end) is not None


def is_code(text: str) -> bool:
    r"""Return whether most lines of a text look like lines of a program; one line alone never does.

    Example:
        >>> is_code("def f(x):\n    return x + 1")
        True
        >>> is_code("We met.\nWe left.")
        False
    """
    lines = [line for line in text.split("\n", 60)[:60] if line.strip()]
    code = [line for line in lines if _CODE_LINE.search(line[:200])]
    return len(lines) > 1 and len(code) * 2 > len(lines)


def _blocks(text: str) -> list[Span]:
    blocks = sorted(fenced_blocks(text) + [(start, end) for start, _, end in tables(text)])
    # A table inside of a fence belongs to it.
    reach = 0
    outermost = []
    for start, end in blocks:
        if start >= reach:
            outermost.append((start, end))
            reach = end
    return outermost


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    stripped = piece.lstrip()
    start += len(piece) - len(stripped)
    stripped = stripped.rstrip()
    if stripped:
        yield start, start + len(stripped)


def _plain_spans(text: str, start: int, end: int) -> Iterator[Span]:
    is_program = "\n" in text and is_code(text[start:end])
    for stop in (_line_ends if is_program else _sentence_ends)(text, start, end):
        yield from _trimmed(text, start, stop)
        start = stop
    yield from _trimmed(text, start, end)


def _line_ends(text: str, start: int, end: int) -> Iterator[int]:
    return (match.end() for match in _NEWLINE.finditer(text, start, end))


def _sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    line = start
    has_ended = False
    for match in _END.finditer(text, start, end):
        if match["newline"]:
            if has_ended or not _goes_on(text, line, match.start("newline")):
                yield (start := match.end())
            line = match.end()
            has_ended = False
        elif match["stop"] is None or _ends(text, start, match):
            yield (start := match.end())
            has_ended = text.startswith("\n", start)


def _goes_on(text: str, line: int, newline: int) -> bool:
    """Whether the line before a newline is hard-wrapped; headings and table rows are not."""
    if _NEW_BLOCK.match(text, newline + 1):
        return False
    width = newline - line + 20 * text[newline + 1].islower()
    is_row = text[line] == "#" or text.find("|", line, newline) >= 0
    return width >= _WRAPPED_WIDTH and text[newline - 1] not in ".!?:;…。！？" and not is_row


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether a stop before a space ends the sentence that began at `start`."""
    head = text[max(start, match.start() - _LOOKBEHIND) : match.start()]
    if head.strip() in {"", "#"}:
        return False  # what a directive or an item of reStructuredText begins with
    following = _NEXT.match(text, match.end())
    after = text[following.end() : following.end() + 1] if following else ""
    if match["stop"] != ".":
        # "Stop!" he said. Well… he said.
        goes_on = after.islower() and (match["quote"] or match["stop"][0] in ".…")
        return not goes_on or (not match["quote"] and _begins_small(text, start))
    found = _LAST_WORD.search(head)
    word = found[0] if found else ""
    lower = word.lower()
    is_unit = word.islower() and _BEHIND_NUMBER.search(head[: len(head) - len(word)]) is not None
    if (lower in NEVER_LAST and not is_unit) or (lower in NUMBERED and after.isdigit()):
        return False
    if len(word) == 1 and word.islower() and _NEXT_INITIAL.match(text, match.end()):
        return False
    is_list_number = word.isdigit() and head.strip() == word
    if is_list_number or (INITIALS.fullmatch(word) and lower not in SELDOM_LAST):
        return False
    if after.islower():
        return _begins_small(text, start) and lower not in SELDOM_LAST
    return lower not in SELDOM_LAST or after.isupper()


def _begins_small(text: str, start: int) -> bool:
    """Whether a sentence begins without a capital, as some people write."""
    first = _FIRST_LETTER.match(text, start)
    return first is not None and first[1].islower()
