"""What is data rather than words: pictures in base64, tables of numbers, signatures and keys, addresses."""

from __future__ import annotations

import re

from langchain_context_engine.ingest.skipped import SkippedError

BLOB = re.compile(r"[!-~]{400,}")
"""A picture in base64, a minified block. Writing without spaces is not ASCII."""

_ADDRESS = r"^\[(?!\^)[^\]\n]{1,200}\]:[ \t]*\S{1,400}(?:[ \t]+[\"'(][^\n]{0,200})?[ \t]*(?:\n|\Z)"
WORDLESS = re.compile(rf"{BLOB.pattern}|(?:{_ADDRESS}){{4,}}", re.MULTILINE)
"""That, and a list of the addresses that links by reference lead to: nobody reads it."""

_ARMOUR = re.compile(rb"[\xef\xbb\xbf\s]*-----BEGIN [A-Z0-9 ]{3,60}-----")
_WORD = re.compile(r"\w+")
_FIGURE = re.compile(r"(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d[\d_]*(?:[eE]\d+)?)(?:[uUlLfFi]\d{0,3}){0,3}")
_MANY, _FEW = 40, 4
# What a drawing's path is made of: `M59,0L59,108`.
_STEP = re.compile(r"[A-Za-z]?\d++(?:[A-Za-z]\d++){0,8}[A-Za-z]?\Z")
_VERY_MANY, _HARDLY_BUT, _SOME = 100, 0.9, 0.05


def refuse_armour(data: bytes) -> None:
    """Refuse a signature, a key or a certificate: it is for programs, and a private key is nobody's to read.

    Raises:
        SkippedError: generated.
    """
    if _ARMOUR.match(data[:200]):
        raise SkippedError("generated", "a signature, a key or a certificate")


def is_data(text: str) -> bool:
    """Return whether a stretch of a program is data: most of it without a space, or hardly but numbers.

    Example:
        >>> is_data("0x7f, 12u, 3, " * 20), is_data("const int limits[] = {1, 2, 3};")
        (True, False)
    """
    if 2 * sum(len(blob[0]) for blob in BLOB.finditer(text)) > len(text):
        return True
    found = _WORD.findall(text)
    if len(found) >= _VERY_MANY:
        steps = [word for word in found if _STEP.match(word)]
        lettered = sum(not word.isdigit() for word in steps)
        if len(steps) >= _HARDLY_BUT * len(found) and lettered >= _SOME * len(found):
            return True
    telling = {word.lower() for word in found if not _FIGURE.fullmatch(word)}
    return len(telling) < _FEW and len(found) >= _MANY
