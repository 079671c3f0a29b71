"""Templates: how a passage looks, what stands around the passages, and how foreign text is kept in its place.

A template names variables in double braces. They are filled in one pass: a value is never read again,
no attribute is looked up, a missing value is nothing. A template that could never render is refused
when it is made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import lru_cache

from langchain_context_engine.errors import TemplateError
from langchain_context_engine.models.freeze import clean_text, set_fields
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.rendering.containment import (
    Form,
    fence_runs,
    grown,
    has_fence,
    open_fence_at,
    read_parts,
    slot_names,
    tag_pattern,
)

_PASSAGE = frozenset(
    {"content", "type", "source", "id", "title", "place", "citation", "confidence", "timestamp", "score"}
)
_LINE_OF_PLACE = re.compile(r"\{\{\s*place\s*\}\}\n?")
_REMARK = re.compile(r" ?\(([^()]*\{\{[^()]*)\)")
_ATTRIBUTE = re.compile(r""" [\w:-]+="\{\{\s*(\w+)\s*\}\}\"""")
_VARIABLES: Mapping[str, frozenset[str]] = {
    "header": frozenset({"count", "sources"}),
    "passage": _PASSAGE,
    "separator": frozenset(),
    "footer": frozenset({"count", "sources"}),
    "section": frozenset({"title", "count"}),
    "note": _PASSAGE,
}


@dataclass(frozen=True, slots=True)
class Template:
    """How a context looks.

    Attributes:
        name: What it is called.
        header: Before everything. Variables: count (of passages), sources (how many).
        passage: Each passage. Variables: content, type, source, id, title, citation, confidence (two
            decimals), timestamp (ISO 8601), score (three decimals), place (`a.py:3-9 · Tea.brew`). Where
            there is no place, or the passage before has the same, the line break behind the variable
            goes too. A remark in round brackets is left out where nothing of it is known, of several in
            it, parted by commas, those that are not; so is an attribute.
        separator: Between passages, and between sections. No variables.
        footer: After everything; variables as in the header.
        section: The heading of each section; "" for none. Variables: title, count.
        note: After a passage that was cut; variables as in the passage.

    Raises:
        TemplateError: A field is no string, names a variable that it does not have (the known ones
            are listed), or opens a code fence that is not closed.

    Example:
        >>> brief = Template(name="brief", passage="- {{content}} ({{source}})")
        >>> passage_block(brief, {"content": "JWT it is", "source": "notes"})
        '- JWT it is (notes)'
        >>> Template(name="bad", passage="{{contnet}}")
        Traceback (most recent call last):
        ...
        langchain_context_engine.errors.TemplateError: template 'bad': passage has no variable \
'contnet'; known: citation, confidence, content, id, place, score, source, timestamp, title, type
    """

    name: str
    header: str = ""
    passage: str = "- {{content}}"
    separator: str = "\n"
    footer: str = ""
    section: str = ""
    note: str = "\n\n*(truncated)*"

    @property
    def variables(self) -> frozenset[str]:
        """The variables that a passage and its note name."""
        return _variables(self.passage, self.note)

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, str):
                raise TemplateError(
                    f"template {self.name!r}: {field.name} must be a string, got {type(value).__name__}"
                )
            set_fields(self, **{field.name: clean_text(value)})
            known = _VARIABLES.get(field.name, frozenset())
            for name in slot_names(value) if field.name != "name" else ():
                if name not in known:
                    raise TemplateError(
                        f"template {self.name!r}: {field.name} has no variable {name!r};"
                        f" known: {', '.join(sorted(known)) or 'none'}"
                    )
        if not self.name:
            raise TemplateError("a template needs a name")
        for field_name in ("passage", "header", "section"):
            text = getattr(self, field_name)
            if fence := open_fence_at(text, len(text)):
                raise TemplateError(
                    f"template {self.name!r}: {field_name} opens a code fence ({fence}) that is not closed"
                )


TEMPLATES: Mapping[str, Template] = {
    template.name: template
    for template in (
        # No note: it would cost as much as a short sentence, and the ellipsis shows what is cut.
        Template(name="placed", passage="{{citation}} {{place}}\n{{content}}", separator="\n\n", note=""),
        Template(name="cited", passage="{{citation}} {{content}}", separator="\n\n", note=""),
        Template(
            name="chat",
            header="Relevant context from past conversations:\n\n",
            footer="\n",
        ),
        Template(
            name="detailed",
            header="Relevant memories:\n\n",
            passage="[{{type}}] {{content}} (confidence: {{confidence}}, {{timestamp}})",
            separator="\n\n",
            footer="\n",
        ),
        Template(
            name="summary",
            header="Key information:\n",
            passage="{{content}}",
            separator=" | ",
            note=" *(truncated)*",
        ),
        Template(
            name="markdown",
            passage="### {{citation}} {{title}} ({{place}})\n\n{{content}}",
            separator="\n\n",
        ),
        Template(
            name="xml",
            header="<context>\n",
            passage=(
                '<passage citation="{{citation}}" source="{{source}}" place="{{place}}" title="{{title}}">\n'
                "{{content}}\n</passage>"
            ),
            separator="\n",
            footer="\n</context>",
            note="\n<!-- truncated -->",
        ),
        Template(
            name="sections",
            passage="{{citation}} {{place}}\n{{content}}",
            separator="\n\n",
            section="## {{title}}\n\n",
        ),
    )
}
"""The built-in templates; `chat`, `detailed` and `summary` are those of the memory design."""


