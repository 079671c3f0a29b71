"""From a file's bytes to its records: which reader, and what it found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from langchain_context_engine.ingest.blobs import BLOB, is_data, refuse_armour
from langchain_context_engine.ingest.files import is_binary
from langchain_context_engine.ingest.formats import FORMATS, format_of
from langchain_context_engine.ingest.languages import language_of
from langchain_context_engine.ingest.outline import Outline, TooComplexError
from langchain_context_engine.ingest.readers.code import code_records, outline_of
from langchain_context_engine.ingest.readers.conversion import convert
from langchain_context_engine.ingest.readers.decoding import HEAD_BYTES, decode, without_invisible
from langchain_context_engine.ingest.readers.generated import (
    is_lock_file,
    refuse_generated_name,
    refuse_pointer,
    refuse_unwritten,
)
from langchain_context_engine.ingest.record import Record
from langchain_context_engine.ingest.sections import document_records
from langchain_context_engine.ingest.skipped import Skipped, SkippedError
from langchain_context_engine.ingest.split import Splitter

# Raised when the same file would give other records than before, so that stored ones are renewed.
EXTRACTION_VERSION = 10

_WORDS = re.compile(rb"[A-Za-z\x80-\xff]{2,40}")
_LEAST_WORDS = 5
_MANUAL_NAME = re.compile(r"\.[1-9][a-z]{0,3}$")
_ROFF = re.compile(rb"^\.[ \t]?(?:TH|Dd|SH|so)\b", re.MULTILINE)
_NOTHING = "nothing to read in it: imports, brackets, a notice of rights"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRead:
    """What was found in a file.

    Attributes:
        kind: "code" or "docs": the collection that it belongs to.
        records: In reading order.
        skipped: What within it could not be read.
    """

    kind: str
    records: tuple[Record, ...]
    skipped: tuple[Skipped, ...] = ()


def kind_of(path: str, head: bytes) -> str | None:
    r"""Return "code" or "docs", the collection that a file belongs to, or None where nothing reads it.

    Args:
        path: The file's path: its name decides where it can.
        head: Its first 8 KiB or more; decides for files without a suffix and for shared suffixes.

    Example:
        >>> kind_of("a.md", b""), kind_of("run", b"#!/bin/sh\n"), kind_of("a.png", b"")
        ('docs', 'code', None)
    """
    if language_of(path, head):
        return "code"
    # A lock file is known, though left out: as generated, not as unsupported.
    return "docs" if _format(path, head) or is_lock_file(path) else None


def _format(path: str, head: bytes) -> str | None:
    """Return a file's format: by its name, or as plain text where it has no suffix and says something."""
    name = PurePosixPath(path).name
    if (known := format_of(path)) or is_binary(head):
        return known
    if "." in name:
        return "manual" if _MANUAL_NAME.search(name) and _ROFF.search(head) else None
    return "plain" if _says_something(head) else None


def _says_something(text: bytes) -> bool:
    return len(_WORDS.findall(text)) >= _LEAST_WORDS


def read_records(
    path: str, data: bytes, *, splitter: Splitter, metadata: Mapping[str, Any] | None = None
) -> FileRead:
    """Return the records of a file.

    Args:
        path: The file's path as shown, encodable as UTF-8.
        data: Its bytes.
        splitter: How long functions and sections are cut.
        metadata: More for every record; what the file itself says (a release's date, a message's)
            goes before it.

    Raises:
        SkippedError: The whole file is left out: unsupported, binary, encoding, lfs, generated,
            minified, encrypted, invalid, empty.
    """
    refuse_pointer(data)
    refuse_armour(data)
    refuse_generated_name(path)
    read = _read(path, data, splitter, metadata or {})
    if not read.skipped and not any(record.text.strip() for record in read.records):
        raise SkippedError("empty", _NOTHING if data.strip() else "")
    return read


def _read(path: str, data: bytes, splitter: Splitter, metadata: Mapping[str, Any]) -> FileRead:
    language = language_of(path, data[: 8 * HEAD_BYTES])
    if language is not None:
        return _read_code(path, data, language, splitter, metadata)
    name = _format(path, data[:HEAD_BYTES])
    if name is None:
        raise SkippedError("unsupported")
    return _read_document(path, data, name, splitter, metadata)


def _read_code(
    path: str, data: bytes, language: str, splitter: Splitter, metadata: Mapping[str, Any]
) -> FileRead:
    text = decode(data)
    refuse_unwritten(text)
    skipped: tuple[Skipped, ...] = ()
    try:
        outline = outline_of(text, language)
    except TooComplexError:
        outline = Outline()
        detail = f"cut by lines: the parser of {language} takes too long"
        skipped = (Skipped(where=path, reason="too complex", detail=detail),)
    records = code_records(path, text, outline, language=language, splitter=splitter, metadata=metadata)
    told = tuple(record for record in records if not is_data(record.text) or _is_named(record))
    return FileRead(kind="code", records=told, skipped=skipped + _data_in(path, len(records) - len(told)))


def _data_in(path: str, stretches: int) -> tuple[Skipped, ...]:
    if not stretches:
        return ()
    said = "a stretch of data" if stretches == 1 else f"{stretches} stretches of data"
    return (Skipped(where=path, reason="data", detail=f"{said}: numbers, a picture, or no space in it"),)


def _is_named(record: Record) -> bool:
    """Return whether a record begins what has a name of its own: a macro, a function that is a table."""
    return bool(record.metadata.get("symbol")) and record.metadata.get("part", 1) == 1


def _read_document(
    path: str, data: bytes, name: str, splitter: Splitter, metadata: Mapping[str, Any]
) -> FileRead:
    file_format = FORMATS[name]
    if file_format.read_text is None:
        document = convert(name, path, data, splitter.chunk_size)
    else:
        text = without_invisible(decode(data))
        if file_format.is_data:
            refuse_unwritten(text)
        try:
            document = file_format.read_text(path, text, splitter.chunk_size)
        except (ValueError, TypeError, RecursionError) as error:  # what a hostile file makes of it
            raise SkippedError("invalid", f"{type(error).__name__}: {error}"[:200]) from None
    records = document_records(path, document, splitter, metadata)
    blobs = _data_in(path, sum(1 for _ in BLOB.finditer(document.text)))
    if blobs and file_format.is_data:  # `{"type":"FeatureCollection",` is what is left of a coastline
        records = [record for record in records if len(_WORDS.findall(record.text.encode())) >= _LEAST_WORDS]
    return FileRead(kind="docs", records=tuple(records), skipped=document.skipped + blobs)
