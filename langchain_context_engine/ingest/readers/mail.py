"""Mail: the messages of an mbox or eml file as subject, sender, date and text."""

from __future__ import annotations

import email
import re
from collections.abc import Iterator
from datetime import UTC
from email.message import EmailMessage
from email.policy import default
from email.utils import parseaddr
from typing import Any

from langchain_context_engine.ingest.readers.decoding import decode
from langchain_context_engine.ingest.readers.documents import html_text
from langchain_context_engine.ingest.record import shortened
from langchain_context_engine.ingest.report import SkippedError
from langchain_context_engine.ingest.sections import Document, Parts

_LONGEST_HEADER = 2000
_MOST_PARTS = 200
_SEPARATOR = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]{1,300}\d[^\n]{0,100}\r?\n")


def read_mail(path: str, data: bytes, chunk_size: int) -> Document:
    """Return the messages of a mail box, in its order; attachments are named, not read.

    Raises:
        SkippedError: invalid, where no message is found.
    """
    del chunk_size
    parts = Parts()
    for number, raw in enumerate(_messages(data), 1):
        where = f"{path}:message {number}"
        try:
            text, part, said = _read(raw)
        except Exception as error:  # noqa: BLE001 - the parser raises whatever its inner parts stumble over
            parts.leave_out(where, "invalid", f"{type(error).__name__}: {error}")
            continue
        if text.strip():
            parts.add(text, part=part, kind="mail", metadata=said)
        else:
            parts.leave_out(where, "empty")
    if not parts.sections and not parts.skipped:
        raise SkippedError("invalid", "no message")
    return parts.document()


def _messages(data: bytes) -> Iterator[bytes]:
    """Yield the messages of a box: each begins with a line "From …", the first or after an empty one."""
    found = list(_SEPARATOR.finditer(data))
    if not found or data[: found[0].start()].strip():
        yield data
        return
    ends = [*(mark.start() for mark in found[1:]), len(data)]
    yield from (data[mark.end() : end] for mark, end in zip(found, ends, strict=True))


def _read(raw: bytes) -> tuple[str, str, dict[str, Any]]:
    message = email.message_from_bytes(raw, policy=default)
    subject, sender = _header(message, "subject"), _header(message, "from")
    author = parseaddr(sender)[0] or parseaddr(sender)[1] or sender
    sent = getattr(message.get("date"), "datetime", None)
    if sent is not None:
        sent = sent.replace(tzinfo=UTC) if sent.tzinfo is None else sent.astimezone(UTC)
    day = sent.date().isoformat() if sent else ""
    body, attachments = _body(message)
    heads = [("Subject", subject), ("From", sender), ("To", _header(message, "to")), ("Date", day)]
    lines = [f"{name}: {value}" for name, value in heads if value]
    if not lines and not body.strip():
        return "", "", {}
    names = f"\n\nAttachments: {', '.join(attachments)}" if attachments else ""
    text = "\n".join(lines) + f"\n\n{body.strip()}{names}\n\n"
    said: dict[str, Any] = {"title": subject or None, "author": author or None}
    if sent:
        said["created_at"] = int(sent.timestamp())
    part = ", ".join(filter(None, (shortened(subject or "(no subject)"), day, shortened(author))))
    return text, part, said


def _header(message: EmailMessage, name: str) -> str:
    """Return a header as it reads: encoded words decoded, raw bytes as the text that they are."""
    value = str(message.get(name) or "")[:_LONGEST_HEADER]
    if any("\udc80" <= character <= "\udcff" for character in value) or "\ufffd" in value:
        raw = next((str(v) for n, v in message.raw_items() if n.lower() == name), value)
        value = _text(raw.encode("utf-8", "surrogateescape"), None)[:_LONGEST_HEADER]
    return " ".join(value.split())


def _body(message: EmailMessage) -> tuple[str, list[str]]:
    """Return the text of all parts that are shown, and the names of what is attached.

    Of alternatives the plain one, else HTML; a calendar's or a list's footer beside HTML replaces nothing.
    """
    bodies: list[str] = []
    attachments: list[str] = []
    waiting: list[Any] = [message]
    for _ in range(_MOST_PARTS):
        if not waiting:
            break
        part = waiting.pop(0)
        kind = part.get_content_type()
        if kind == "multipart/alternative":
            found = list(part.iter_parts())
            said = [p for t in ("text/plain", "text/html") for p in found if p.get_content_type() == t]
            plain = next((p for p in said if _shown(p).strip()), None)
            others = [p for p in found if p not in said and p.get_content_type() != "text/calendar"]
            waiting[:0] = [plain] if plain is not None else others
        elif part.is_multipart():
            waiting[:0] = list(part.iter_parts()) if kind != "message/rfc822" else part.get_payload()
        elif name := part.get_filename() or (kind if part.get_content_disposition() == "attachment" else ""):
            attachments.append(" ".join(str(name).split())[:200])
        elif kind.startswith("text/") and kind != "text/calendar":
            bodies.append(_shown(part))
    return "\n\n".join(filter(str.strip, bodies)), attachments


def _shown(part: Any) -> str:
    data = part.get_payload(decode=True)
    text = _text(data, part.get_content_charset()) if isinstance(data, bytes) else ""
    return html_text(text)[0] if part.get_content_type() == "text/html" else text


def _text(data: bytes, charset: str | None) -> str:
    """Return bytes in the encoding they are said to be in; where that is not so, as can be told."""
    try:
        text = data.decode(charset or "utf-8")
    except (LookupError, ValueError):
        try:
            text = decode(data)
        except SkippedError:
            text = data.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\0", "")
