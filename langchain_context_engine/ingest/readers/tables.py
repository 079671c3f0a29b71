"""CSV and TSV: rows as written, a few at a time, each time under the header."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from langchain_context_engine.ingest.sections import Document, Section
from langchain_context_engine.ingest.skipped import Skipped

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 20
_SAMPLE_CHARACTERS = 20_000
_LONGEST_HEADER_SHARE = 3


def read_table(path: str, text: str, chunk_size: int) -> Document:
    r"""Return groups of rows; numbered as a spreadsheet does, the header is row 1.

    Example:
        >>> [(s.part, s.head) for s in read_table("a.csv", "day,sum\n2026-01-05,007\n", 80).sections]
        [('row 2', 'day,sum')]
    """
    delimiter = "\t" if path.lower().endswith((".tsv", ".tab")) else delimiter_of(text)
    rows, skipped = _row_spans(path, text, delimiter)
    if not rows:
        return Document(text=text, sections=(), skipped=skipped)
    has_header = len(rows) > 1 and is_header(rows[0][2])
    start, end, _ = rows[0]
    head = text[start:end] if has_header and (end - start) * _LONGEST_HEADER_SHARE <= chunk_size else ""
    first = 1 if has_header else 0
    sections = tuple(_groups(rows, first, head, chunk_size))
    return Document(text=text, sections=sections, skipped=skipped)


def delimiter_of(text: str) -> str:
    """Return what parts the columns: what gives the same number in the most lines, then most columns."""
    lines = text[:_SAMPLE_CHARACTERS].split("\n")[:_SAMPLE_LINES]

    def fit(delimiter: str) -> tuple[float, int]:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            return (0.0, 0)
        usual = max(set(widths), key=widths.count, default=0)
        return (widths.count(usual) / len(widths), usual) if usual > 1 else (0.0, 0)

    return max(_DELIMITERS, key=fit)


def _row_spans(
    path: str, text: str, delimiter: str
) -> tuple[list[tuple[int, int, list[str]]], tuple[Skipped, ...]]:
    """Return (start, end, cells) of each row; a quote that is never closed ends the reading."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
    rows: list[tuple[int, int, list[str]]] = []
    before = 0
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append((starts[before], starts[reader.line_num] - 1, cells))
            before = reader.line_num
    except csv.Error as error:
        return rows, (Skipped(where=f"{path}:{before + 1}", reason="invalid", detail=str(error)),)
    return rows, ()


def is_header(cells: Sequence[str]) -> bool:
    """Return whether a row names columns: each has a word of its own and none is a number."""
    names = [cell.strip() for cell in cells]
    return all(name and not name[0].isdigit() and name[0] not in "+-." for name in names) and len(
        set(names)
    ) == len(names)


def _groups(
    rows: Sequence[tuple[int, int, list[str]]], first: int, head: str, chunk_size: int
) -> Iterator[Section]:
    room = max(chunk_size - len(head) - 1, 1)
    group = first
    for number in range(first, len(rows)):
        is_last = number + 1 == len(rows)
        if is_last or rows[number + 1][1] - rows[group][0] > room:
            label = f"row {group + 1}" if number == group else f"rows {group + 1}-{number + 1}"
            yield Section(start=rows[group][0], end=rows[number][1], part=label, head=head, kind="table")
            group = number + 1
