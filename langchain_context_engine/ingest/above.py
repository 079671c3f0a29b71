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


_DOCUMENTING = "/**"


def with_comments_above(frame: Frame) -> tuple[int, str]:
    """Return the first row of a definition with the comments above it that are its own, and their text.

    Its own are those right above it, and one that documents (JSDoc, Javadoc, Doxygen, PHPDoc) with an empty
    row between as well.
    """
    frame = _as_lines(frame)
    first_row = frame.node.start_point.row
    comments: list[str] = []
    for index in range(frame.index - 1, -1, -1):
        above = frame.siblings[index]
        is_attribute_above = is_attribute(above, frame.source)
        if not (above.type in _ABOVE or is_attribute_above):
            break
        if last_row(above) < first_row - 1 and not _documents(frame, index, first_row):
            break
        if index and last_row(frame.siblings[index - 1]) == above.start_point.row:
            break  # it ends the line of something else
        first_row = above.start_point.row
        if is_attribute_above:
            comments.append(said_by(frame.text(above)))
        elif "comment" in above.type:
            comments.append(frame.text(above).rstrip("\n"))
    return first_row, "\n".join(reversed(comments))


def _as_lines(frame: Frame) -> Frame:
    """Return the outermost node that is the same lines, as the call is that is given a function to keep."""
    while frame.above is not None:
        node, above = frame.node, frame.above.node
        begins_a_body = frame.index == 0 and above.start_byte == node.start_byte  # as in Ruby
        is_same = above.start_point.row == node.start_point.row and last_row(above) == last_row(node)
        if not begins_a_body and (not is_same or frame.above.above is None):
            break
        frame = frame.above
    return frame


def _documents(frame: Frame, index: int, first_row: int) -> bool:
    """Say whether a comment documents what follows an empty row; a file's first one documents the file."""
    comment = frame.siblings[index]
    is_the_files = index == 0 and (frame.above is None or frame.above.above is None)
    is_near = last_row(comment) == first_row - 2  # rows, counted from 0
    return is_near and not is_the_files and frame.text(comment).startswith(_DOCUMENTING)


def last_row(node: Node) -> int:
    """Return the last row with text of a node; a line comment of Rust ends at the next row's start."""
    end = node.end_point
    return max(end.row - 1, node.start_point.row) if end.column == 0 else end.row
