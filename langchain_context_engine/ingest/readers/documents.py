"""Word, OpenDocument, EPUB, RTF and slides as Markdown; through the extra `documents`."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import replace
from html import unescape
from pathlib import PurePosixPath

from langchain_context_engine.ingest.readers.html import as_read
from langchain_context_engine.ingest.readers.markdown import markdown_document
from langchain_context_engine.ingest.sections import Document
from langchain_context_engine.ingest.skipped import Skipped, SkippedError

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
_ESCAPED = re.compile(r"\\([!\"$%&'(),./:;=?@_~^{}-])")
"""What needs no mark in Markdown, or none within a word."""
_CHARACTERS = {"tab": " ", "ptab": " ", "noBreakHyphen": "-", "softHyphen": ""}
_WORDS = re.compile(r"<w:t\b[^>]*>([^<]*)</w:t>|</w:p>")
# kreuzberg 4.10 loses what XML writes as an entity: a character that nobody uses stands for it meanwhile.
_ENTITY = re.compile(rb"&(amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
_STAND_INS = {"&": "\ue0a1", "<": "\ue0a2", ">": "\ue0a3", '"': "\ue0a4", "'": "\ue0a5"}
_BACK = str.maketrans({stand_in: character for character, stand_in in _STAND_INS.items()})
_PICTURE = re.compile(r"(?:^|/)(?:media|Pictures|images?)/[^/]+$")
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
        given = _prepared(data) if _names(data) else data
        options = kreuzberg.ExtractionConfig(output_format="markdown")
        found = kreuzberg.extract_bytes_sync(given, _TYPES[kind], options)
    except kreuzberg.KreuzbergError as error:
        raise SkippedError("invalid", f"{type(error).__name__}: {error}"[:200]) from None
    text = _ESCAPED.sub(r"\1", as_read(found.content.replace("&#9;", " ").translate(_BACK))).strip()
    if not text:
        raise SkippedError("empty", "no text, only pictures")
    properties = found.metadata.get("core_properties") or found.metadata
    title = properties.get("title") if isinstance(properties, dict) else ""
    document = markdown_document(path, text, title=" ".join(str(title or "").split())[:200])
    pictures = sum(1 for name in _names(data) if _PICTURE.search(name))
    detail = f"{pictures} pictures, of which nothing is read"
    told = (Skipped(where=path, reason="picture", detail=detail),) if pictures else ()
    return replace(document, skipped=told)


def _names(data: bytes) -> list[str]:
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return []
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return packed.namelist()


def _prepared(data: bytes) -> bytes:
    """Return a packed document as the converter reads it whole.

    In Word each note's words stand in place of the reference to it, tabs and special hyphens are characters;
    in OpenDocument the header of a list is an item.

    Raises:
        SkippedError: huge.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        sizes = {entry.filename: entry.file_size for entry in packed.infolist()}
        if max(sizes.values(), default=0) > _LARGEST_PART:
            raise SkippedError("huge", f"{max(sizes.values()):,} bytes once unpacked")
        notes: dict[tuple[str, str], str] = {}
        for kind in ("footnote", "endnote", "comment"):
            held = packed.read(f"word/{kind}s.xml").decode() if f"word/{kind}s.xml" in sizes else ""
            for _, number, inside in _NOTE.findall(held):
                said = "".join(found[1] or " " for found in _WORDS.finditer(inside))
                words = _ENTITY.sub(_stand_in, said.encode()).decode().split()
                notes[kind, number] = f" [{' '.join(words)}]" if words else ""

        def shown(found: re.Match[str]) -> str:
            character = _CHARACTERS[found["mark"]] if found["mark"] else notes.get((found[1], found[2]), "")
            return f'<w:t xml:space="preserve">{character}</w:t>'

        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as copy:
            for name in sizes:
                part = packed.read(name)
                if name.endswith(".xml") and not name.startswith(("[", "META")):
                    part = _ENTITY.sub(_stand_in, part)
                if name == "word/document.xml":
                    part = _REFERENCE.sub(shown, part.decode()).encode()
                elif name == "content.xml":
                    part = part.replace(b"text:list-header", b"text:list-item")
                copy.writestr(name, part)
    return written.getvalue()


def _stand_in(entity: re.Match[bytes]) -> bytes:
    character = unescape(entity[0].decode())
    return _STAND_INS.get(character, character).encode()
