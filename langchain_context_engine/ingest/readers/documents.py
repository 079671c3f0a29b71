"""Pages of HTML, office's files and PDF, each by a library made for it; Markdown is the form within."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from pathlib import PurePosixPath
from typing import Any

from langchain_context_engine.ingest.generated import refuse_generated
from langchain_context_engine.ingest.readers.conversion import library
from langchain_context_engine.ingest.readers.decoding import decode, without_invisible
from langchain_context_engine.ingest.readers.markdown import front_matter, markdown_document
from langchain_context_engine.ingest.report import Skipped, SkippedError
from langchain_context_engine.ingest.sections import Document, Parts

_UNSEEN = (
    "nav svg math script style template noscript select iframe object canvas a.headerlink a.anchor-link"
    " .linenos .linenodiv .lineno .gutter"
)
# Words of one type beside another are one word: `un<b>believ</b>able`.
_PLAIN = ["a", "b", "strong", "i", "em", "u", "mark", "small", "big", "font", "q"]
_TABLE = re.compile(r"<table\b[^>]{0,500}>(?:(?!</?table\b).)*</table>", re.IGNORECASE | re.DOTALL)
_WIDE_AND_TALL = re.compile(
    r"<(t[dh])\b(?=[^>]{0,500}\browspan)([^>]{0,500}?)\bcolspan=[\"']?(\d{1,2})\b[\"']?([^>]{0,500})>"
    r"((?:(?!</?t[dhr]\b|</?table\b).)*)",
    re.IGNORECASE | re.DOTALL,
)
_NUMBERS = re.compile(r"\bclass=[\"'][^\"']{0,200}\b(?:linenos|linenodiv|lineno|gutter)\b", re.IGNORECASE)
_VERBATIM = re.compile(r"<pre\b[^>]{0,500}>.*?</pre\s*>", re.IGNORECASE | re.DOTALL)
_BLOCK_LINE = re.compile(r"(?<=[^\n])(<span\b[^>]{0,300}display:\s*block[^>]{0,300}>)", re.IGNORECASE)
_SUMMARY = re.compile(r"<(/?)summary\b", re.IGNORECASE)
_RAISED, _LOWERED = re.compile(r"\^([^\s^]{1,40})\^"), re.compile(r"(?<![~\\])~([^\s~]{1,20})~(?!~)")
_CARET = "\ue0a6"
"""Stands for one that somebody wrote, while the converters put carets around what is raised."""
_ORDINAL = re.compile(r"(?:st|nd|rd|th|[eoªº]|er|ème|TM|SM)\Z|\[")

_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
_TYPES = {
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".docm": f"{_OFFICE}.wordprocessingml.document",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".odt": f"{_OPEN}.text",
    ".odp": f"{_OPEN}.text",
    ".epub": "application/epub+zip",
    ".rtf": "application/rtf",
    ".doc": "application/msword",
    ".ppt": "application/vnd.ms-powerpoint",
}
PACKED, OLD_OFFICE = b"PK", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a new format begins, and an old one (which may hold a packed file), or a new one with a password."""
_NOTE = re.compile(r"<w:(footnote|endnote|comment)\s[^>]*w:id=[\"'](\d+)[\"'][^>]*>(.*?)</w:\1>", re.DOTALL)
_REFERENCE = re.compile(r"<w:(footnote|endnote|comment)Reference\b[^>]*?w:id=[\"'](\d+)[\"'][^>]*?/>")
_REWRITTEN: Mapping[str, Sequence[tuple[bytes, bytes | Callable[[re.Match[bytes]], bytes]]]] = {
    r".*:word/document\.xml": (
        (rb"<w:(?:[bi](?:Cs)?|u|d?strike)(?:\s[^>]*)?/>", b""),
        (rb"<w:moveFrom\s.*?</w:moveFrom>", b""),
        (
            rb"<w:(?:p?tab|cr)(?:\s(?![^>]*w:(?:val|pos)=)[^>]*)?/>",
            b'<w:t xml:space="preserve"> </w:t>',
        ),
        (rb"<w:noBreakHyphen\s*/>", b"<w:t>-</w:t>"),
    ),
    r".*:content\.xml": (
        (rb"\b(?:fo:font-(?:weight|style)|style:text-(?:under|line-through)[a-z-]*)=\"[^\"]*\"", b""),
        (rb"<text:s(?:\s[^>]*)?/>", b" "),
        (
            rb"<(text:note|office:annotation)(?=[\s>]).*?(<text:p\b.*?)</\1>",
            lambda note: b" [%s]" % _bare(note[2]),
        ),
        (rb"text:list-header", b"text:list-item"),
    ),
    # Slides as a text, the title of each as a heading.
    r"\.odp:content\.xml": (
        (
            rb"<draw:frame\b[^>]*\bclass=\"title\"[^>]*>((?:(?!</draw:frame>).)*)",
            lambda frame: b'<text:h text:outline-level="1">%s</text:h>' % _bare(frame[1]),
        ),
        (rb"</?(?:draw|presentation):[\w-]+(?:\s[^>]*)?>", b""),
        (rb"office:presentation\b", b"office:text"),
    ),
    r".*:ppt/slides/\w+\.xml": (
        (rb"</a:t></a:r><a:r>(?:<a:rPr\b[^>]*/>|<a:rPr\b.*?</a:rPr>)?<a:t>", b""),
        (rb"\s(?:[bi]=\"(?:1|true)\"|(?:u|strike)=\"\w+\")", b""),
    ),
    r".*\.x?html?": (
        (rb"</?(?:b|strong|i|em|u|s|del)(?:\s[^>]*)?>", b""),
        (rb"<sup\b[^>]*>((?:<[^>]*>)?[^<]{1,40}(?:</a>)?)</sup>", rb"^\1^"),
    ),
}
"""Part of a packed document → what is written in it otherwise before it is converted.

That are bold, italics and underlines, whose marks would part words or stand there as text, and what the
converter leaves out, puts elsewhere, or tells twice.
"""
_SPACE, _ESCAPED = re.compile(r"\^?&#(?:9|32);\^?"), re.compile(r"\\([!\"$%&'(),./:;<=>?@_~^{}-])")
"""What needs no mark in Markdown, or none within a word."""
_SLIDE_WORDS = re.compile(rb"<a:t>([^<]*)</a:t>|</a:p>")
_NOTES_OF, _BODY = (
    re.compile(rb"notesSlides/\w+\.xml"),
    re.compile(rb"<p:ph\b[^>]*\btype=\"body\".*?</p:sp>", re.DOTALL),
)
_SAID = (
    b'<p:sp><p:nvSpPr><p:cNvPr id="99999" name="notes"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr/>'
    b"<p:txBody><a:bodyPr/><a:p><a:r><a:t>%s</a:t></a:r></a:p></p:txBody></p:sp></p:spTree>"
)
"""How a speaker's notes become a text of their slide."""
_WORDS = re.compile(r"<w:t\b[^>]*>([^<]*)</w:t>|</w:p>")
# kreuzberg 4.10 loses what XML writes as an entity: a character that nobody uses stands for it meanwhile.
_ENTITY = re.compile(rb"&(amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
_STAND_INS = {"&": "\ue0a1", "<": "\ue0a2", ">": "\ue0a3", '"': "\ue0a4", "'": "\ue0a5"}
_BACK = str.maketrans({stand_in: character for character, stand_in in _STAND_INS.items()})
_PICTURE = re.compile(r"(?:^|/)(?:(?:media|Pictures|images?)/[^/]+|(?:charts/chart|diagrams/data)\d*\.xml)$")
_NO_TITLES = ("untitled", "(anonymous)", "unspecified")
_LARGEST_PART = 200_000_000

_MOST_PAGES, _LONGEST_FIELD = 5000, 300


def read_html(path: str, data: bytes, chunk_size: int) -> Document:
    """Return what a page says under its headings, without scripts, styles, comments and navigation."""
    del path, chunk_size
    text = decode(data)
    refuse_generated(text)
    begin, said = front_matter(text)
    shown, title = html_text(text[begin:])
    return markdown_document(shown, said.get("title") or title)


def html_text(text: str) -> tuple[str, str]:
    """Return a page as Markdown, and its title."""
    import html_to_markdown as converter

    options = converter.ConversionOptions(
        sup_symbol="^",
        strip_tags=_PLAIN,
        exclude_selectors=_UNSEEN.split(),
        br_in_tables=True,
        compact_tables=True,
        skip_images=False,
        preprocessing=converter.PreprocessingOptions(enabled=False),
    )
    # Browsers show a summary on a line of its own, and code beside its line numbers as code.
    prepared = _SUMMARY.sub(r"<\1div", _TABLE.sub(_without_line_numbers, text.replace("^", _CARET)))
    prepared = _VERBATIM.sub(lambda block: _BLOCK_LINE.sub(r"\n\1", block[0]), prepared)
    prepared = _WIDE_AND_TALL.sub(_parted, prepared)  # the converter knows but one of the two
    found = converter.convert(prepared, options)
    body = found.content or ""
    if body.startswith("---\n") and body[4:5] != "\n":  # what the page's head says
        body = body.partition("\n---\n")[2]
    return as_read(body).strip(), _titled(found.metadata.document.title if found.metadata else "")


def _without_line_numbers(table: re.Match[str]) -> str:
    blocks = _VERBATIM.findall(table[0])
    return str(blocks[-1]) if blocks and _NUMBERS.search(table[0]) else table[0]


def _parted(cell: re.Match[str]) -> str:
    """Return a cell over several rows and columns as cells over several rows, the first with its words."""
    tag, before, columns, after, words = cell.groups()
    return f"<{tag}{before}{after}>{words}" + f"</{tag}><{tag}{before}{after}>" * (int(columns) - 1)


def as_read(text: str) -> str:
    """Return Markdown as it is read aloud: exponents with one mark, no hyphens that nobody sees."""
    raised = _RAISED.sub(lambda up: up[1] if _ORDINAL.match(up[1]) else f"^{up[1]}", text)
    return without_invisible(raised).replace(_CARET, "^")


def read_office(path: str, data: bytes, chunk_size: int) -> Document:
    """Return the words of a document under its headings; notes and comments where they are referred to."""
    del chunk_size
    kreuzberg = library("kreuzberg")
    kind = PurePosixPath(path).suffix.lower()
    if data.startswith(OLD_OFFICE) and kind not in {".doc", ".ppt"}:
        raise SkippedError("encrypted", "it has a password")
    names: list[str] = []
    try:
        if data.startswith(PACKED):
            names, data = _prepared(kind, data)
        options = kreuzberg.ExtractionConfig(output_format="markdown")
        found = kreuzberg.extract_bytes_sync(data, _TYPES[kind], options)
    except kreuzberg.KreuzbergError as error:
        raise SkippedError("invalid", f"{type(error).__name__}: {error}"[:200]) from None
    shown = _LOWERED.sub(r"\1", _SPACE.sub(" ", found.content).translate(_BACK))
    text = _ESCAPED.sub(r"\1", as_read(shown)).strip()
    if not text:
        raise SkippedError("empty", "no text, only pictures")
    properties = found.metadata.get("core_properties") or found.metadata
    title = properties.get("title") if isinstance(properties, dict) else ""
    document = markdown_document(text, _titled(title))
    pictures = sum(1 for name in names if _PICTURE.search(name))
    detail = f"{pictures} pictures or charts, of which nothing is read"
    told = (Skipped(where=path, reason="picture", detail=detail),) if pictures else ()
    return replace(document, skipped=told)


def _prepared(kind: str, data: bytes) -> tuple[list[str], bytes]:
    """Return the names of a packed document's parts, and the document as the converter reads it whole.

    In Word each note's words stand in place of the reference to it; a slide ends with its speaker's notes.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        sizes = {entry.filename: entry.file_size for entry in packed.infolist()}
        if max(sizes.values(), default=0) > _LARGEST_PART:
            raise SkippedError("huge", f"{max(sizes.values()):,} bytes once unpacked")
        notes = _word_notes(packed, sizes)

        def noted(found: re.Match[str]) -> str:
            return f'<w:t xml:space="preserve">{notes.get((found[1], found[2]), "")}</w:t>'

        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as copy:
            for name in sizes:
                part = packed.read(name)
                if name.endswith(".xml") and not name.startswith(("[", "META")):
                    part = _ENTITY.sub(_stand_in, part).replace(b"^", _CARET.encode())
                for forms in (_REWRITTEN[of] for of in _REWRITTEN if re.fullmatch(of, f"{kind}:{name}")):
                    for pattern, by in forms:
                        part = re.sub(pattern, by, part, flags=re.DOTALL)
                if name == "word/document.xml":
                    part = _REFERENCE.sub(noted, part.decode()).encode()
                elif said := _slide_notes(packed, name, sizes):
                    part = part.replace(b"</p:spTree>", _SAID % said)
                copy.writestr(name, part)
    return list(sizes), written.getvalue()


def _word_notes(packed: zipfile.ZipFile, sizes: Mapping[str, int]) -> dict[tuple[str, str], str]:
    notes = {}
    for kind in ("footnote", "endnote", "comment"):
        held = packed.read(f"word/{kind}s.xml").decode() if f"word/{kind}s.xml" in sizes else ""
        for _, number, inside in _NOTE.findall(held):
            said = "".join(found[1] or " " for found in _WORDS.finditer(inside))
            words = _ENTITY.sub(_stand_in, said.encode()).decode().split()
            notes[kind, number] = f" [{' '.join(words)}]" if words else ""
    return notes


def _slide_notes(packed: zipfile.ZipFile, slide: str, sizes: Mapping[str, int]) -> bytes:
    relations = f"ppt/slides/_rels/{slide.rpartition('/')[2]}.rels"
    found = _NOTES_OF.search(packed.read(relations)) if relations in sizes else None
    name = f"ppt/{found[0].decode()}" if found else ""
    bodies = _BODY.findall(packed.read(name)) if name in sizes else []
    said = b"".join(words[1] or b" " for body in bodies for words in _SLIDE_WORDS.finditer(body))
    return b" ".join(_ENTITY.sub(_stand_in, said).split())


def _bare(part: bytes) -> bytes:
    return b" ".join(re.sub(rb"<[^>]*>", b" ", part).split())


def _stand_in(entity: re.Match[bytes]) -> bytes:
    character = unescape(entity[0].decode())
    return _STAND_INS.get(character, character).encode()


def read_pdf(path: str, data: bytes, chunk_size: int) -> Document:
    """Return the text of each page, with the values of its form; a page without any is told of."""
    del chunk_size
    pypdfium2 = library("pypdfium2")
    try:
        file = pypdfium2.PdfDocument(data)
        file.init_forms()
    except pypdfium2.PdfiumError as error:
        reason = "encrypted" if "password" in str(error).lower() else "invalid"
        raise SkippedError(reason, str(error)[:200]) from None
    parts = Parts()
    title = _titled(file.get_metadata_dict().get("Title"))
    title = "" if title.lower() in _NO_TITLES else title  # what programs write where nobody gave one
    for number in range(1, min(len(file), _MOST_PAGES) + 1):
        where = f"{path}:page {number}"
        try:
            text = _page_text(file, number)
        except (pypdfium2.PdfiumError, ValueError) as error:
            parts.leave_out(where, "invalid", error)
            continue
        if text:
            said = {"title": title or None, "page": number}
            parts.add(text, end="\n\n", part=f"page {number}", metadata=said)
        else:
            parts.leave_out(where, "empty", "no text: a picture, as of a scan")
    if not parts.sections and all(entry.reason == "empty" for entry in parts.skipped):
        raise SkippedError("empty", "no text, only pictures")
    if len(file) > _MOST_PAGES:
        detail = f"{len(file):,} pages; the first {_MOST_PAGES:,} are read"
        parts.leave_out(f"{path}:page {_MOST_PAGES + 1}", "huge", detail)
    return parts.document()


def _page_text(file: Any, number: int) -> str:
    page = file[number - 1]
    checked = list(_checked(file, page)) if file.formenv is not None else []
    if file.formenv is not None:  # what is filled in becomes text of the page
        page.flatten()
        page.close()
        page = file[number - 1]
    text = str(page.get_textpage().get_text_range())
    page.close()
    clean = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    # PDFium marks a word that is parted at the end of a line.
    clean = without_invisible(clean.replace("\ufffe\n", "").replace("\ufffe", "").replace("\0", ""))
    return "\n".join([*(line.rstrip() for line in clean.strip().split("\n")), *checked]).strip()


def _checked(file: Any, page: Any) -> Iterator[str]:
    """Yield the boxes of a form that are checked, by the name that a person is shown, else their field's."""
    raw = library("pypdfium2.raw")
    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        box = raw.FPDFPage_GetAnnot(page, number)
        if raw.FPDFAnnot_IsChecked(file.formenv, box):
            names = ""
            for name in (raw.FPDFAnnot_GetFormFieldAlternateName, raw.FPDFAnnot_GetFormFieldName):
                said = (raw.FPDF_WCHAR * _LONGEST_FIELD)()
                name(file.formenv, box, said, 2 * _LONGEST_FIELD)
                names = names or bytes(said).decode("utf-16-le", "replace").partition("\0")[0]
            yield f"[x] {names}"
        raw.FPDFPage_CloseAnnot(box)


def _titled(title: object) -> str:
    return " ".join(str(title or "").translate(_BACK).replace(_CARET, "^").split())[:200]
