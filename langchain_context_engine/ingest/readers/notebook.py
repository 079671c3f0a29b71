"""Jupyter notebooks: cells in order, without outputs, under the headings of their Markdown cells."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_context_engine.ingest.readers.markdown import markdown_headings
from langchain_context_engine.ingest.sections import Document, Heading, Section
from langchain_context_engine.ingest.skipped import Skipped, SkippedError

_TEXTS = {"code", "markdown", "heading"}


def read_notebook(path: str, text: str, chunk_size: int) -> Document:
    """Return the cells of a notebook, small ones that follow each other under one heading together.

    Raises:
        SkippedError: invalid.
    """
    cells, language = _cells(text)
    skipped: list[Skipped] = []
    parts: list[str] = []
    sections: list[Section] = []
    trail: list[Heading] = []
    length = group_start = 0
    first = last = 0

    def close() -> None:
        nonlocal group_start
        if length > group_start:
            label = f"cell {first}" if first == last else f"cells {first}-{last}"
            titles = tuple(heading.title for heading in trail if heading.title)
            sections.append(
                Section(
                    start=group_start,
                    end=length,
                    titles=titles,
                    part=label,
                    kind="notebook",
                    metadata={"language": language},
                )
            )
        group_start = length

    for number, cell in enumerate(cells, 1):
        source = _source(cell)
        if source is None:
            skipped.append(Skipped(where=f"{path}:cell {number}", reason="invalid"))
            continue
        if not source.strip():
            continue
        is_code = cell.get("cell_type") == "code"
        headings = [] if is_code else list(markdown_headings(source))
        shown = f"```{language}\n{source}\n```\n\n" if is_code else f"{source}\n\n"
        if headings or length - group_start + len(shown) > chunk_size:
            close()
        for heading in headings:
            trail[:] = [*(above for above in trail if above.level < heading.level), heading]
        if group_start == length:
            first = number
        last = number
        parts.append(shown)
        length += len(shown)
    close()
    return Document(text="".join(parts), sections=tuple(sections), has_lines=False, skipped=tuple(skipped))


def _cells(text: str) -> tuple[list[Mapping[str, Any]], str]:
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SkippedError("invalid", f"no notebook: {error}"[:200]) from None
    if not isinstance(notebook, dict):
        raise SkippedError("invalid", "no notebook")
    cells = list(_listed(notebook.get("cells")))
    for sheet in _listed(notebook.get("worksheets")):  # version 3 of the format
        cells.extend(_listed(sheet.get("cells")))
    if not cells and not isinstance(notebook.get("cells"), list):
        raise SkippedError("invalid", "no notebook: it has no cells")
    metadata = notebook.get("metadata")
    for holder in ("language_info", "kernelspec"):
        said = metadata.get(holder) if isinstance(metadata, dict) else None
        name = (
            (said.get("name") if holder == "language_info" else said.get("language"))
            if isinstance(said, dict)
            else None
        )
        if isinstance(name, str) and name.isidentifier():
            return cells, name
    return cells, "python"


def _listed(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _source(cell: Mapping[str, Any]) -> str | None:
    """Return what a cell says; None where it is no text; "" for raw cells."""
    if cell.get("cell_type") not in _TEXTS:
        return "" if cell.get("cell_type") == "raw" else None
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        return None
    source = source.strip("\n")
    if cell.get("cell_type") != "heading":
        return source
    level = cell.get("level")
    marks = level if isinstance(level, int) and level in range(1, 7) else 1
    return f"{'#' * marks} {source}"
