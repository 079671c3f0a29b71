"""Bytes as text: by byte order mark, as UTF-8, as they say themselves, or by the likeliest guess."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from langchain_context_engine.ingest.report import SkippedError

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

HEAD_BYTES = 8192
"""How much of a file says what it is."""
_SAMPLE_BYTES = 65_536
_ENCODING_OF_MARK = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DECLARATION = re.compile(
    rb"(?:coding[:=][ \t]*|charset=[ \t]*[\"']?|@charset[ \t]+\"|encoding=[ \t]*[\"']|fenc=)"
    rb"([A-Za-z][-\w.]{1,40})"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_INTO_KANJI = re.compile(rb"\x1b\$[@B]")
# Who names the narrower one writes the wider one's characters too, as browsers know.
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949"}
_WIDER["iso8859-1"] = "cp1252"
_WESTERN = (
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüÿŒœŠšŽžŸªº’‘“”„‚–—…•€«»°§©®™£·¿¡²³½¼¾±µ´×\xa0"
)
_NOT_WESTERN = re.compile(rf"[^\x00-\x7f{_WESTERN}]|[À-ÿ]{{3}}|\w[‚–—…•€«»°§©®™£·¿¡²³½¼¾±µ´×“”„][a-z]")
# What texts are written in; few words in the letters of one decode as another's too. Where the everyday
# letters of a script stand, in the rows of which encoding.
_KANJI, _CYRILLIC = ("euc_jp", {0xA4, 0xA5, *range(0xB0, 0xD0)}), ("koi8_r", range(0xC0, 0xE0))
_SCRIPTS: dict[str, tuple[str, Collection[int]]] = {
    "cp949": ("euc_kr", range(0xB0, 0xC9)),
    "gb18030": ("gb2312", range(0xB0, 0xD8)),
    "big5": ("big5", range(0xA4, 0xC7)),
    **dict.fromkeys(("cp932", "euc_jp"), _KANJI),
    **dict.fromkeys(("cp1251", "koi8_r", "cp866"), _CYRILLIC),
}
_CENTRAL = "ąćęłńóśźż áäčďéěíĺľňóôŕřšťúůýž áéíóöőúüű ăâîşţ čćđšž"
_ALPHABETS = {
    "cp1252": "àâæçéèêëîïôœùûüÿ äöüßéà áéíñóúü çáâãàéêíóôõúü àèéìíòóù åäöæøéü áðéíóúýþæö äéëïöüáóè",
    "cp1254": "çğıöşüâîû",
    "cp1250": _CENTRAL,
    "iso8859-2": _CENTRAL,
}
"""Of Latin letters in one byte: what the languages of an encoding have beside ASCII, language by language."""
_GUESSED = [*_SCRIPTS, "cp1250", "cp1253", "cp1254", "cp1255", "cp1256", "cp874"]
_KANA = re.compile("[\u3041-\u30ff]")
_MOST, _COHERENT, _FEW = 0.85, 0.25, 3
# Between letters of Thai or Khmer a place to break tells where a word ends.
_LIGATURES = {sign: normalize("NFKC", chr(sign)) for sign in range(0xFB00, 0xFB07)}
_INVISIBLE = re.compile(r"[\u00ad\u2060\ufeff]|(?<![^\x00-\x7f])\u200b|\u200b(?![^\x00-\x7f])")


def decode(data: bytes) -> str:
    r"""Return bytes as text with `\n` line ends and without NUL.

    Raises:
        SkippedError: binary, or encoding where none is sure.

    Example:
        >>> decode(b"caf\xe9, cr\xe8me\r\n")
        'café, crème\n'
    """
    encoding = _encoding_of(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise SkippedError("encoding", f"begins as {encoding}, but does not decode as that") from None
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def is_binary(head: bytes) -> bool:
    """Say whether a file's first bytes are those of no text."""
    return b"\0" in head[:HEAD_BYTES] and not head.startswith(tuple(_ENCODING_OF_MARK))


def without_invisible(text: str) -> str:
    """Return a text without what nobody sees within its words: soft hyphens, joiners, ligatures."""
    return text if text.isascii() else _INVISIBLE.sub("", text).translate(_LIGATURES)


