"""Word, OpenDocument, EPUB, RTF and slides as Markdown; through the extra `documents`."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import PurePosixPath

from langchain_context_engine.ingest.readers.html import as_read
from langchain_context_engine.ingest.readers.markdown import markdown_document
from langchain_context_engine.ingest.sections import Document
from langchain_context_engine.ingest.skipped import SkippedError

_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
_TYPES = {
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".docm": f"{_OFFICE}.wordprocessingml.document",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".odt": f"{_OPEN}.text",
    ".odp": f"{_OPEN}.presentation",
    ".epub": "application/epub+zip",
    ".rtf": "application/rtf",
    ".doc": "application/msword",
}
_PASSWORD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_NOTE = re.compile(r"<w:(footnote|endnote|comment)\s[^>]*w:id=\"(\d+)\"[^>]*>(.*?)</w:\1>", re.DOTALL)
_REFERENCE = re.compile(
    r"<w:(footnote|endnote|comment)Reference\b[^>]*?w:id=\"(\d+)\"[^>]*?/>"
    r"|<w:(?P<mark>tab|ptab|noBreakHyphen|softHyphen)(?:\s(?![^>]*w:(?:val|pos)=)[^>]*)?/>"
)
_CHARACTERS = {"tab": " ", "ptab": " ", "noBreakHyphen": "-", "softHyphen": ""}
_WORDS = re.compile(r"<w:t\b[^>]*>([^<]*)</w:t>|</w:p>")
_LARGEST_PART = 200_000_000


def read_office(path: str, data: bytes, chunk_size: int) -> Document:
    """Return the words of a document under its headings; notes and comments where they are referred to.

    Raises:
        SkippedError: unsupported without the extra, encrypted, invalid, or empty.
    """
    del chunk_size
    try:
        import kreuzberg
    except ImportError:
        raise SkippedError("unsupported", 'pip install "langchain-context-engine[documents]"') from None
    kind = PurePosixPath(path).suffix.lower()
    if data.startswith(_PASSWORD) and kind != ".doc":
        raise SkippedError("encrypted", "it has a password")
    try:
        given = _prepared(data) if kind in {".docx", ".docm"} else data
        options = kreuzberg.ExtractionConfig(output_format="markdown")
        found = kreuzberg.extract_bytes_sync(given, _TYPES[kind], options)
    except kreuzberg.KreuzbergError as error:
        raise SkippedError("invalid", f"{type(error).__name__}: {error}"[:200]) from None
    text = as_read(found.content).strip()
    if not text:
        raise SkippedError("empty", "no text, only pictures")
    properties = found.metadata.get("core_properties")
    title = (properties or {}).get("title") if isinstance(properties, dict) else found.metadata.get("title")
    return markdown_document(path, text, title=" ".join(str(title or "").split())[:200])


def _prepared(data: bytes) -> bytes:
    """Return a Word file as converters read it whole.

    Each note's words stand in place of the reference to it, tabs and special hyphens are characters.

    Raises:
        SkippedError: huge.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        sizes = {entry.filename: entry.file_size for entry in packed.infolist()}
        if max(sizes.values(), default=0) > _LARGEST_PART:
            raise SkippedError("huge", f"{max(sizes.values()):,} bytes once unpacked")
        notes: dict[tuple[str, str], str] = {}
        for kind in ("footnote", "endnote", "comment"):
            part = packed.read(f"word/{kind}s.xml").decode() if f"word/{kind}s.xml" in sizes else ""
            for _, number, inside in _NOTE.findall(part):
                words = "".join(found[1] or " " for found in _WORDS.finditer(inside)).split()
                notes[kind, number] = f" [{' '.join(words)}]" if words else ""

        def said(found: re.Match[str]) -> str:
            character = _CHARACTERS[found["mark"]] if found["mark"] else notes.get((found[1], found[2]), "")
            return f'<w:t xml:space="preserve">{character}</w:t>'

        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as copy:
            for name in sizes:
                part_data = packed.read(name)
                is_text = name == "word/document.xml"
                copy.writestr(
                    name, _REFERENCE.sub(said, part_data.decode()).encode() if is_text else part_data
                )
    return written.getvalue()
