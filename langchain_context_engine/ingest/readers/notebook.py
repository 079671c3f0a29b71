"""Jupyter notebooks: cells in order, without outputs, under the headings of their Markdown cells."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from langchain_context_engine.ingest.readers.markdown import markdown_headings
from langchain_context_engine.ingest.report import SkippedError
from langchain_context_engine.ingest.sections import Document, Heading, Parts, Section, sections_under


def read_notebook(path: str, text: str, chunk_size: int) -> Document:
    """Return the cells of a notebook, small ones that follow each other under one heading together."""
    cells, language = _cells(text)
    parts, headings = Parts(), list[Heading]()
    for number, cell in enumerate(cells, 1):
        source = _source(cell)
        if source is None:
            parts.leave_out(f"{path}:cell {number}", "invalid")
        elif source.strip():
            is_code = cell.get("cell_type") == "code"
            for each in () if is_code else markdown_headings(source):
                start, end = parts.length + each.start, parts.length + each.end
                headings.append(replace(each, start=start, end=end))
            parts.add(f"```{language}\n{source}\n```\n\n" if is_code else f"{source}\n\n", part=str(number))
    whole = parts.document()
    sections: list[Section] = []
    for section in sections_under(whole.text, headings, kind="notebook", metadata={"language": language}):
        inside = [c for c in whole.sections if c.start < section.end and c.end > section.start]
        first, begin = 0, section.start
        for place, held in enumerate(inside, 1):  # as few parts as a passage may hold, each of whole cells
            end = min(held.end, section.end)
            if place < len(inside) and min(inside[place].end, section.end) - begin <= chunk_size:
                continue
            numbers = "-".join(dict.fromkeys((inside[first].part, held.part)))
            label = f"cell{'s' if '-' in numbers else ''} {numbers}"
            sections.append(replace(section, start=begin, end=end, part=label))
            first, begin = place, end
    return replace(whole, sections=tuple(sections))


def _cells(text: str) -> tuple[list[Mapping[str, Any]], str]:
    try:
        held = _object(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise SkippedError("invalid", f"no notebook: {error}"[:200]) from None
    sheets = [held, *_objects(held.get("worksheets"))]  # of version 3 of the format
    cells = [cell for sheet in sheets for cell in _objects(sheet.get("cells"))]
    if not cells and not isinstance(held.get("cells"), list):
        raise SkippedError("invalid", "no notebook: it has no cells")
    metadata = _object(held.get("metadata"))
    info, kernel = _object(metadata.get("language_info")), _object(metadata.get("kernelspec"))
    names = (info.get("name"), kernel.get("language"))
    return cells, next((n for n in names if isinstance(n, str) and n.isidentifier()), "python")


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    yield from map(_object, value if isinstance(value, list) else ())


def _source(cell: Mapping[str, Any]) -> str | None:
    """Return what a cell says; None where it is no text; "" for raw cells."""
    kind = cell.get("cell_type")
    if kind not in ("code", "markdown", "heading"):
        return "" if kind == "raw" else None
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        return None
    level = cell.get("level")
    marks = "#" * (level if isinstance(level, int) and level in range(1, 7) else 1)
    return f"{marks} {source.strip()}" if kind == "heading" else source.strip("\n")
