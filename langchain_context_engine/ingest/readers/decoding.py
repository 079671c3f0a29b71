"""Bytes as text: by byte order mark, as UTF-8, as they say themselves, or by the likeliest guess."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_context_engine.ingest.skipped import SkippedError

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

HEAD_BYTES = 8192
"""How much of a file says what it is."""
_SAMPLE_BYTES = 65_536
_ENCODING_OF_MARK = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
BYTE_ORDER_MARKS = tuple(mark for mark, _ in _ENCODING_OF_MARK)
"""How a text in one of Unicode's encodings may begin."""

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
# A letter of Cyrillic beside one of Latin: hardly a word has both.
_MIXED = re.compile(r"[A-Za-z](?=[Ѐ-ӿ])|[Ѐ-ӿ](?=[A-Za-z])")
_FEW, _MOST, _COHERENT = 3, 0.9, 0.25
# Encodings, and in which rows of which one their everyday letters stand; which of them a text must have.
_KANA = {0xA4, 0xA5}
_SCRIPTS: tuple[tuple[str, str, Collection[int], Collection[int], float], ...] = (
    ("cp949 euc_kr johab", "euc_kr", range(0xB0, 0xC9), range(0xB0, 0xC9), _MOST),
    ("gb18030 gbk gb2312", "gb2312", range(0xB0, 0xD8), range(0xB0, 0xD8), _MOST),
    ("big5 big5hkscs cp950", "big5", range(0xA4, 0xC7), range(0xA4, 0xC7), _MOST),
    ("cp932 shift_jis euc_jp euc_jis_2004", "euc_jp", {*_KANA, *range(0xB0, 0xD0)}, _KANA, 0.15),
    ("cp1251 koi8_r koi8_u cp866 iso8859_5", "koi8_r", range(0xC0, 0x100), range(0xC0, 0xE0), 0.5),
)
# Between letters of Thai or Khmer a place to break tells where a word ends.
_INVISIBLE = re.compile(r"[\u00ad\u2060\ufeff]|(?<![^\x00-\x7f])\u200b|\u200b(?![^\x00-\x7f])")
_LONGEST_MEAN_LINE = 1000
_LEAST_SPACE = 0.1
_UNSPACED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def decode(data: bytes) -> str:
    r"""Return bytes as text with `\n` line ends and without NUL.

    Raises:
        SkippedError: binary, or encoding where none is sure.

    Example:
        >>> decode(b"caf\xe9, cr\xe8me\r\n")
        'café, crème\n'
    """
    text = _decoded(data)
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def is_minified(text: str) -> bool:
    """Say whether no person wrote these lines: longer than 1,000 characters on average, hardly a space.

    Asked of code and data only: prose is never minified.
    """
    if len(text) <= _LONGEST_MEAN_LINE * (text.count("\n") + 1):
        return False
    # Languages that part no words have no space either.
    return text.count(" ") + len(_UNSPACED.findall(text)) < _LEAST_SPACE * len(text)


def without_invisible(text: str) -> str:
    r"""Return a text without what nobody sees within its words: soft hyphens, joiners, places to break.

    Example:
        >>> without_invisible("un\u00adbe\u00adliev\u00adable in\u200bvisible\u200b")
        'unbelievable invisible'
    """
    return text if text.isascii() else _INVISIBLE.sub("", text)


def encoding_of_lines(path: Path) -> str:
    """Return the encoding of a file that is read line by line; UTF-8 where most of its lines are in it."""
    with path.open("rb") as file:
        sample = file.read(_SAMPLE_BYTES)
    whole = sample if len(sample) < _SAMPLE_BYTES else sample[: sample.rfind(b"\n") + 1] or sample
    telling = [line for line in whole.split(b"\n") if not line.isascii()]
    is_marked = sample.startswith(BYTE_ORDER_MARKS) or b"\0" in whole
    if not is_marked and 2 * sum(_is_utf8(line) for line in telling) >= len(telling):
        return "utf-8-sig"
    try:
        return _encoding_of(whole)
    except SkippedError:
        return "utf-8-sig"


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decoded(data: bytes) -> str:
    is_plain = not data.startswith(codecs.BOM_UTF8) and b"\0" not in data[:HEAD_BYTES]
    if is_plain and _is_utf8(data) and not (_INTO_KANJI.search(data) and data.isascii()):
        return data.decode()
    return decode_foreign(data)


