"""PDF, page by page, by PDFium; through the extra `documents`."""

from __future__ import annotations

from langchain_context_engine.ingest.sections import Document, Section
from langchain_context_engine.ingest.skipped import Skipped, SkippedError

_MOST_PAGES = 5000


def read_pdf(path: str, data: bytes, chunk_size: int) -> Document:
    """Return the text of each page; what is only a picture has none.

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
    except pypdfium2.PdfiumError as error:
        reason = "encrypted" if "password" in str(error).lower() else "invalid"
        raise SkippedError(reason, str(error)[:200]) from None
    parts: list[str] = []
    sections: list[Section] = []
    skipped: list[Skipped] = []
    length = 0
    try:
        title = " ".join(str(file.get_metadata_dict().get("Title") or "").split())[:200]
        for number in range(1, min(len(file), _MOST_PAGES) + 1):
            try:
                text = _page_text(file, number)
            except (pypdfium2.PdfiumError, ValueError) as error:
                where = f"{path}:page {number}"
                skipped.append(Skipped(where=where, reason="invalid", detail=str(error)[:200]))
                continue
            if not text.strip():
                continue
            metadata = {"title": title or None, "page": number}
            end = length + len(text)
            sections.append(Section(start=length, end=end, part=f"page {number}", metadata=metadata))
            parts.append(text)
            length = end
    finally:
        file.close()
    if not sections and not skipped:
        raise SkippedError("empty", "no text, only pictures")
    return Document(text="".join(parts), sections=tuple(sections), has_lines=False, skipped=tuple(skipped))


def _page_text(file: object, number: int) -> str:
    page = file[number - 1]  # type: ignore[index]
    shown = page.get_textpage()
    try:
        text = str(shown.get_text_range())
    finally:
        shown.close()
        page.close()
    clean = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    # PDFium marks a word that is parted at the end of a line.
    clean = clean.replace("\ufffe\n", "").replace("\ufffe", "").replace("\0", "")
    return "\n".join(line.rstrip() for line in clean.strip().split("\n")) + "\n\n"
