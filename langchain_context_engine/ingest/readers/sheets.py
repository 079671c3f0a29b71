"""XLSX: the rows of each sheet under its header, dates and numbers kept; through the extra `documents`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from itertools import islice
from typing import Any

from langchain_context_engine.ingest.readers.tables import is_header
from langchain_context_engine.ingest.readers.word import refuse_bomb
from langchain_context_engine.ingest.sections import Document, Section
from langchain_context_engine.ingest.skipped import Skipped, SkippedError

Row = tuple[int, list[str]]
"""The number of a row, as the sheet counts, and its cells as text."""

_MOST_ROWS = 200_000
_LONGEST_HEADER_SHARE = 3


def read_xlsx(path: str, data: bytes, chunk_size: int) -> Document:
    """Return groups of rows of every sheet as CSV, each under its sheet's header.

    A formula is what it came to when the file was saved. Rows keep the numbers that the sheet shows.

    Raises:
        SkippedError: unsupported without the extra, invalid, encrypted, empty, or too large once unpacked.
    """
    parts: list[str] = []
    sections: list[Section] = []
    skipped: list[Skipped] = []
    length = 0
    for sheet, rows in _sheets(path, data, skipped):
        head, below = _header(rows, chunk_size)
        for label, text in _groups(below, max(chunk_size - len(head) - 1, 1)):
            end = length + len(text)
            sections.append(
                Section(start=length, end=end, titles=(sheet,), part=label, head=head, kind="table")
            )
            parts.append(f"{text}\n\n")
            length = end + 2
    if not sections and not skipped:
        raise SkippedError("empty", "no cell has a value")
    return Document(text="".join(parts), sections=tuple(sections), has_lines=False, skipped=tuple(skipped))


def _sheets(path: str, data: bytes, skipped: list[Skipped]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the name and the rows of each sheet that can be read."""
    try:
        import openpyxl
    except ImportError:
        raise SkippedError("unsupported", 'pip install "langchain-context-engine[documents]"') from None
    if data[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise SkippedError("encrypted", "it has a password, or is of the time before XLSX")
    # Malformed files raise anything from within: KeyError, ParseError, BadZipFile …
    try:
        refuse_bomb(data)
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    except SkippedError:
        raise
    except Exception as error:  # noqa: BLE001
        raise SkippedError("invalid", f"{type(error).__name__}: {error}"[:200]) from None
    try:
        for sheet in book.worksheets:
            try:
                sheet.reset_dimensions()  # what a file says of its own size may be wrong
                yield sheet.title, _rows(sheet.iter_rows(values_only=True))
            except Exception as error:  # noqa: BLE001
                where, detail = f"{path}:{sheet.title}", f"{type(error).__name__}: {error}"[:200]
                skipped.append(Skipped(where=where, reason="invalid", detail=detail))
    finally:
        book.close()


def _rows(values: Iterator[Sequence[Any]]) -> list[Row]:
    found = []
    for number, row in enumerate(islice(values, _MOST_ROWS), 1):
        cells = [_shown(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            found.append((number, cells))
    return found


def _shown(value: Any) -> str:
    """Return a cell as text: dates by ISO 8601, whole numbers without a point."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:.15g}"
    return " ".join(str(value).split())


def _header(rows: list[Row], chunk_size: int) -> tuple[str, list[Row]]:
    """Return the header, "" where there is none or it is too long, and the rows without it.

    Titles of one cell may stand above it.
    """
    place = next((i for i, (_, cells) in enumerate(rows) if len(cells) > 1), None)
    if place is None or place + 1 == len(rows) or not is_header(rows[place][1]):
        return "", rows
    head = _line(rows[place][1])
    if len(head) * _LONGEST_HEADER_SHARE > chunk_size:
        return "", rows
    return head, rows[:place] + rows[place + 1 :]


def _groups(rows: Sequence[Row], room: int) -> Iterator[tuple[str, str]]:
    """Yield (which rows, their text) of as many rows as a passage may hold."""
    group: list[str] = []
    first = last = 0
    for number, cells in rows:
        line = _line(cells)
        if group and sum(map(len, group)) + len(group) + len(line) > room:
            yield _label(first, last), "\n".join(group)
            group = []
        first, last = (first if group else number), number
        group.append(line)
    if group:
        yield _label(first, last), "\n".join(group)


def _label(first: int, last: int) -> str:
    return f"row {first}" if first == last else f"rows {first}-{last}"


def _line(cells: Sequence[str]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(cells)
    return written.getvalue()
