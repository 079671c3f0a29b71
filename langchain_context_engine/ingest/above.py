"""What stands above a definition and belongs to it: comments, decorators, attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_context_engine.ingest.naming import Frame
from langchain_context_engine.ingest.worded import is_attribute, said_by

if TYPE_CHECKING:
    from tree_sitter import Node

_ABOVE = frozenset(
    {"comment", "line_comment", "block_comment", "attribute_item", "decorator", "multiline_comment"}
)


def with_comments_above(frame: Frame) -> tuple[int, str]:
    """Return the first row of a definition with the comments right above it, and their text."""
    while (
        frame.index == 0 and frame.above is not None and frame.above.node.start_byte == frame.node.start_byte
    ):
        frame = frame.above  # for the first of a body (Ruby) what stands before the body
    first_row = frame.node.start_point.row
    comments: list[str] = []
    for index in range(frame.index - 1, -1, -1):
        above = frame.siblings[index]
        is_attribute_above = is_attribute(above, frame.source)
        if not (above.type in _ABOVE or is_attribute_above) or last_row(above) < first_row - 1:
            break
        if index and last_row(frame.siblings[index - 1]) == above.start_point.row:
            break  # it ends the line of something else
        first_row = above.start_point.row
        if is_attribute_above:
            comments.append(said_by(frame.text(above)))
        elif "comment" in above.type:
            comments.append(frame.text(above).rstrip("\n"))
    return first_row, "\n".join(reversed(comments))


def last_row(node: Node) -> int:
    """Return the last row with text of a node; a line comment of Rust ends at the next row's start."""
    end = node.end_point
    return max(end.row - 1, node.start_point.row) if end.column == 0 else end.row
