"""Containment of foreign text: code fences, tags, attributes, and what a template's slots need.

A value stays verbatim but for this: a fence of the template's own grows beyond the longest run inside;
the `<` of a tag that the template closes becomes `&lt;`; quotes are escaped in attributes; a code fence that
the content leaves open is closed, and one is never left to share a line with something else.

Everything here reads a text once.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from langchain_context_engine.text.text_tables import FENCE, fences

_LAST_LINE = re.compile(r"(?:\A|[\n\r]) *(?:`{3,}|~{3,})[ \t]*\Z")
_SLOT = re.compile(r"\{\{([^{}]*)\}\}")
_ATTRIBUTE = re.compile(r"""<[A-Za-z][^<>]*=\s*(?:"[^"<>]*|'[^'<>]*)\Z""")
_LIST_MARKER = re.compile(r" {0,3}(?:[-+*]|[0-9]{1,9}[.)]) +")
_CLOSING_TAG = re.compile(r"</\s*([A-Za-z][\w:.-]*)\s*>")
_LINE_ENDS = re.compile(r"[\n\r]+")


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a value.

    Attributes:
        name: The variable.
        is_fenced: It stands in a fence of the template.
        is_attribute: It stands in the quoted attribute of a tag.
        is_info: It stands on the line that opens the template's fence.
        starts_line: Nothing but the start of a line is before it.
        is_listed: Nothing but a list marker is before it on its line.
        ends_line: A line ends directly after it, or the template does.
    """

    name: str
    is_fenced: bool
    is_attribute: bool
    is_info: bool
    starts_line: bool
    is_listed: bool
    ends_line: bool

    def contain(self, text: str, tags: re.Pattern[str] | None, *, has_fences: bool) -> str:
        """Return a value as it may stand here."""
        if self.is_attribute:
            return html.escape(_LINE_ENDS.sub(" ", text))
        if self.is_info:
            return _LINE_ENDS.sub(" ", text).replace("`", "'")
        if tags is not None and "<" in text:
            text = tags.sub("&lt;", text)
        if has_fences and not self.is_fenced and has_fence(text):
            if self.is_listed and any(line[1] for line in FENCE.finditer(text)):
                # A blank line ends the empty item; within it the indented line alone would be the fence.
                text = f"\n\n{text}"
            elif not self.starts_line and any(opener.start() == 0 for opener, _ in fences(text)):
                text = f"\n{text}"
            text = close_fence(text)
            text = text if self.ends_line or not ends_with_fence(text) else f"{text}\n"
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A passage template as it was read.

    Attributes:
        passage: Its literal texts and slots.
        note: Those of the truncation note.
        tags: Finds the tags that the template closes, or None.
        has_fence: The passage has a fence of its own.
        is_plain: Values that hold no fence stand in it as they are.
        is_inline: What follows a block may stand on the block's last line.
    """

    passage: tuple[str | Slot, ...]
    note: tuple[str | Slot, ...]
    tags: re.Pattern[str] | None
    has_fence: bool
    is_plain: bool
    is_inline: bool

    def write(self, texts: Mapping[str, str], *, is_truncated: bool, has_fences: bool) -> str:
        """Return the passage, its note included where it was cut; `has_fences`: a value may hold a fence."""
        if self.is_plain and not has_fences:
            parts = self.passage + self.note if is_truncated else self.passage
            return "".join([part if isinstance(part, str) else texts.get(part.name, "") for part in parts])
        block = self._filled(self.passage, texts, has_fences=has_fences)
        note = self._filled(self.note, texts, has_fences=has_fences) if is_truncated else ""
        if not has_fences:
            return block + note
        block = close_fence(block)
        if note and not note.startswith(("\n", "\r")) and ends_with_fence(block):
            block += "\n"
        block = close_fence(block + note)
        return f"{block}\n" if self.is_inline and ends_with_fence(block) else block

    def _filled(self, parts: Iterable[str | Slot], texts: Mapping[str, str], *, has_fences: bool) -> str:
        return "".join(
            [
                part
                if isinstance(part, str)
                else part.contain(texts.get(part.name, ""), self.tags, has_fences=has_fences)
                for part in parts
            ]
        )


def slot_names(text: str) -> list[str]:
    """Return what stands between double braces in a template, in order, known or not; not the blank."""
    return [name.strip() for name in _SLOT.findall(text) if name.strip()]


def fill(template_text: str, values: Mapping[str, object]) -> str:
    """Return a template's text with its variables filled in, in one pass.

    A variable without a value, or with None, is nothing. What stands in double braces and is no
    name stays as it is.
    """

    def value(slot: re.Match[str]) -> str:
        name = slot[1].strip()
        found = values.get(name)
        return slot[0] if not name.isidentifier() else "" if found is None else str(found)

    return _SLOT.sub(value, template_text) if "{{" in template_text else template_text


def read_parts(text: str, *, starts_line: bool) -> tuple[str | Slot, ...]:
    """Return the literal texts and slots of a passage template.

    Args:
        text: The template.
        starts_line: What comes before it ends a line.
    """
    runs = [start for start, _ in fence_runs(text)]
    parts: list[str | Slot] = []
    start = 0
    for match in _SLOT.finditer(text):
        if not match[1].strip().isidentifier():
            continue
        before, after = text[: match.start()], text[match.end() :]
        line_start = max(before.rfind("\n"), before.rfind("\r")) + 1
        opened = [run for run in runs if run < match.start()]
        is_inside = len(opened) % 2 == 1
        parts.append(text[start : match.start()])
        parts.append(
            Slot(
                name=match[1].strip(),
                is_fenced=is_inside,
                is_attribute=_ATTRIBUTE.search(_SLOT.sub("x", before)) is not None,
                is_info=is_inside and line_start <= opened[-1],
                starts_line=(starts_line or line_start > 0) and before[line_start:] in {"", " ", "  ", "   "},
                is_listed=_LIST_MARKER.fullmatch(before[line_start:]) is not None,
                ends_line=after == "" or after.startswith(("\n", "\r")),
            )
        )
        start = match.end()
    return (*parts, text[start:])


def tag_pattern(texts: Iterable[str]) -> re.Pattern[str] | None:
    """Return what finds the `<` of tags that some template texts close; None if they close none."""
    names = sorted({name for text in texts for name in _CLOSING_TAG.findall(text)})
    if not names:
        return None
    either = "|".join(map(re.escape, names))
    return re.compile(rf"<(?=\s*/\s*(?:{either})(?![\w:.-])|(?:{either})(?:[\s/>]|\Z))", re.IGNORECASE)


def has_fence(text: str) -> bool:
    """Return whether a text could have a fence at all; fast."""
    return "```" in text or "~~~" in text


def open_fence_at(text: str, offset: int, *, is_read: bool = False) -> str:
    """Return the line that opened the fence in which an offset of a text lies, or "".

    A piece that begins at the offset needs this line before it to be read as what it was. Within
    the opening line itself the fence counts as open, within the closing line as closed.

    Args:
        text: The whole text.
        offset: Where a piece begins, 0 to `len(text)`.
        is_read: As its author means it, see `fences`.
    """
    for opener, closer in fences(text, is_read=is_read):
        if opener.start(2) < offset and (closer is None or closer.start(2) >= offset):
            return opener[0]
    return ""


def close_fence(text: str) -> str:
    """Return a text with the fence that is open at its end closed, on a line of its own.

    The closing line is as long and as indented as the opening one.
    """
    opener = open_fence_at(text, len(text))
    if not opener:
        return text
    line = FENCE.match(opener)
    closer = " " * len(line[1]) + line[2] if line else ""
    return text + ("" if text.endswith(("\n", "\r")) else "\n") + closer


def ends_with_fence(text: str) -> bool:
    """Return whether the last line of a text is a fence, so that nothing may follow on that line."""
    return _LAST_LINE.search(text, max(text.rfind("\n"), text.rfind("\r"), 0)) is not None


def fence_runs(text: str) -> list[tuple[int, int]]:
    """Return where the runs stand that open and close fences, opener and closer in turn."""
    return [line.span(2) for block in fences(text) for line in block if line]


def grown(template_text: str, values: Iterable[str]) -> str:
    """Return a template's text whose own fences are longer than any run of theirs in some values."""
    values = list(values)
    for start, end in reversed(fence_runs(template_text)):
        run = longer_run(template_text[start:end], values)
        template_text = template_text[:start] + run + template_text[end:]
    return template_text


def longer_run(run: str, values: Iterable[str]) -> str:
    """Return a run of a fence's character that is longer than any of three or more in some values."""
    character, found = run[0], re.compile(re.escape(run[0]) + "{3,}")
    inside = (len(each) for value in values if character * 3 in value for each in found.findall(value))
    return character * max(len(run), max(inside, default=0) + 1)
