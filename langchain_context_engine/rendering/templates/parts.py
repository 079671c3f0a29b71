"""Reading a template once: its literal text, its slots, and what each slot needs to contain foreign text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from langchain_context_engine.rendering.templates.fences import fence_runs

__all__ = ["Part", "Run", "Slot", "escape_tags", "read_parts", "read_slots", "slot_names", "tag_pattern"]

_SLOT = re.compile(r"\{\{([^{}]*)\}\}")
_ATTRIBUTE = re.compile(r"""<[A-Za-z][^<>]*=\s*(?:"[^"<>]*|'[^'<>]*)\Z""")
_LIST_MARKER = re.compile(r" {0,3}(?:[-+*]|[0-9]{1,9}[.)]) +")
_CLOSING_TAG = re.compile(r"</\s*([A-Za-z][\w:.-]*)\s*>")


@dataclass(frozen=True, slots=True)
class Run:
    """A run of fence characters of the template; grows beyond the longest inside of the fence."""

    character: str
    length: int


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a value.

    Attributes:
        name: The variable.
        fence: The character of the template's own fence around it, or "".
        ticks: Backticks of inline code directly around it, 0 for none.
        is_attribute: It stands in the quoted attribute of a tag.
        is_info: It stands on the line that opens the template's fence.
        starts_line: Nothing but the start of a line is before it.
        is_listed: Nothing but a list marker is before it on its line.
        ends_line: A line ends directly after it, or the template does.
    """

    name: str
    fence: str = ""
    ticks: int = 0
    is_attribute: bool = False
    is_info: bool = False
    starts_line: bool = False
    is_listed: bool = False
    ends_line: bool = False


Part = str | Run | Slot


def slot_names(text: str) -> list[str]:
    """Return what stands between double braces in a template, in order, known or not; not the blank."""
    return [name.strip() for name in _SLOT.findall(text) if name.strip()]


@lru_cache(maxsize=512)
def read_slots(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a template's literal texts and the variables between them (one fewer).

    What stands in double braces and is no name stays literal.
    """
    literals, names, start = [], [], 0
    for slot in _SLOT.finditer(text):
        if slot[1].strip().isidentifier():
            literals.append(text[start : slot.start()])
            names.append(slot[1].strip())
            start = slot.end()
    literals.append(text[start:])
    return tuple(literals), tuple(names)


def read_parts(text: str, *, starts_line: bool, outer_fence: str) -> tuple[Part, ...]:
    """Return the parts of a passage template.

    Args:
        text: The template.
        starts_line: What comes before it ends a line.
        outer_fence: The character of a fence that is open around all of it, or "".
    """
    runs = fence_runs(text)
    parts: list[Part] = []
    start = 0
    for match in _SLOT.finditer(text):
        if match[1].strip().isidentifier():
            ticks = _ticks(text, match)
            parts += _literal_parts(text, start, match.start() - ticks, runs)
            parts.append(_slot(text, match, ticks, runs, starts_line=starts_line, outer_fence=outer_fence))
            start = match.end() + ticks
    parts += _literal_parts(text, start, len(text), runs)
    return tuple(part for part in parts if part != "")


def _slot(
    text: str,
    match: re.Match[str],
    ticks: int,
    runs: list[tuple[int, int]],
    *,
    starts_line: bool,
    outer_fence: str,
) -> Slot:
    before, after = text[: match.start()], text[match.end() :]
    line_start = max(before.rfind("\n"), before.rfind("\r")) + 1
    opened = [run for run in runs if run[0] < match.start()]
    fence = text[opened[-1][0]] if len(opened) % 2 else ""
    return Slot(
        name=match[1].strip(),
        fence=outer_fence or fence,
        ticks=ticks,
        is_attribute=_ATTRIBUTE.search(_SLOT.sub("x", before)) is not None,
        is_info=fence != "" and line_start <= opened[-1][0],
        starts_line=(starts_line or line_start > 0) and before[line_start:] in {"", " ", "  ", "   "},
        is_listed=_LIST_MARKER.fullmatch(before[line_start:]) is not None,
        ends_line=after == "" or after.startswith(("\n", "\r")),
    )


def _ticks(text: str, slot: re.Match[str]) -> int:
    """Return how many backticks of inline code stand on both sides of a slot, 0 if they do not pair."""
    before, after = text[: slot.start()], text[slot.end() :]
    left, right = len(before) - len(before.rstrip("`")), len(after) - len(after.lstrip("`"))
    return left if left == right else 0


def _literal_parts(text: str, start: int, end: int, runs: list[tuple[int, int]]) -> list[Part]:
    parts: list[Part] = []
    for run_start, run_end in runs:
        if start <= run_start and run_end <= end:
            parts += [text[start:run_start], Run(text[run_start], run_end - run_start)]
            start = run_end
    return [*parts, text[start:end]]


def tag_pattern(texts: Iterable[str]) -> re.Pattern[str] | None:
    """Return what finds the `<` of tags that some template texts close; None if they close none."""
    names = sorted({name for text in texts for name in _CLOSING_TAG.findall(text)})
    if not names:
        return None
    either = "|".join(map(re.escape, names))
    return re.compile(rf"<(?=\s*/\s*(?:{either})(?![\w:.-])|(?:{either})(?:[\s/>]|\Z))", re.IGNORECASE)


def escape_tags(text: str, tags: re.Pattern[str]) -> str:
    """Return a text in which no tag that the pattern finds (see `tag_pattern`) is a tag."""
    return tags.sub("&lt;", text)
