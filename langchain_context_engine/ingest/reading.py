"""From a file's bytes to its records: the formats of files, what reads each, and what was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from langchain_context_engine.ingest.generated import (
    BLOB,
    is_data,
    is_lock_file,
    refuse_unread,
    refuse_unwritten,
)
from langchain_context_engine.ingest.json_lines import read_rows, read_settings
from langchain_context_engine.ingest.languages import TABLES, language_of, without_mark
from langchain_context_engine.ingest.outline import Outline, TooComplexError, outline_of
from langchain_context_engine.ingest.readers.code import code_records
from langchain_context_engine.ingest.readers.conversion import convert
from langchain_context_engine.ingest.readers.decoding import HEAD_BYTES, decode, is_binary, without_invisible
from langchain_context_engine.ingest.readers.documents import read_html, read_office, read_pdf
from langchain_context_engine.ingest.readers.mail import read_mail
from langchain_context_engine.ingest.readers.markdown import read_markdown
from langchain_context_engine.ingest.readers.markup import (
    FORMS,
    marked_reader,
    read_lines,
    read_manual,
    read_plain,
    read_restructured,
    read_xml,
)
from langchain_context_engine.ingest.readers.notebook import read_notebook
from langchain_context_engine.ingest.readers.tables import read_sheets, read_table
from langchain_context_engine.ingest.record import Record
from langchain_context_engine.ingest.report import Skipped, SkippedError
from langchain_context_engine.ingest.sections import Document, document_records
from langchain_context_engine.ingest.split import Splitter

# Raised when the same file would give other records than before, so that stored ones are renewed.
EXTRACTION_VERSION = 16

_WORDS = re.compile(rb"[A-Za-z\x80-\xff]{2,40}")
_LEAST_WORDS = 5
_MANUAL_NAME = re.compile(r"\.[1-9][a-z]{0,3}$")
_MAIL = re.compile(
    rb"(?:From [^\n]{1,300}\n)?(?:[\w-]{1,60}:[ \t][^\n]*\n(?:[ \t][^\n]*\n)*)*?"
    rb"(?:Return-Path|Delivered-To|Received|Message-ID|MIME-Version):[ \t]",
    re.IGNORECASE,
)
_ROFF = re.compile(rb"^\.[ \t]?(?:TH|Dd|SH|so)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How files of a format are read; their names are in `languages.toml`.

    One of the two gives (path, text or bytes, chunk size) → document; bytes are converted in another process.
    Of data, which programs write as often as people do, what looks minified or generated is left out. A file
    may be `bulk` times as large as a text, since little of it is one.
    """

    read_text: Callable[[str, str, int], Document] | None = None
    read_bytes: Callable[[str, bytes, int], Document] | None = None
    is_data: bool = False
    bulk: int = 1