@lru_cache(maxsize=256)
def _variables(*texts: str) -> frozenset[str]:
    return frozenset(name for text in texts for name in slot_names(text))


@lru_cache(maxsize=1024)
def _form(template: Template, missing: frozenset[str]) -> Form:
    before = (template.header, template.section, template.separator or "x")
    after = (template.separator or "x", template.footer)
    passage = read_parts(
        _without(template.passage, missing),
        starts_line=all(edge == "" or edge.endswith("\n") for edge in before),
    )
    note = read_parts(template.note, starts_line=False)
    tags = tag_pattern(getattr(template, field) for field in _VARIABLES)
    slots = [part for part in (*passage, *note) if not isinstance(part, str)]
    return Form(
        passage=passage,
        note=note,
        tags=tags,
        has_fence=bool(fence_runs(template.passage + template.note)),
        is_plain=tags is None and not any(slot.is_attribute or slot.is_info for slot in slots),
        is_inline=not all(edge == "" or edge.startswith("\n") for edge in after),
    )


def _without(passage: str, missing: frozenset[str]) -> str:
    """Return a template's passage without what would stand around a value that is missing."""
    if not missing:
        return passage

    def remark(found: re.Match[str]) -> str:
        told = [one for one in found[1].split(", ") if not (names := slot_names(one)) or set(names) - missing]
        return found[0].replace(found[1], ", ".join(told)) if any(map(slot_names, told)) else ""

    passage = _ATTRIBUTE.sub(lambda found: "" if found[1] in missing else found[0], passage)
    passage = _REMARK.sub(remark, passage)
    return _LINE_OF_PLACE.sub("", passage) if "place" in missing else passage


def passage_block(
    template: Template, values: Mapping[str, object], *, is_truncated: bool = False, opens_with: str = ""
) -> str:
    """Return a passage as the template shows it, with foreign text contained.

    Values stay verbatim but for what keeps them in their place: a fence of the template's own grows
    beyond the longest inside; tags that the template closes are escaped in values; a code fence
    that the content leaves open is closed on a line of its own.

    Args:
        template: The template.
        values: Variable → value; see `passage_values`.
        is_truncated: Append the template's note.
        opens_with: The line that opens the fence in which the content begins (see `open_fence_at`),
            or "". It is put before the content.
    """
    texts = {name: "" if value is None else str(value) for name, value in values.items()}
    if opens_with and texts.get("content"):
        texts["content"] = f"{opens_with.lstrip(' ')}\n{texts['content']}"
    # A passage's text may be empty while what stands around it is measured.
    missing = frozenset([name for name in template.variables if name != "content" and not texts.get(name)])
    form, has_fences = _form(template, missing), has_fence("\n".join(texts.values()))
    if has_fences and form.has_fence:
        own = {field: grown(getattr(template, field), texts.values()) for field in ("passage", "note")}
        form = _form(replace(template, **own), missing)
    return form.write(texts, is_truncated=is_truncated, has_fences=has_fences)


def passage_values(
    candidate: Candidate,
    *,
    content: str | None = None,
    score: float | None = None,
    citation: str = "",
    names: Collection[str] = _PASSAGE,
) -> dict[str, str]:
    """Return the value of every variable of a passage; "" for what is missing.

    All but the content are on one line. Confidence (0–1, from the metadata) has two decimals, score three.

    Args:
        candidate: What the passage shows.
        content: Its text, where it is not the whole text of the candidate.
        score: What it was sorted by.
        citation: Its marker.
        names: The variables that are asked for.
    """
    given = {"content": candidate.text if content is None else content, "citation": citation}
    if "score" in names:
        given["score"] = _number(score, decimals=3)
    return {name: given[name] if name in given else _SAID[name](candidate) for name in names}


def title_of(candidate: Candidate) -> str:
    """Return what a person calls a candidate: its title, else path and symbol, else path, else ""."""
    metadata = candidate.metadata
    if title := _line(metadata.get("title")):
        return title
    return "::".join(filter(None, (_line(metadata.get("path")), _line(metadata.get("symbol")))))


def _line(value: object) -> str:
    """Return a value on one line, so that it cannot leave the place it is shown in."""
    if value is None:
        return ""
    text = str(value)
    return text if text.isprintable() else " ".join(text.split())


def _number(value: object, *, decimals: int) -> str:
    """Return a share of 1 as text, clamped to 0–1; "" for what is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return ""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return ""
    return f"{min(max(number, 0.0), 1.0):.{decimals}f}" if math.isfinite(number) else ""


_SAID: Mapping[str, Callable[[Candidate], str]] = {
    "type": lambda candidate: _line(candidate.kind),
    "source": lambda candidate: _line(candidate.origin),
    "id": lambda candidate: _line(candidate.id),
    "title": title_of,
    "place": lambda candidate: candidate.place,
    "confidence": lambda candidate: _number(candidate.metadata.get("confidence"), decimals=2),
    "timestamp": lambda candidate: _timestamp(candidate.created_at),
}
"""The variables that a record itself has a value for."""


def _timestamp(instant: datetime | None) -> str:
    return "" if instant is None else instant.isoformat(timespec="seconds").replace("+00:00", "Z")
