"""Writing one passage so that foreign text stays in its place: fences, tags, attributes, inline code.

A value stays verbatim but for this: a fence of the template's own grows beyond the longest run inside;
the `<` of a tag that the template closes becomes `&lt;`; quotes are escaped in attributes; a code fence that
the content leaves open is closed, and one is never left to share a line with something else.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_context_engine.rendering.templates.fences import (
    close_fence,
    ends_with_fence,
    has_fence,
    has_indented_fence,
    longest_fence,
    starts_with_fence,
)
from langchain_context_engine.rendering.templates.parts import Part, Run, Slot, escape_tags

__all__ = ["Form", "write_block"]

_BACKTICKS = re.compile("`+")
_LINE_ENDS = re.compile(r"[\n\r]+")


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
