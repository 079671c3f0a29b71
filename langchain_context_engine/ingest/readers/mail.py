"""Mail: the messages of an mbox or eml file as subject, sender, date and text."""

from __future__ import annotations

import email
import re
from collections.abc import Iterator
from contextlib import suppress
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
_SEPARATOR = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]{1,300}\d[^\n]{0,100}\r?\n")

_ENCODED = re.compile(r"^begin [0-7]{3,4} ([^\n]{1,200})\n(?:[!-`][ -`]{0,61}\n)*end[ \t]*$", re.MULTILINE)
"""An attachment as it was written before MIME."""


def read_mail(path: str, data: bytes, chunk_size: int) -> Document:
    """Return the messages of a mail box, in its order; attachments are named, not read."""
    del chunk_size
    parts = Parts()
    # In a box each message begins with a line "From …", the first or after an empty one.
    found = list(_SEPARATOR.finditer(data))
    if not found or data[: found[0].start()].strip():
        messages = [data]
    else:
        ends = [*(mark.start() for mark in found[1:]), len(data)]
        messages = [data[mark.end() : end] for mark, end in zip(found, ends, strict=True)]
    for number, raw in enumerate(messages, 1):
        where = f"{path}:message {number}"
        try:
            text, part, said = _read(raw)
        except Exception as error:  # noqa: BLE001 - the parser raises whatever its inner parts stumble over
            parts.leave_out(where, "invalid", f"{type(error).__name__}: {error}")
            continue
        if text.strip():
            parts.add(text, end="\n\n", part=part, kind="mail", metadata=said)
        else:
            parts.leave_out(where, "empty")
    return parts.document()


def _read(raw: bytes) -> tuple[str, str, dict[str, Any]]:
    message = email.message_from_bytes(raw, policy=default)
    subject, sender = _header(message, "subject"), _header(message, "from")
    author = parseaddr(sender)[0] or parseaddr(sender)[1] or sender
    sent = getattr(message.get("date"), "datetime", None)
    if sent is not None:
        sent = sent.replace(tzinfo=UTC) if sent.tzinfo is None else sent.astimezone(UTC)
    day = sent.date().isoformat() if sent else ""
    shown = list(_shown(message))
    names = ", ".join(name for name, _ in shown if name)
    attached = f"Attachments: {names}" if names else ""
    bodies = [body.strip() for name, body in shown if not name and body.strip()]
    text = "\n\n".join(filter(None, [_heads(message, day), *bodies, attached]))
    said = {"title": subject, "author": author, "created_at": int(sent.timestamp()) if sent else None}
    part = ", ".join(filter(None, (shortened(subject or "(no subject)"), day, shortened(author))))
    return text, part, {name: value for name, value in said.items() if value}


def _heads(message: EmailMessage, day: str) -> str:
    heads = [(name, _header(message, name.lower())) for name in ("Subject", "From", "To", "Cc")]
    return "\n".join(f"{name}: {value}" for name, value in [*heads, ("Date", day)] if value)


def _header(message: EmailMessage, name: str) -> str:
    """Return a header as it reads: encoded words decoded, raw bytes as the text that they are."""
    value = str(message.get(name) or "")[:_LONGEST_HEADER]
    if any("\udc80" <= character <= "\udcff" for character in value) or "\ufffd" in value:
        raw = next((str(v) for n, v in message.raw_items() if n.lower() == name), value)
        value = _text(raw.encode("utf-8", "surrogateescape"), None)[:_LONGEST_HEADER]
    return " ".join(value.split())


def _shown(part: Any) -> Iterator[tuple[str, str]]:
    """Yield (name, "") of what is attached, ("", text) of what is shown.

    Of alternatives the plain one, else HTML; a calendar's or a list's footer beside HTML replaces nothing.
    """
    kind = part.get_content_type()
    if kind == "multipart/alternative":
        told = [(each.get_content_type(), list(_shown(each))) for each in part.iter_parts()]
        worded = [(k, found) for k, found in told if any(text.strip() for _, text in found)]
        yield from min(worded, key=lambda each: each[0] != "text/plain", default=("", []))[1]
    elif kind == "message/delivery-status":
        yield "", "\n".join(map(str, part.get_payload()))
    elif part.is_multipart():
        if kind == "message/rfc822":
            yield "", _heads(part.get_payload(0), "")
        for each in part.get_payload():
            yield from _shown(each)
    elif name := part.get_filename() or (kind if part.get_content_disposition() == "attachment" else ""):
        yield " ".join(str(name).split())[:200], ""
    elif kind.startswith("text/") and kind != "text/calendar":
        data = part.get_payload(decode=True)
        text = _text(data, part.get_content_charset()) if isinstance(data, bytes) else ""
        yield from ((name.strip(), "") for name in _ENCODED.findall(text))
        yield "", html_text(text)[0] if kind == "text/html" else _ENCODED.sub("", text)


def _text(data: bytes, charset: str | None) -> str:
    """Return bytes in the encoding they are said to be in; where that is not so, as can be told."""
    with suppress(LookupError, ValueError):
        return data.decode(charset or "utf-8").replace("\r\n", "\n").replace("\0", "")
    with suppress(SkippedError):
        return decode(data)
    return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\0", "")
