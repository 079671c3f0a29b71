"""Bytes as text: by byte order mark, as UTF-8, as they say themselves, or by detection where that is sure."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from langchain_context_engine.ingest.readers.declared import declared_encodings
from langchain_context_engine.ingest.skipped import SkippedError

HEAD_BYTES = 8192
"""How much of a file says what it is."""
_SAMPLE_BYTES = 32_768
_ENCODING_OF_MARK = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
BYTE_ORDER_MARKS = tuple(mark for mark, _ in _ENCODING_OF_MARK)
"""How a text in one of Unicode's encodings may begin."""
_FEW = 8
_LEAST_LETTERS = 3
_NUL_SHARE = 0.5
_LEAST_WIDE = 8
_COHERENT = 0.25
_WESTERN = frozenset({"cp1252", "iso8859-15"})
_INTO_KANJI = re.compile(rb"\x1b\$[@B]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_LONGEST_MEAN_LINE = 1000
_LEAST_SPACE = 0.1
_UNSPACED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")

# What Western European languages write, and how they punctuate, in Windows-1252.
_WESTERN_LETTER = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüÿŒœŠšŽžŸªº"
_WESTERN_MARK = "’‘“”„‚–—…•€«»°§©®™£·¿¡²³½¼¾±µ´×\xa0"
_NOT_WESTERN = re.compile(
    # A letter that the languages do not have, a mark within a word, many such letters in a row.
    rf"[^\x00-\x7f{_WESTERN_LETTER}{_WESTERN_MARK}]"
    rf"|\w[{_WESTERN_MARK.replace('’', '')}][a-z]|[{_WESTERN_LETTER}]{{3}}"
)
# A letter of Cyrillic beside one of Latin: hardly a word has both.
_MIXED = re.compile(r"[A-Za-z](?=[Ѐ-ӿ])|[Ѐ-ӿ](?=[A-Za-z])")
_LEAST_WORD = 4
_BIG = 0.9
_MOST = 0.15


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


def _decoded(data: bytes) -> str:
    mark = next((name for mark, name in _ENCODING_OF_MARK if data.startswith(mark)), None)
    try:
        if mark:
            return data.decode(mark)
        if b"\0" in data[:HEAD_BYTES]:
            return data.decode(_wide_encoding(data[:HEAD_BYTES]))
        return _seven_bits(data) or data.decode()
    except UnicodeDecodeError:
        if mark:
            raise SkippedError("encoding", f"the mark of {mark}, but it does not decode as that") from None
    return decode_foreign(data)


def decode_foreign(data: bytes) -> str:
    """Return bytes that are not UTF-8 as text.

    Raises:
        SkippedError: binary, or encoding where none is sure.
    """
    text = _as_declared(data)
    if text is not None:
        return text
    encoding = _detected(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise SkippedError("encoding", f"begins as {encoding}, but does not decode as that") from None


def encoding_of(data: bytes) -> str:
    """Return the encoding of a text that is not plainly UTF-8: by its mark, or by its look.

    Raises:
        SkippedError: binary, or encoding where none is sure.
    """
    mark = next((name for mark, name in _ENCODING_OF_MARK if data.startswith(mark)), None)
    if mark:
        return mark
    return _wide_encoding(data[:HEAD_BYTES]) if b"\0" in data[:HEAD_BYTES] else _detected(data)


def _as_declared(data: bytes) -> str | None:
    """Return the text in the encoding that it names itself in its first lines, where it decodes as that."""
    for encoding in declared_encodings(data):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        # Anything decodes as these, which are what people name when they name just something.
        if not (encoding in _WESTERN and _NOT_WESTERN.search(text)):
            return text
    return None


def _seven_bits(data: bytes) -> str | None:
    """Return Japanese in ISO 2022, which is ASCII with escapes; None where the text is not in it."""
    begins = _INTO_KANJI.search(data)
    if begins is None or not data.isascii() or data.find(b"\x1b(", begins.end()) < 0:
        return None
    try:
        return data.decode("iso2022_jp_ext")
    except UnicodeDecodeError:
        return None


def _wide_encoding(head: bytes) -> str:
    """Return which UTF-16 without a mark this is: its Latin letters have NUL as every second byte."""
    for name, nul, letters in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if (
            len(head) >= _LEAST_WIDE
            and nul.count(0) >= _NUL_SHARE * len(nul)
            and letters.count(0) * 20 <= len(letters)
        ):
            try:
                sample = head[: len(head) // 2 * 2].decode(name, "ignore")
            except UnicodeDecodeError:  # pragma: no cover - "ignore" leaves nothing to raise
                continue
            if not _CONTROLS.search(sample):
                return name
    raise SkippedError("binary")


def _detected(data: bytes) -> str:
    """Return the encoding of text that is not UTF-8, where the guess agrees with how such text looks.

    Raises:
        SkippedError: encoding, where no guess is sure.
    """
    sample = _sample(data)
    if _CONTROLS.search(sample.decode("latin-1")):
        raise SkippedError("binary")
    western = _western(sample)
    high_bytes = sum(byte > 0x7F for byte in sample)  # noqa: PLR2004
    if western and (high_bytes <= _FEW or _has_marks_only(western)):
        return "cp1252"
    from charset_normalizer import from_bytes

    matches = [(m.encoding, str(m), m.coherence) for m in from_bytes(sample)]
    if western and any(text == western and coherence >= matches[0][2] for _, text, coherence in matches):
        return "cp1252"
    for encoding, text, coherence in matches:
        if _is_plausible(encoding, text, coherence):
            return encoding
    raise SkippedError("encoding", f"{matches[0][0]}?" if matches else "")


def _sample(data: bytes) -> bytes:
    """Return the lines that say something of the encoding: those that are not ASCII."""
    lines = [line for line in data.split(b"\n") if not line.isascii()]
    size = 0
    for number, line in enumerate(lines):
        size += len(line) + 1
        if size > _SAMPLE_BYTES:
            return b"\n".join(lines[: number + 1]) if number else line[:_SAMPLE_BYTES]
    return b"\n".join(lines)


def _western(sample: bytes) -> str | None:
    try:
        text = sample.decode("cp1252")
    except UnicodeDecodeError:
        return None
    return None if _NOT_WESTERN.search(text) else text


def _letters(text: str) -> list[str]:
    return [character for character in text if not character.isascii() and character.isalpha()]


def _has_marks_only(text: str) -> bool:
    """Say whether nothing but quotes and dashes is outside of ASCII."""
    return not _letters(text)


def _is_plausible(encoding: str, text: str, coherence: float) -> bool:
    letters = _letters(text)
    if len(letters) < _LEAST_LETTERS:
        return False
    looks_right = next((check for names, check in _SCRIPTS if encoding in names), None)
    if looks_right is not None:
        return looks_right(letters) and len(_MIXED.findall(text)) * _LEAST_WORD < len(letters)
    return coherence >= _COHERENT and not encoding.startswith(
        ("cp1252", "latin", "mac_", "cp4", "cp7", "cp8")
    )


def _share(letters: list[str], first: str, last: str) -> float:
    return sum(first <= letter <= last for letter in letters) / len(letters)


def _is_korean(letters: list[str]) -> bool:
    return _share(letters, "가", "힣") >= _BIG


def _is_japanese(letters: list[str]) -> bool:
    is_half_width = _share(letters, "ｦ", "ﾟ") > _MOST
    known = _share(letters, "ぁ", "ー") + _share(letters, "一", "鿿") + _share(letters, "０", "ｚ")
    return _share(letters, "ぁ", "ー") >= _MOST and known >= _BIG and not is_half_width


def _is_common_chinese(encoding: str, first: int, last: int) -> Callable[[list[str]], bool]:
    """Return a check that the characters are among the everyday ones, which have their own rows."""

    def check(letters: list[str]) -> bool:
        rows = [letter.encode(encoding, "ignore")[:1] for letter in letters]
        return sum(bool(row) and first <= row[0] <= last for row in rows) >= _BIG * len(letters)

    return check


def _is_cyrillic(letters: list[str]) -> bool:
    lower = sum(letter.islower() for letter in letters)
    return _share(letters, "Ѐ", "ӿ") >= _BIG and lower * 2 >= len(letters)


_SCRIPTS: tuple[tuple[frozenset[str], Callable[[list[str]], bool]], ...] = (
    (frozenset({"cp949", "euc_kr", "johab"}), _is_korean),
    (
        frozenset({"cp932", "shift_jis", "euc_jp", "euc_jis_2004", "shift_jis_2004", "iso2022_jp"}),
        _is_japanese,
    ),
    (frozenset({"gb18030", "gbk", "gb2312"}), _is_common_chinese("gb2312", 0xB0, 0xD7)),
    (frozenset({"big5", "big5hkscs", "cp950"}), _is_common_chinese("big5", 0xA4, 0xC6)),
    (frozenset({"cp1251", "koi8_r", "koi8_u", "cp866", "iso8859_5", "mac_cyrillic"}), _is_cyrillic),
)
