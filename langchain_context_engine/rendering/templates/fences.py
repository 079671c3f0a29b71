"""Markdown code fences as CommonMark defines them: which one is open where, and what closes it.

A fence opens with three or more backticks or tildes, indented by at most three spaces; what follows the
backticks on that line holds none. It closes with a line of at least as many of the same character and
nothing else. Everything here reads a text once.
"""

from __future__ import annotations

import re

__all__ = [
    "close_fence",
    "ends_with_fence",
    "fence_runs",
    "has_fence",
    "has_indented_fence",
    "longest_fence",
    "open_fence_at",
    "starts_with_fence",
]

_LINE = re.compile(r"(?:\A|(?<=[\n\r]))( {0,3})(`{3,}|~{3,})([^\n\r]*)")
_LAST_LINE = re.compile(r"(?:\A|[\n\r]) {0,3}(?:`{3,}|~{3,})[ \t]*\Z")


def has_fence(text: str) -> bool:
    """Return whether a text could have a fence at all; fast."""
    return "```" in text or "~~~" in text


def has_indented_fence(text: str) -> bool:
    """Return whether a line that could open or close a fence is indented."""
    return any(line[1] for line in _LINE.finditer(text))


def open_fence_at(text: str, offset: int) -> str:
    r"""Return the line that opened the fence in which an offset of a text lies, or "".

    A piece that begins at the offset needs this line before it to be read as what it was. Within
    the opening line itself the fence counts as open, within the closing line as closed.

    Args:
        text: The whole text.
        offset: Where a piece begins, 0 to `len(text)`.

    Example:
        >>> open_fence_at("Intro\n```python\nprint(1)\n```\nend", 18)
        '```python'
        >>> open_fence_at("Intro\n```python\nprint(1)\n```\nend", 30)
        ''
    """
    opener: re.Match[str] | None = None
    for line in _LINE.finditer(text):
        if line.start(2) >= offset:
            break
        opener = _after(opener, line)
    return opener[0] if opener else ""


def _after(opener: re.Match[str] | None, line: re.Match[str]) -> re.Match[str] | None:
    """Return the fence that is open after a line that may open or close one."""
    _, run, rest = line.groups()
    if opener is None:
        return line if run[0] == "~" or "`" not in rest else None
    closes = run.startswith(opener[2]) and not rest.strip(" \t")
    return None if closes else opener


def close_fence(text: str) -> str:
    r"""Return a text with the fence that is open at its end closed, on a line of its own.

    The closing line is as long and as indented as the opening one.

    Example:
        >>> close_fence("~~~~sh\nls")
        '~~~~sh\nls\n~~~~'
    """
    opener = open_fence_at(text, len(text))
    if not opener:
        return text
    line = _LINE.match(opener)
    closer = line[1] + line[2] if line else ""
    return text + ("" if text.endswith(("\n", "\r")) else "\n") + closer


def starts_with_fence(text: str) -> bool:
    """Return whether the first line of a text opens a fence."""
    line = _LINE.match(text)
    return line is not None and _after(None, line) is not None


def ends_with_fence(text: str) -> bool:
    """Return whether the last line of a text is a fence, so that nothing may follow on that line."""
    return _LAST_LINE.search(text, max(text.rfind("\n"), text.rfind("\r"), 0)) is not None


def fence_runs(text: str) -> list[tuple[int, int]]:
    """Return where the runs stand that open and close fences, opener and closer in turn."""
    runs: list[tuple[int, int]] = []
    opener: re.Match[str] | None = None
    for line in _LINE.finditer(text):
        following = _after(opener, line)
        if following is not opener:
            runs.append(line.span(2))
        opener = following
    return runs


def longest_fence(text: str, character: str) -> int:
    """Return the length of the longest run of three or more of a character, 0 if there is none."""
    if character * 3 not in text:
        return 0
    return max(len(run) for run in re.findall(re.escape(character) + "{3,}", text))
