"""Tables: CSV and TSV as written, and the sheets of workbooks; a few rows at a time, under the header."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from itertools import islice, pairwise
from typing import Any, NamedTuple

from langchain_context_engine.ingest.readers.conversion import library
from langchain_context_engine.ingest.readers.decoding import decode
from langchain_context_engine.ingest.readers.documents import OLD_OFFICE, PACKED
from langchain_context_engine.ingest.report import Skipped, SkippedError
from langchain_context_engine.ingest.sections import Document, Section
from langchain_context_engine.ingest.split import Splitter

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 20
_MOST_ROWS, _MOST_CELLS = 200_000, 500_000
_LARGEST_PART = 200_000_000
_FIGURE = re.compile(r"[($€£+.-]{0,2}\d[\d.,:/%)( –-]*|\d{4}-\d\d-\d\d\D.*")
_YEAR = re.compile(r"(?:19|20)\d\d(?:[/–-](?:\d\d){1,2})?")
# What a cell holds that gives no text: a formula that no program has computed, and what came to an error.
_ERROR = re.compile(rb"<c\s[^>]*\bt=\"e\"")
_UNSAVED = re.compile(rb"<f(?:\s[^>]*)?(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v></v>)?\s*</c>")


class _Row(NamedTuple):
    """A row, numbered as a spreadsheet does, and where it stands in the text."""

    number: int
    cells: Sequence[str]
    start: int
    end: int


def read_table(path: str, data: bytes, chunk_size: int) -> Document:
    r"""Return groups of rows; the header is row 1.

    Example:
        >>> [(s.part, s.head) for s in read_table("a.csv", b"day,sum\n2026-01-05,007\n", 80).sections]
        [('row 2', 'day,sum')]
    """
    text = decode(data)
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    told = lines[0].removeprefix("sep=").strip("\r") if lines[0][:4].lower() == "sep=" else ""
    delimiter = "\t" if path.lower().endswith((".tsv", ".tab")) else told[:1] or _delimiter_of(lines)
    reader = csv.reader((f"{line}\n" for line in lines[bool(told) :]), delimiter=delimiter)
    rows: list[_Row] = []
    before = int(bool(told))
    for number, cells in enumerate(reader, 1):
        after = reader.line_num + bool(told)
        if any(cell.strip() for cell in cells):
            rows.append(_Row(number, cells, starts[before], starts[after] - 1))
        before = after
    return Document(text=text, sections=tuple(_sections(rows, text, chunk_size)))


def _delimiter_of(lines: list[str]) -> str:
    """Return what parts the columns: what gives the same number in the most lines, then most columns."""

    def fit(delimiter: str) -> tuple[float, int]:
        widths = [len(row) for row in csv.reader(lines[:_SAMPLE_LINES], delimiter=delimiter) if row]
        usual = max(set(widths), key=widths.count, default=0)
        return (widths.count(usual) / len(widths), usual) if usual > 1 else (0.0, 0)

    return max(_DELIMITERS, key=fit)


def _is_header(cells: Sequence[str]) -> bool:
    """Return whether a row names columns: most have a name, and none is a figure but years beside a name."""
    names = [cell.strip() for cell in cells]
    figures = [name for name in names if _FIGURE.fullmatch(name)]
    is_named = 2 * sum(map(bool, names)) >= len(names) and names[:1] != figures[:1]
    is_numbered = names == ["", *map(str, range(len(names) - 1))]  # as pandas does
    return len(names) > 1 and (is_numbered or (is_named and all(map(_YEAR.fullmatch, figures))))


def _header_of(rows: Sequence[_Row]) -> int:
    """Return how many rows name the columns: two where a name of the first stands above several."""
    if len(rows) <= 1 or not _is_header(rows[0].cells):
        return 0
    names = [cell.strip() for cell in rows[0].cells]
    is_wide = not all(names[1:]) or any(a == b for a, b in pairwise(names))
    return 2 if is_wide and rows[2:] and _is_header(rows[1].cells) else 1


def _sections(rows: list[_Row], text: str, chunk_size: int, *titles: str) -> Iterator[Section]:
    """Yield groups of as many rows as a passage may hold, below the header; titles may stand above it."""
    place = next((i for i, row in enumerate(rows) if len(row.cells) > 1), len(rows))
    depth = _header_of(rows[place:])
    head = text[rows[place].start : rows[place + depth - 1].end] if depth else ""
    if not (head and Splitter(chunk_size=chunk_size).shows_header(len(head))):
        head, place, depth = "", 0, 0
    groups = [rows[:place]] if place else []
    room = max(chunk_size - len(head) - 1, 1)
    for row in rows[place + depth :]:
        if len(groups) > bool(place) and row.end - groups[-1][0].start <= room:
            groups[-1].append(row)
        else:
            groups.append([row])
    for number, group in enumerate(groups):
        first, last = group[0].number, group[-1].number
        label = f"row {first}" if first == last else f"rows {first}-{last}"
        above = head if number or not place else ""
        start, end = group[0].start, group[-1].end
        yield Section(start=start, end=end, titles=titles, part=label, head=above, kind="table")


def read_sheets(path: str, data: bytes, chunk_size: int) -> Document:
    """Return groups of rows of every sheet as CSV, each under its sheet's header.

    A formula is what it came to when the file was saved; those that nothing has computed are told. A merged
    region says its value in each of its rows. Rows keep the numbers that the sheet shows.
    """
    python_calamine = library("python_calamine")
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    except python_calamine.PasswordError:
        raise SkippedError("encrypted", "it has a password") from None
    except python_calamine.CalamineError as error:
        is_old = data.startswith(OLD_OFFICE) and not path.lower().endswith(".xls")
        raise SkippedError("encrypted" if is_old else "invalid", str(error)[:200]) from None
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    sections: list[Section] = []
    skipped: list[Skipped] = []
    for name in book.sheet_names:
        rows: list[_Row] = []
        try:
            sheet = book.get_sheet_by_name(name)
            most = max(1, min(_MOST_ROWS, _MOST_CELLS // max(sheet.width, 1)))
            for number, cells in _filled_rows(sheet, most):
                start = written.tell()
                writer.writerow(cells)
                rows.append(_Row(number, cells, start, written.tell() - 1))
        except python_calamine.CalamineError as error:
            skipped.append(Skipped(where=f"{path}:{name}", reason="invalid", detail=str(error)[:200]))
            continue
        written.write("\n")
        if (total := sheet.end[0] + 1 if sheet.end else 0) > most:
            detail = f"{total:,} rows; the first {most:,} are read"
            skipped.append(Skipped(where=f"{path}:{name}", reason="huge", detail=detail))
        sections += _sections(rows, written.getvalue(), chunk_size, name)
    skipped += [Skipped(where=path, reason="no value", detail=told) for told in _without_value(data)]
    if not sections and not skipped:
        raise SkippedError("empty", "no cell has a value")
    text = written.getvalue()
    return Document(text=text, sections=tuple(sections), has_lines=False, skipped=tuple(skipped))


def _filled_rows(sheet: Any, most: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (number, cells) of the rows that say something."""
    top, left = sheet.start or (0, 0)
    values = [*([[]] * top), *islice(sheet.iter_rows(), max(most - top, 0))]
    rows = [[*([""] * left), *map(_shown, row)] for row in values]
    for (top, start), (end, stop) in sheet.merged_cell_ranges or ():
        said = rows[top][start] if top < len(rows) and start < len(rows[top]) else ""
        for cells in rows[top : end + 1] if said else ():
            last = stop if any(cells[:start] + cells[stop + 1 :]) else start  # alone it is said once
            cells[start : last + 1] = [cell or said for cell in cells[start : last + 1]]
    for number, cells in enumerate(rows, 1):
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield number, cells


def _shown(value: Any) -> str:
    """Return a cell as text: dates by ISO 8601, whole numbers without a point."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, (date, time)):
        return value.isoformat()
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _without_value(data: bytes) -> Iterator[str]:
    """Yield how many cells of a workbook have a formula that nothing has computed, and how many an error."""
    if not data.startswith(PACKED):
        return
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        entries = [e for e in packed.infolist() if re.match(r"xl/worksheets/[^/]+\.xml$", e.filename)]
        parts = (packed.read(entry) for entry in entries if entry.file_size <= _LARGEST_PART)
        counts = [(len(_UNSAVED.findall(part)), len(_ERROR.findall(part))) for part in parts]
    if unsaved := sum(count for count, _ in counts):
        yield f"{unsaved} formulas without a stored value: open and save it in a spreadsheet program"
    if errors := sum(count for _, count in counts):
        yield f"{errors} cells with an error, as #REF! or #N/A"
