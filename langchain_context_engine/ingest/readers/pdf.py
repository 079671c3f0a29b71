"""PDF, page by page; through the extra `documents`."""

from __future__ import annotations

import io
import logging

from langchain_context_engine.ingest.sections import Document, Section
from langchain_context_engine.ingest.skipped import Skipped, SkippedError

_MOST_PAGES = 2000


def read_pdf(path: str, data: bytes, chunk_size: int) -> Document:
    """Return the text of each page; what is only a picture has none.

    Raises:
        SkippedError: unsupported without the extra, encrypted, invalid, or no text.
    """
    del chunk_size
    try:
        from pypdf import PdfReader
    except ImportError:
        raise SkippedError("unsupported", 'pip install "langchain-context-engine[documents]"') from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of every flaw of a file
    parts: list[str] = []
    sections: list[Section] = []
    skipped: list[Skipped] = []
    length = 0
    # Malformed files raise anything from within: KeyError, TypeError, RecursionError …
    try:
        reader = PdfReader(io.BytesIO(data))
        is_encrypted = reader.is_encrypted and not reader.decrypt("")
        count = 0 if is_encrypted else len(reader.pages)
        title = str((reader.metadata.title if not is_encrypted and reader.metadata else None) or "")
    except Exception as error:  # noqa: BLE001
        raise SkippedError("invalid", f"{type(error).__name__}: {error}"[:200]) from None
    if is_encrypted:
        raise SkippedError("encrypted")
    for number in range(1, min(count, _MOST_PAGES) + 1):
        try:
            text = reader.pages[number - 1].extract_text()
        except Exception as error:  # noqa: BLE001
            detail = f"{type(error).__name__}: {error}"[:200]
            skipped.append(Skipped(where=f"{path}:page {number}", reason="invalid", detail=detail))
            continue
        text = text.encode("utf-8", "replace").decode().replace("\0", "").strip() + "\n\n"
        if not text.strip():
            continue
        sections.append(
            Section(
                start=length,
                end=length + len(text),
                part=f"page {number}",
                metadata={"title": title or None, "page": number},
            )
        )
        parts.append(text)
        length += len(text)
    if not sections and not skipped:
        raise SkippedError("empty", "no text, only pictures")
    return Document(text="".join(parts), sections=tuple(sections), has_lines=False, skipped=tuple(skipped))
