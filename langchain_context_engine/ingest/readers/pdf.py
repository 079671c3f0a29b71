"""PDF, page by page, by PDFium; through the extra `documents`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from langchain_context_engine.ingest.readers.html import as_read
from langchain_context_engine.ingest.sections import Document, Section
from langchain_context_engine.ingest.skipped import Skipped, SkippedError

_MOST_PAGES = 5000
_MOST_FIELDS = 1000


def read_pdf(path: str, data: bytes, chunk_size: int) -> Document:
    """Return the text of each page, with the values of its form; a page without any is told of.

    Raises:
        SkippedError: unsupported without the extra, encrypted, invalid, or empty.
    """
    del chunk_size
    try:
        import pypdfium2
    except ImportError:
        raise SkippedError("unsupported", 'pip install "langchain-context-engine[documents]"') from None
    try:
        file = pypdfium2.PdfDocument(data)
        file.init_forms()
    except pypdfium2.PdfiumError as error:
        reason = "encrypted" if "password" in str(error).lower() else "invalid"
        raise SkippedError(reason, str(error)[:200]) from None
    parts: list[str] = []
    sections: list[Section] = []
    skipped: list[Skipped] = []
    length = 0
    title = " ".join(str(file.get_metadata_dict().get("Title") or "").split())[:200]
    for number in range(1, min(len(file), _MOST_PAGES) + 1):
        where = f"{path}:page {number}"
        try:
            text = _page_text(file, number)
        except (pypdfium2.PdfiumError, ValueError) as error:
            skipped.append(Skipped(where=where, reason="invalid", detail=str(error)[:200]))
            continue
        if not text.strip():
            skipped.append(Skipped(where=where, reason="empty", detail="no text: a picture, as of a scan"))
            continue
        end = length + len(text)
        said = {"title": title or None, "page": number}
        sections.append(Section(start=length, end=end, part=f"page {number}", metadata=said))
        parts.append(text)
        length = end
    if not sections and all(entry.reason == "empty" for entry in skipped):
        raise SkippedError("empty", "no text, only pictures")
    if len(file) > _MOST_PAGES:
        detail = f"{len(file):,} pages; the first {_MOST_PAGES:,} are read"
        skipped.append(Skipped(where=f"{path}:page {_MOST_PAGES + 1}", reason="huge", detail=detail))
    return Document(text="".join(parts), sections=tuple(sections), has_lines=False, skipped=tuple(skipped))


def _page_text(file: Any, number: int) -> str:
    page = file[number - 1]
    shown = page.get_textpage()
    text = str(shown.get_text_range())
    fields = [] if file.formenv is None else list(_fields(file.formenv, page, text))
    shown.close()
    page.close()
    clean = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    # PDFium marks a word that is parted at the end of a line.
    clean = as_read(clean.replace("\ufffe\n", "").replace("\ufffe", "").replace("\0", ""))
    lines = [*(line.rstrip() for line in clean.strip().split("\n")), *fields]
    return "\n".join(lines).strip() + "\n\n"


def _fields(form: Any, page: Any, text: str) -> Iterator[str]:
    """Yield `name: value` of each field of a page's form whose value the page's own text does not show."""
    from pypdfium2 import raw

    for place in range(min(raw.FPDFPage_GetAnnotCount(page), _MOST_FIELDS)):
        annotation = raw.FPDFPage_GetAnnot(page, place)
        kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
        if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
            value = "yes" if raw.FPDFAnnot_IsChecked(form, annotation) else ""
        else:
            value = _said(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
        if value.strip() and value not in text:
            name = _said(raw.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
            yield f"{name or _said(raw.FPDFAnnot_GetFormFieldName, form, annotation)}: {value}"
        raw.FPDFPage_CloseAnnot(annotation)


def _said(ask: Callable[..., int], form: Any, annotation: Any) -> str:
    length = ask(form, annotation, None, 0)
    held = ctypes.create_string_buffer(max(length, 2))
    ask(form, annotation, ctypes.cast(held, ctypes.POINTER(ctypes.c_ushort)), length)
    return held.raw[:length].decode("utf-16-le", "replace").rstrip("\0")
