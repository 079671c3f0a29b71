"""DOCX: paragraphs, tables and headings in order; through the extra `documents`."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator

from langchain_context_engine.ingest.readers.tables import is_header
from langchain_context_engine.ingest.sections import Document, Heading, sections_under
from langchain_context_engine.ingest.skipped import SkippedError

_LARGEST_UNPACKED = 100_000_000
_HEADING = re.compile(r"(?:heading|überschrift|titre) ?([1-9])$", re.IGNORECASE)


def read_docx(path: str, data: bytes, chunk_size: int) -> Document:
    """Return the text of a DOCX file under its headings.

    Raises:
        SkippedError: unsupported without the extra, invalid, or too large once unpacked.
    """
    del path, chunk_size
    parts: list[str] = []
    headings: list[Heading] = []
    length = 0
    for level, text in _paragraphs(data):
        shown = text + "\n\n"
        if level is not None:
            headings.append(
                Heading(level=level, title=" ".join(text.split()), start=length, end=length + len(shown))
            )
        parts.append(shown)
        length += len(shown)
    whole = "".join(parts)
    return Document(text=whole, sections=sections_under(whole, headings), has_lines=False)


def _paragraphs(data: bytes) -> Iterator[tuple[int | None, str]]:
    """Yield (level of a heading or None, text) of what has text; a table is one text, a row a line."""
    try:
        import docx
        from docx.table import Table
    except ImportError:
        raise SkippedError("unsupported", 'pip install "langchain-context-engine[documents]"') from None
    # Malformed files raise anything from within: KeyError, XMLSyntaxError, BadZipFile …
    try:
        refuse_bomb(data)
        found: list[tuple[int | None, str]] = []
        for item in docx.Document(io.BytesIO(data)).iter_inner_content():
            if isinstance(item, Table):
                rows = [[" ".join(cell.text.split()) for cell in row.cells] for row in item.rows]
                lines = [" | ".join(cells) for cells in rows]
                if len(rows) > 1 and len(rows[0]) > 1 and is_header(rows[0]):
                    lines.insert(1, " | ".join("---" for _ in rows[0]))
                found.append((None, "\n".join(lines)))
                continue
            name = (item.style.name if item.style is not None else "") or ""
            titled = _HEADING.match(name)
            level = int(titled[1]) if titled else 0 if name == "Title" else None
            found.append((level, item.text))
    except SkippedError:
        raise
    except Exception as error:  # noqa: BLE001
        raise SkippedError("invalid", f"{type(error).__name__}: {error}"[:200]) from None
    yield from ((level, text) for level, text in found if text.strip())


def refuse_bomb(data: bytes) -> None:
    """Refuse a packed file that is huge once unpacked.

    Raises:
        SkippedError: It is.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        size = sum(entry.file_size for entry in packed.infolist())
    if size > _LARGEST_UNPACKED:
        raise SkippedError("huge", f"{size:,} bytes once unpacked")