def decode_foreign(data: bytes) -> str:
    """Return bytes that are not UTF-8 as text.

    Raises:
        SkippedError: binary, or encoding where none is sure.
    """
    encoding = _encoding_of(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise SkippedError("encoding", f"begins as {encoding}, but does not decode as that") from None


def _encoding_of(data: bytes) -> str:
    mark = next((name for mark, name in _ENCODING_OF_MARK if data.startswith(mark)), None)
    if mark:
        return mark
    if b"\0" in data[:HEAD_BYTES]:
        return _wide_encoding(data[:HEAD_BYTES])
    if _INTO_KANJI.search(data) and data.isascii():
        return "iso2022_jp_ext" if b"\x1b(" in data else "utf-8"
    for found in _DECLARATION.finditer(data[:1024]):
        codec = named_encoding(found[1].decode("ascii", "replace"))
        if codec is not None and codec != "utf-8" and _is_declared(codec, data):
            return codec
    return _guessed(data)


def named_encoding(name: str) -> str | None:
    """Return the codec for a name that people write for an encoding; None where ASCII is no part of it.

    Example:
        >>> [named_encoding(name) for name in ("GB2312", "x-sjis", "utf-16", "hex")]
        ['gb18030', 'cp932', None, None]
    """
    for known in (name.strip(), name.strip().lower().removeprefix("x-")):
        with suppress(LookupError, ValueError):
            codec = codecs.lookup(known).name
            if "escape" not in codec and codec not in {"utf-7", "idna", "punycode"}:
                return _WIDER.get(codec, codec) if b"az AZ".decode(codec) == "az AZ" else None
    return None


def _is_declared(codec: str, data: bytes) -> bool:
    """Say whether a text is in the encoding that it names."""
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        return False
    # Anything decodes as these, which are what people name when they name just something.
    return not (codec in {"cp1252", "iso8859-15"} and _NOT_WESTERN.search(text))


def _wide_encoding(head: bytes) -> str:
    """Return which UTF-16 without a mark this is: its Latin letters have NUL as every second byte."""
    for name, nul, letters in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        is_wide = len(head) >= 8 and 2 * nul.count(0) >= len(nul) and 20 * letters.count(0) <= len(letters)  # noqa: PLR2004
        if is_wide and not _CONTROLS.search(head[: len(head) // 2 * 2].decode(name, "ignore")):
            return name
    raise SkippedError("binary")


def _guessed(data: bytes) -> str:
    """Return the best guess that reads as such texts do, by the lines that are not ASCII."""
    from charset_normalizer import from_bytes

    sample = b"\n".join(line for line in data.split(b"\n") if not line.isascii())[:_SAMPLE_BYTES]
    if _CONTROLS.search(sample.decode("latin-1")):
        raise SkippedError("binary")
    with suppress(UnicodeDecodeError):  # few letters tell of no language: what reads as Western is that
        if not _NOT_WESTERN.search(sample.decode("cp1252")):
            return "cp1252"
    matches = list(from_bytes(sample))
    best = next((found.encoding for found in matches if _is_likely(found)), None)
    if best is None:
        raise SkippedError("encoding", f"{matches[0].encoding}?" if matches else "")
    return best


def _is_likely(match: CharsetMatch) -> bool:
    """Say whether a guess reads as texts do: by their everyday letters, or else by the language it is in."""
    text = str(match)
    letters = [character for character in text if not character.isascii() and character.isalpha()]
    for encodings, codec, everyday, telling, least in _SCRIPTS:
        if match.encoding in encodings.split():
            rows = [row[0] for letter in letters if (row := letter.encode(codec, "ignore"))]
            is_told = sum(row in telling for row in rows) >= least * len(letters)
            is_usual = sum(row in everyday for row in rows) >= _MOST * len(letters)
            return (
                len(letters) >= _FEW and is_told and is_usual and 4 * len(_MIXED.findall(text)) < len(letters)
            )
    is_western = match.encoding.startswith(("cp1252", "latin", "mac_", "cp4", "cp7", "cp8", "utf"))
    return len(letters) >= _FEW and not is_western and match.coherence >= _COHERENT
