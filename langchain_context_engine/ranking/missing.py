"""The words of a question that occur nowhere in what was found, as a person reads them.

Scripts without spaces are looked up by pairs of characters, which are no words: what is told of them is the
piece of the question in which no pair occurs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from itertools import groupby, pairwise

from langchain_context_engine.ranking.editions import EDITION, SPOKEN
from langchain_context_engine.text.endings import without_endings
from langchain_context_engine.text.words import is_unspaced, query_terms, words

__all__ = ["missing_words"]

_WORDLIKE = re.compile(r"[\u30a1-\u30fa\u30fc-\u30ff]+|[\uac00-\ud7af]+")
"""Katakana, and Korean between spaces: a word, or a word with its particle."""

_RUNS = re.compile(rf"{_WORDLIKE.pattern}|[^\W\u30a1-\u30fa\u30fc-\u30ff\uac00-\ud7af]+")
_LEAST = 2


def missing_words(query: str, absent: Collection[str], edition: int = EDITION) -> tuple[str, ...]:
    """Return the words of a question all of whose terms are absent, as it spells them, in its order.

    Args:
        query: The question.
        absent: Terms that occur nowhere.
        edition: Of the rules, see `editions.py`; before the eighth nothing is told of scripts without spaces.

    Example:
        >>> missing_words("moorings and 係留動画", {"moor", "留動", "動画"})
        ('moorings', '動画')
    """
    tells_all = edition >= SPOKEN and not query.isascii()
    return tuple(dict.fromkeys(_all(query, absent) if tells_all else _spaced(query, absent)))


def _spaced(text: str, absent: Collection[str]) -> Iterator[str]:
    for word in words(text):
        own = () if is_unspaced(word) else query_terms(word)
        if own and all(term in absent for term in own):
            yield word


def _all(query: str, absent: Collection[str]) -> Iterator[str]:
    text = unicodedata.normalize("NFKC", without_endings(query))
    for found in re.split(r"(\s+)", text):
        place = 0
        for run in _RUNS.finditer(found):
            if not any(map(is_unspaced, run[0])):
                continue
            yield from _spaced(found[place : run.start()], absent)
            place = run.end()
            if _WORDLIKE.fullmatch(run[0]):
                yield from _whole(run[0], absent)
            else:
                yield from _pieces(run[0], absent)
        yield from _spaced(found[place:], absent)


def _whole(word: str, absent: Collection[str]) -> Iterator[str]:
    """Yield a word most of whose pairs occur nowhere."""
    pairs = [a + b for a, b in pairwise(word)] or [word]
    if sum(pair in absent for pair in pairs) * 2 > len(pairs):
        yield word


def _pieces(run: str, absent: Collection[str]) -> Iterator[str]:
    """Yield the stretches of a run none of whose pairs occurs, without characters of pairs that do."""
    for unspaced, letters in groupby(run, is_unspaced):
        piece = "".join(letters)
        if not unspaced:
            yield from _spaced(piece, absent)
            continue
        if len(piece) == 1 and piece in absent:
            yield piece
        is_absent = [a + b in absent for a, b in pairwise(piece)]
        place = 0
        for gone, pairs in groupby(is_absent):
            first, place = place, place + len(list(pairs))
            # A character that a pair beside it has is of another word.
            start, end = first + (first > 0), place + (place == len(is_absent))
            if gone and end - start >= _LEAST:
                yield piece[start:end]
