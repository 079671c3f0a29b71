"""Containment of foreign text: code fences, tags, attributes, inline code, and what a template's slots need.

A value stays verbatim but for this: a fence of the template's own grows beyond the longest run inside;
the `<` of a tag that the template closes becomes `&lt;`; quotes are escaped in attributes; a code fence that
the content leaves open is closed, and one is never left to share a line with something else.

Fences are those of CommonMark: three or more backticks or tildes, indented by at most three spaces, what
follows the backticks on that line holds none; closed by a line of at least as many of the same and nothing
else. Everything here reads a text once.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

_LINE = re.compile(r"(?:\A|(?<=[\n\r]))( {0,3})(`{3,}|~{3,})([^\n\r]*)")
_LAST_LINE = re.compile(r"(?:\A|[\n\r]) {0,3}(?:`{3,}|~{3,})[ \t]*\Z")
_SLOT = re.compile(r"\{\{([^{}]*)\}\}")
_ATTRIBUTE = re.compile(r"""<[A-Za-z][^<>]*=\s*(?:"[^"<>]*|'[^'<>]*)\Z""")
_LIST_MARKER = re.compile(r" {0,3}(?:[-+*]|[0-9]{1,9}[.)]) +")
_CLOSING_TAG = re.compile(r"</\s*([A-Za-z][\w:.-]*)\s*>")
_BACKTICKS = re.compile("`+")
_LINE_ENDS = re.compile(r"[\n\r]+")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A passage template as it was read.

    Attributes:
        passage: The parts of the passage.
        note: The parts of the truncation note.
        tags: Finds the tags that the template closes, or None.
        is_fenced: A fence that the header opens is around everything.
        is_inline: What follows a block may stand on the block's last line.
    """

    passage: tuple[Part, ...]
    note: tuple[Part, ...]
    tags: re.Pattern[str] | None
    is_fenced: bool
    is_inline: bool


def write_block(form: Form, values: Mapping[str, object], *, is_truncated: bool, opens_with: str) -> str:
    """Return the passage, its note included where it was cut."""
    texts = {name: "" if value is None else str(value) for name, value in values.items()}
    if opens_with and texts.get("content"):
        texts["content"] = f"{opens_with.lstrip(' ')}\n{texts['content']}"
    has_fences = any(map(has_fence, texts.values()))
    block = _filled(form.passage, texts, form.tags, has_fences=has_fences)
    if not has_fences or form.is_fenced:
        return block + (_filled(form.note, texts, form.tags, has_fences=has_fences) if is_truncated else "")
    block = close_fence(block)
    if is_truncated:
        block = _joined(block, _filled(form.note, texts, form.tags, has_fences=True))
    block = close_fence(block)
    return f"{block}\n" if form.is_inline and ends_with_fence(block) else block


def _joined(text: str, following: str) -> str:
    """Return two texts as one, the second on a new line where the first ends with a fence."""
    if ends_with_fence(text) and following and not following.startswith(("\n", "\r")):
        return f"{text}\n{following}"
    return text + following


def _filled(
    parts: Sequence[Part], texts: Mapping[str, str], tags: re.Pattern[str] | None, *, has_fences: bool
) -> str:
    pieces = []
    for part in parts:
        if isinstance(part, str):
            pieces.append(part)
        elif isinstance(part, Run):
            inside = max((longest_fence(text, part.character) for text in texts.values()), default=0)
            pieces.append(part.character * max(part.length, inside + 1 if has_fences and inside else 0))
        else:
            pieces.append(_contained(part, texts.get(part.name, ""), tags, has_fences=has_fences))
    return "".join(pieces)


def _contained(slot: Slot, text: str, tags: re.Pattern[str] | None, *, has_fences: bool) -> str:
    if slot.is_attribute:
        return html.escape(_LINE_ENDS.sub(" ", text))
    if slot.is_info:
        return _LINE_ENDS.sub(" ", text).replace("`", "'")
    if tags is not None and "<" in text:
        text = escape_tags(text, tags)
    if has_fences and not slot.fence and has_fence(text):
        text = _fences_contained(slot, text)
    return _in_ticks(text, slot.ticks) if slot.ticks else text


def _fences_contained(slot: Slot, text: str) -> str:
    if slot.is_listed and has_indented_fence(text):
        # A blank line ends the empty item; within it the indented line alone would be the fence.
        text = f"\n\n{text}"
    elif not slot.starts_line and starts_with_fence(text):
        text = f"\n{text}"
    text = close_fence(text)
    return text if slot.ends_line or not ends_with_fence(text) else f"{text}\n"


def _in_ticks(text: str, ticks: int) -> str:
    """Return a text as inline code: more backticks around it than in any run inside."""
    if "`" in text:
        ticks = max(ticks, max(map(len, _BACKTICKS.findall(text))) + 1)
        text = f" {text} "
    return "`" * ticks + text + "`" * ticks


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
