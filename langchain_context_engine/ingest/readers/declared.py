"""What a text says itself of its encoding, and what people mean by the names they give."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

# In comments of code, in the heads of HTML and XML, in what an editor is told.
_DECLARATION = re.compile(
    rb"(?:coding[:=][ \t]*|charset=[ \t]*[\"']?|@charset[ \t]+\"|encoding=[ \t]*[\"']|fenc=)"
    rb"([A-Za-z][-\w.]{1,40})"
)
_DECLARED_WITHIN = 1024
_ASCII = bytes(range(32, 91)) + b"]^_" + bytes(range(97, 124))
_ESCAPES = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7"})
# As browsers do: who names the narrower one writes the wider one's characters too.
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-1": "cp1252",
}


def named_encoding(name: str) -> str | None:
    """Return the codec for a name that people write for an encoding; None where ASCII is no part of it.

    Example:
        >>> [named_encoding(name) for name in ("GB2312", "x-sjis", "utf-16", "hex")]
        ['gb18030', 'cp932', None, None]
    """
    for known in (name.strip(), name.strip().lower().removeprefix("x-")):
        try:
            codec = codecs.lookup(known).name
            if codec not in _ESCAPES and _ASCII.decode(codec) == _ASCII.decode():
                return _WIDER.get(codec, codec)
        except (LookupError, ValueError):
            continue
    return None


def declared_encodings(data: bytes) -> Iterator[str]:
    """Yield the encodings, other than UTF-8, that a text names in its first lines."""
    for found in _DECLARATION.finditer(data[:_DECLARED_WITHIN]):
        encoding = named_encoding(found[1].decode("latin-1"))
        if encoding is not None and encoding != "utf-8":
            yield encoding