def encoding_of_lines(path: Path) -> str:
    """Return the encoding of a file that is read line by line; UTF-8 where most of its lines are in it."""
    with path.open("rb") as file:
        sample = file.read(_SAMPLE_BYTES)
    whole = sample if len(sample) < _SAMPLE_BYTES else sample[: sample.rfind(b"\n") + 1] or sample
    telling = [line for line in whole.split(b"\n") if not line.isascii()]
    is_marked = sample.startswith(tuple(_ENCODING_OF_MARK)) or b"\0" in whole
    if is_marked or 2 * sum(_decodes(line, "utf-8") for line in telling) < len(telling):
        with suppress(SkippedError):
            return _encoding_of(whole)
    return "utf-8-sig"


def _decodes(data: bytes, encoding: str) -> bool:
    with suppress(UnicodeDecodeError):
        return data.decode(encoding) is not None
    return False


def _encoding_of(data: bytes) -> str:
    mark = next((name for mark, name in _ENCODING_OF_MARK.items() if data.startswith(mark)), None)
    if mark:
        return mark
    if b"\0" in (head := data[:HEAD_BYTES]):
        # Without a mark Latin letters tell: NUL is every second byte of theirs.
        for name, second in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
            is_wide = 2 * second.count(0) >= len(second) and _decodes(data, name)
            if is_wide and not _CONTROLS.search(data.decode(name)):
                return name
        raise SkippedError("binary")
    if data.isascii():
        return "iso2022_jp_ext" if _INTO_KANJI.search(data) and b"\x1b(" in data else "utf-8"
    if _decodes(data, "utf-8"):
        return "utf-8"
    named = (
        named_encoding(found[1].decode("ascii", "replace")) for found in _DECLARATION.finditer(data[:1024])
    )
    codec = next((codec for codec in named if codec and codec != "utf-8" and _decodes(data, codec)), None)
    # Anything decodes as what people name when they name just something.
    if codec and not (codec in {"cp1252", "iso8859-15"} and _NOT_WESTERN.search(data.decode(codec))):
        return codec
    try:
        return _guessed(data)
    except SkippedError:
        if codec:
            return codec
        raise


def named_encoding(name: str) -> str | None:
    """Return the codec for a name that people write for an encoding; None where ASCII is no part of it."""
    for known in (name.strip(), name.strip().lower().removeprefix("x-")):
        with suppress(LookupError, ValueError):
            codec = codecs.lookup(known).name
            if "escape" not in codec and codec not in {"utf-7", "idna", "punycode"}:
                return _WIDER.get(codec, codec) if b"az AZ".decode(codec) == "az AZ" else None
    return None


def _guessed(data: bytes) -> str:
    """Return the best guess that reads as such texts do, by the lines that are not ASCII."""
    from charset_normalizer import from_bytes

    sample = b"\n".join(line for line in data.split(b"\n") if not line.isascii())[:_SAMPLE_BYTES]
    if _CONTROLS.search(sample.decode("latin-1")):
        raise SkippedError("binary")
    with suppress(UnicodeDecodeError):  # few letters tell of no language: what reads as Western is that
        if not _NOT_WESTERN.search(sample.decode("cp1252")):
            return _of_one_language(sample, "cp1252")
    matches = list(from_bytes(sample, cp_isolation=_GUESSED))
    if likely := list(filter(_is_likely, matches)):  # Japanese has kana, but for a table of names
        best = min(likely, key=lambda m: _SCRIPTS.get(m.encoding) is _KANJI and not _KANA.search(str(m)))
        return _of_one_language(sample, best.encoding)
    raise SkippedError("encoding", f"{matches[0].encoding}?" if matches else "")


def _of_one_language(data: bytes, encoding: str) -> str:
    """Return the encoding in which Latin letters are of one language, if a guess has those of several."""

    def share(of: str) -> float:
        letters = [c for c in data.decode(of, "replace").lower() if not c.isascii() and c.isalpha()]
        return max(sum(c in own for c in letters) for own in _ALPHABETS[of].split()) / max(1, len(letters))

    return max((encoding, *_ALPHABETS), key=share) if encoding in _ALPHABETS else encoding


def _is_likely(match: CharsetMatch) -> bool:
    """Say whether a guess reads as texts do: by their everyday letters, or else by the language it is in."""
    letters = [letter for letter in str(match) if not letter.isascii() and letter.isalpha()]
    if len(letters) < _FEW or match.encoding not in _SCRIPTS:
        return len(letters) >= _FEW and match.coherence >= _COHERENT
    codec, everyday = _SCRIPTS[match.encoding]
    rows = [row[0] for letter in letters if (row := letter.encode(codec, "ignore"))]
    return sum(row in everyday for row in rows) >= _MOST * len(letters)
