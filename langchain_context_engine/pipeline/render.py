"""Render: the written text with its sections and citations, and what everything in it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from langchain_context_engine.models.types import Key, Passage, Section
from langchain_context_engine.rendering.layout import Layout, Written


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The text, and what stands in it.

    Attributes:
        text: The text.
        tokens: `count(text)`.
        passages: In text order, with markers and costs.
        citations: Marker → key.
        sections: In text order, with costs.
    """

    text: str = ""
    tokens: int = 0
    passages: tuple[Passage, ...] = ()
    citations: Mapping[str, Key] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()


def render(written: Written, *, layout: Layout, count: Callable[[str], int]) -> Rendered:
    """Return a written text with what each of its passages and sections costs.

    Args:
        written: From pack, counted.
        layout: What it was written with.
        count: The token counter.
    """
    separator = layout.template.separator
    placed = tuple(
        replace(passage, tokens=count(separator + block if i else block))
        for i, (passage, block) in enumerate(zip(written.passages, written.blocks, strict=True))
    )
    cost = {passage.key: passage.tokens for passage in placed}
    return Rendered(
        text=written.text,
        tokens=written.tokens,
        passages=placed,
        citations={passage.citation: passage.key for passage in placed if passage.citation},
        sections=tuple(replace(s, tokens=sum(cost[key] for key in s.keys)) for s in written.sections),
    )
