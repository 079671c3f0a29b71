"""Mail: the messages of an mbox or eml file as subject, sender, date and text."""

from __future__ import annotations

import email
import re
from collections.abc import Iterator
from datetime import UTC
from email.header import decode_header
from email.message import Message
from email.utils import parseaddr, parsedate_to_datetime
from typing import Any

from langchain_context_engine.ingest.places import message_part
from langchain_context_engine.ingest.readers.decoding import decode
from langchain_context_engine.ingest.readers.html import html_text
from langchain_context_engine.ingest.sections import Document, Section
from langchain_context_engine.ingest.skipped import Skipped, SkippedError

_LONGEST_HEADER = 2000
_MOST_PARTS = 200
_SEPARATOR = re.compile(rb"^From [^\n]{1,300}\d[^\n]{0,100}$", re.MULTILINE)


def read_mail(path: str, data: bytes, chunk_size: int) -> Document:
    """Return the messages of a mail box, in its order; attachments are named, not read.

    Raises:
        SkippedError: invalid, where no message is found.
    """
    del chunk_size
    parts: list[str] = []
    sections: list[Section] = []
    skipped: list[Skipped] = []
    length = 0
    for number, raw in enumerate(_messages(data), 1):
        try:
            text, part, metadata = _read(raw)
        # The parser of headers and bodies raises whatever its inner parts stumble over.
        except Exception as error:  # noqa: BLE001
            detail = f"{type(error).__name__}: {error}"[:200]
            skipped.append(Skipped(where=f"{path}:message {number}", reason="invalid", detail=detail))
            continue
        if not text.strip():
            skipped.append(Skipped(where=f"{path}:message {number}", reason="empty"))
            continue
        sections.append(
            Section(start=length, end=length + len(text), part=part, kind="mail", metadata=metadata)
        )
        parts.append(text)
        length += len(text)
    if not sections and not skipped:
        raise SkippedError("invalid", "no message")
    return Document(text="".join(parts), sections=tuple(sections), has_lines=False, skipped=tuple(skipped))


def _messages(data: bytes) -> Iterator[bytes]:
    """Yield the messages of a box: each begins with a line "From …", the first or after an empty one."""
    starts = [
        found.start()
        for found in _SEPARATOR.finditer(data)
        if not found.start()
        or data[max(0, found.start() - 3) : found.start()].replace(b"\r", b"").endswith(b"\n\n")
    ]
    if not starts or data[: starts[0]].strip():
        yield data
        return
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        yield data[data.find(b"\n", start, end) + 1 : end]


def _read(raw: bytes) -> tuple[str, str, dict[str, Any]]:
    message = email.message_from_bytes(raw)
    subject, sender = _header(message, "subject"), _header(message, "from")
    author = parseaddr(sender)[0] or parseaddr(sender)[1] or sender
    sent = _sent(message)
    day = sent.date().isoformat() if sent else ""
    body, attachments = _body(message)
    heads = [("Subject", subject), ("From", sender), ("To", _header(message, "to")), ("Date", day)]
    lines = [f"{name}: {value}" for name, value in heads if value]
    if not lines and not body.strip():
        return "", "", {}
    names = f"\n\nAttachments: {', '.join(attachments)}" if attachments else ""
    text = "\n".join(lines) + f"\n\n{body.strip()}{names}\n\n"
    metadata: dict[str, Any] = {"title": subject or None, "author": author or None}
    if sent:
        metadata["created_at"] = int(sent.timestamp())
    return text, message_part(subject or "(no subject)", day, author), metadata


def _header(message: Message, name: str) -> str:
    value = str(message.get(name) or "")[:_LONGEST_HEADER]
    words = []
    for word, charset in decode_header(value):
        words.append(word if isinstance(word, str) else _in_charset(word, charset))
    return " ".join("".join(words).split())


def _sent(message: Message) -> Any:
    value = str(message.get("date") or "")[:200]
    try:
        sent = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return sent.replace(tzinfo=UTC) if sent.tzinfo is None else sent.astimezone(UTC)


def _body(message: Message) -> tuple[str, list[str]]:
    """Return the plain text, else the text of the HTML, and the names of what is attached."""
    plain: list[str] = []
    html: list[str] = []
    attachments: list[str] = []
    for count, part in enumerate(message.walk()):
        if count >= _MOST_PARTS:
            break
        if part.is_multipart():
            continue
        name = part.get_filename()
        if name or part.get_content_disposition() == "attachment":
            attachments.append(" ".join(str(name or part.get_content_type()).split())[:200])
        elif part.get_content_type() == "text/html":
            html.append(_text_of(part))
        elif part.get_content_maintype() == "text":
            plain.append(_text_of(part))
    body = "\n\n".join(plain)
    return (body if body.strip() else "\n\n".join(html_text(page)[0] for page in html)), attachments


def _text_of(part: Message) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    return _in_charset(payload, part.get_content_charset()).replace("\r\n", "\n").replace("\0", "")


def _in_charset(data: bytes, charset: str | None) -> str:
    """Return bytes in the encoding they are said to be in; where that is not so, as can be told."""
    try:
        return data.decode(charset or "utf-8")
    except (LookupError, ValueError):
        pass
    try:
        return decode(data)
    except SkippedError:
        return data.decode("utf-8", "replace")
