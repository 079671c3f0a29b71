"""Templates of the memory engine: the document's own shape, and what including metadata does to one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from langchain_context_engine.models.errors import TemplateError
from langchain_context_engine.rendering.templates import Template

_METADATA = re.compile(r"\{\{\s*(?:type|confidence|timestamp)\s*\}\}")
_SHOWN = " ({{type}}, confidence: {{confidence}}, {{timestamp}})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextTemplate:
    r"""How a context of memories looks, as the memory design writes it.

    Attributes:
        name: What it is called.
        memory_format: Each memory. Variables: content, type, confidence (two decimals), timestamp
            (ISO 8601), score (the similarity, three decimals).
        separator: Between memories.
        header: Before them.
        footer: After them.
        include_metadata: True adds type, confidence and timestamp to a format that shows none of them,
            False takes a format that shows some back to the bare content; None leaves the format be.

    Example:
        >>> as_template(ContextTemplate(name="brief", memory_format="* {{content}}", separator="\n")).passage
        '* {{content}}'
    """

    name: str
    memory_format: str
    separator: str = "\n"
    header: str = ""
    footer: str = ""
    include_metadata: bool | None = None


def as_template(template: ContextTemplate | Template, *, include_metadata: bool | None = None) -> Template:
    """Return a template of the engine.

    Args:
        template: The template.
        include_metadata: Over the template's own; see `ContextTemplate`.

    Raises:
        TemplateError: It is no template, or could never render.
    """
    if isinstance(template, ContextTemplate):
        own = template.include_metadata
        plain = Template(
            name=template.name,
            header=template.header,
            passage=template.memory_format,
            separator=template.separator,
            footer=template.footer,
        )
        return as_template(plain, include_metadata=own if include_metadata is None else include_metadata)
    if not isinstance(template, Template):
        raise TemplateError(f"expected a ContextTemplate or a Template, got {type(template).__name__}")
    passage = template.passage
    shows = _METADATA.search(passage) is not None
    if include_metadata is True and not shows:
        passage += _SHOWN
    elif include_metadata is False and shows:
        passage = "{{content}}"
    return replace(template, passage=passage)
