"""In which encoding a file is that is read line by line, told by how it begins."""

from __future__ import annotations

from pathlib import Path

from langchain_context_engine.ingest.readers.decoding import BYTE_ORDER_MARKS, encoding_of
from langchain_context_engine.ingest.skipped import SkippedError

_SAMPLE_BYTES = 65_536


def encoding_of_lines(path: Path) -> str:
    """Return the encoding of a file's lines; UTF-8 where most of them are in it, or where none is sure."""
    with path.open("rb") as file:
        sample = file.read(_SAMPLE_BYTES)
    whole = sample if len(sample) < _SAMPLE_BYTES else sample[: sample.rfind(b"\n") + 1] or sample
    telling = [line for line in whole.split(b"\n") if not line.isascii()]
    if not sample.startswith(BYTE_ORDER_MARKS) and b"\0" not in whole and 2 * _utf8(telling) >= len(telling):
        return "utf-8-sig"
    try:
        return encoding_of(whole)
    except SkippedError:
        return "utf-8-sig"


def _utf8(lines: list[bytes]) -> int:
    """Return how many lines are UTF-8."""
    found = 0
    for line in lines:
        try:
            line.decode()
        except UnicodeDecodeError:
            continue
        found += 1
    return found
