"""How the inspector says numbers, times, names and lines of text: one format for each. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from langchain_context_engine.models.types import Key

UNKNOWN = "–"
WITHOUT_TRACE = "Without a trace that can be read here"
NOT_REPLAYED = "Not replayed, since a part of the engine was a function or the trace is damaged"
"""What is said of questions that the figures leave out."""

WITHOUT_WORDS = "(asked without words)"
"""What stands for a question that has none: it was asked by a vector, or is blank."""

_SNIPPET = 160
_MARKDOWN = re.compile(r"[\\`*{}\[\]<>()#+!|$~:]|(?<![^\W_])_|_(?![^\W_])")


def number(value: float | None) -> str:
    """Return a count in words: 1,234, or a dash for what is not known."""
    return _known(value, ",.0f")


def share(value: float | None) -> str:
    """Return a share of 1 in words: 26 %."""
    told = _known(None if value is None else 100 * value, ".0f")
    return told if told == UNKNOWN else f"{told} %"


def ratio(value: float | None) -> str:
    """Return a score or a figure between 0 and 1: 0.500."""
    return _known(value, ".3f")


def _known(value: float | None, form: str) -> str:
    return UNKNOWN if value is None or math.isnan(value) else format(value, form)


def used(tokens: int, budget: int) -> float | None:
    """Return the share of a budget that is used, 0–1 but for a soft one; None without a budget."""
    return tokens / budget if budget else None


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with what is counted.

    Example:
        >>> counted(1, "question"), counted(2400, "question"), counted(2, "try", "tries")
        ('1 question', '2,400 questions', '2 tries')
    """
    return f"{number(count)} {one if count == 1 else many or f'{one}s'}"


def signed(value: float) -> str:
    """Return a change with its sign, "" for none.

    Example:
        >>> signed(12), signed(-3), signed(0)
        ('+12', '−3', '')
    """
    if not value or math.isnan(value):
        return ""
    told = f"{abs(value):,.0f}" if float(value).is_integer() else f"{abs(value):.3f}"
    return f"{'+' if value > 0 else '−'}{told}"


def zone_of(name: str | None) -> tzinfo:
    """Return the viewer's time zone, or UTC where the browser's is not known here."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def time(instant: datetime, zone: tzinfo = UTC) -> str:
    """Return an instant to the second, with its year, where the viewer is."""
    local = instant.astimezone(zone)
    return f"{local.day} {local:%b %Y, %H:%M:%S}"


def one_line(text: str, length: int = _SNIPPET) -> str:
    """Return a text's beginning on one line."""
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def noted(tags: Iterable[str], note: str) -> str:
    """Return what people wrote of an answer, on one line.

    Example:
        >>> noted(("billing", "to do"), "wrong price"), noted((), "")
        ('#billing #to do · wrong price', '')
    """
    return " · ".join(filter(None, (" ".join(f"#{tag}" for tag in tags), one_line(note))))


def sentence(text: str) -> str:
    """Return a text as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def option_of(key: Key) -> str:
    """Return what stands for a candidate in an address and a list: source/id, no two alike.

    Example:
        >>> option_of(("notes", "a/b")), option_of(("notes/a", "b"))
        ('notes/a/b', 'notes%2Fa/b')
    """
    source = key[0].replace("%", "%25").replace("/", "%2F")
    return f"{source}/{key[1]}"


def file_name(query: str, traces: Iterable[str], what: str) -> str:
    """Return what a file is called that tells something of a question, and of which answers it is.

    Example:
        >>> file_name("When do invoices go out?", ["86dd81fd0f", "sample-latest"], "compared.csv")
        'when-do-invoices-go-out-86dd81fd-sample-latest-compared.csv'
    """
    words = re.findall(r"[a-z0-9]+", query.lower()[:200])
    names = (trace if trace.startswith("sample-") else trace[:8] for trace in traces)
    return "-".join([*words[:6], *names, what])


def plain(label: str) -> str:
    r"""Return a label that Streamlit shows as it is: names of sources and signals are not Markdown.

    An underscore within a word is no Markdown, and would be read aloud with its backslash.

    Example:
        >>> print(plain("a_b *c*"), plain("_d_"))
        a_b \*c\* \_d\_
    """
    return _MARKDOWN.sub(r"\\\g<0>", label)