FORMATS: Mapping[str, Format] = {
    "markdown": Format(read_text=read_markdown),
    "restructured": Format(read_text=read_restructured),
    **{name: Format(read_text=marked_reader(name)) for name in FORMS},
    "manual": Format(read_text=read_manual),
    "plain": Format(read_text=read_plain),
    "lines": Format(read_text=read_lines, is_data=True),
    "html": Format(read_bytes=read_html, is_data=True),
    "notebook": Format(read_text=read_notebook, bulk=10),
    "settings": Format(read_text=read_settings, is_data=True),
    "xml": Format(read_text=read_xml, is_data=True),
    "table": Format(read_bytes=read_table),
    "rows": Format(read_text=read_rows),
    "mail": Format(read_bytes=read_mail),
    "pdf": Format(read_bytes=read_pdf, bulk=10),
    "office": Format(read_bytes=read_office, bulk=10),
    "sheets": Format(read_bytes=read_sheets, bulk=10),
}
_BY_NAME = {name: known for known, names in TABLES["formats"].items() for name in names.split()}
# Also README.SETUP, LICENSE-MIT; changelogs of former years, as GNU keeps them.
_PLAIN_NAME = re.compile(
    r"readme\..*|(?:licen[sc]e|changelog)(?:-[^.]*)?|changelog\.\d+|readme|changes|contributing|notice|authors"
    r"|contributors|copying|copyright|credits|history|hacking|install|maintainers|manifest|news|releases?"
    r"|security|support|thanks|todo|unlicense|codeowners|version|owners|governance|roadmap"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRead:
    """The records of a file in reading order, for "code" or "docs", and what within it could not be read."""

    kind: str
    records: tuple[Record, ...]
    skipped: tuple[Skipped, ...] = ()


def kind_of(path: str, head: bytes) -> str | None:
    """Return "code" or "docs", the collection that a file belongs to, or None where nothing reads it.

    Its name decides where it can, else how it begins.
    """
    if language_of(path, head):
        return "code"
    # A lock file is known, though left out: as generated, not as unsupported.
    return "docs" if _format_of(path, head) or is_lock_file(path) else None


def bulk_of(path: str) -> int:
    """Return how many times as large as a text a file may be: notebooks hold pictures, PDF holds fonts."""
    name = _format_of(path)
    return FORMATS[name].bulk if name else 1


def _format_of(path: str, head: bytes = b"") -> str | None:
    """Return a file's format: by its name, or as plain text where it has no suffix and says something."""
    name = PurePosixPath(without_mark(path))
    plain = name.name.lower()
    if known := _BY_NAME.get(plain) or _BY_NAME.get(name.suffix.lower()):
        return known
    if _PLAIN_NAME.fullmatch(plain):
        return "plain"
    if is_binary(head):
        return None
    if _MAIL.match(head):  # a message of a Maildir has a name of numbers
        return "mail"
    if "." in PurePosixPath(path).name:
        return "manual" if _MANUAL_NAME.search(path) and _ROFF.search(head) else None
    return "plain" if len(_WORDS.findall(head)) >= _LEAST_WORDS else None


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
    refuse_unread(path, data)
    metadata = metadata or {}
    if language := language_of(path, data[: 8 * HEAD_BYTES]):
        read = _read_code(path, decode(data), language, splitter, metadata)
    elif name := _format_of(path, data[:HEAD_BYTES]):
        read = _read_document(path, data, name, splitter, metadata)
    else:
        raise SkippedError("unsupported")
    if not read.skipped and not any(record.text.strip() for record in read.records):
        told = "nothing to read in it: imports, brackets, a notice of rights" if data.strip() else ""
        raise SkippedError("empty", told)
    return read


def _read_code(
    path: str, text: str, language: str, splitter: Splitter, metadata: Mapping[str, Any]
) -> FileRead:
    refuse_unwritten(text)
    skipped: tuple[Skipped, ...] = ()
    try:
        outline = outline_of(text, language)
    except TooComplexError:
        outline = Outline()
        detail = f"cut by lines: the parser of {language} takes too long"
        skipped = (Skipped(where=path, reason="too complex", detail=detail),)
    records = code_records(path, text, outline, language=language, splitter=splitter, metadata=metadata)
    # What begins something with a name of its own is told: a macro, a function that is a table.
    named = [bool(r.metadata.get("symbol")) and r.metadata.get("part", 1) == 1 for r in records]
    told = tuple(r for r, is_named in zip(records, named, strict=True) if is_named or not is_data(r.text))
    return FileRead(kind="code", records=told, skipped=skipped + _data_in(path, len(records) - len(told)))


def _data_in(path: str, stretches: int) -> tuple[Skipped, ...]:
    said = "a stretch of data" if stretches == 1 else f"{stretches} stretches of data"
    entry = Skipped(where=path, reason="data", detail=f"{said}: numbers, a picture, or no space in it")
    return (entry,) if stretches else ()


def _read_document(
    path: str, data: bytes, name: str, splitter: Splitter, metadata: Mapping[str, Any]
) -> FileRead:
    form = FORMATS[name]
    if form.read_text is None:
        document = convert(name, path, data, splitter.chunk_size)
    else:
        text = without_invisible(decode(data))
        if form.is_data:
            refuse_unwritten(text)
        try:
            document = form.read_text(path, text, splitter.chunk_size)
        except (ValueError, TypeError, RecursionError) as error:  # what a hostile file makes of it
            raise SkippedError("invalid", f"{type(error).__name__}: {error}"[:200]) from None
    records = document_records(path, document, splitter, metadata)
    blobs = _data_in(path, sum(1 for _ in BLOB.finditer(document.text)))
    if blobs and form.is_data:  # `{"type":"FeatureCollection",` is what is left of a coastline
        records = [record for record in records if len(_WORDS.findall(record.text.encode())) >= _LEAST_WORDS]
    return FileRead(kind="docs", records=tuple(records), skipped=document.skipped + blobs)
