"""Render: the written text with its sections and citations, and what everything in it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from langchain_context_engine.rendering.layout import Layout, Written, count_parts


def render(written: Written, *, layout: Layout, count: Callable[[str], int]) -> Written:
    """Return a written text with what each of its passages and sections costs.

    Args:
        written: From pack, counted.
        layout: What it was written with.
        count: The token counter.
    """
    placed, before = [], ""
    for passage, block in zip(written.passages, written.blocks, strict=True):
        placed.append(replace(passage, tokens=count_parts((before, *block.parts), count)))
        before = layout.template.separator
    cost = {passage.key: passage.tokens for passage in placed}
    sections = tuple(replace(s, tokens=sum(cost[key] for key in s.keys)) for s in written.sections)
    return replace(written, passages=tuple(placed), sections=sections)
