"""Words of a text: as they are read (`words`), and as they are searched for (`terms`, `query_terms`).

Match a question with a text by `query_terms(question)` and `set(terms(text))`. Every token's terms are
kept in a bounded cache, so a text of 800 characters costs some tens of microseconds.

Scripts written without spaces (Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer) are cut into
overlapping pairs of characters, as Lucene's CJKAnalyzer does.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, Generic, TypeVar
from zlib import crc32

_Given = TypeVar("_Given")

_LONGEST_TOKEN = 100
"""Characters of a token that count; base64 and hashes beyond it would only fill an index."""

_LONGEST_STEM = 40
_MOST_TOKENS = 2**16

_UNSPACED = (
    r"\u0e00-\u0e4e\u0e80-\u0ecd\u1000-\u109f\u1100-\u11ff\u1780-\u17d3\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# `\w` leaves out vowel signs and joiners, without which words of Hindi, Arabic or Persian fall apart.
_MARKS = (
    r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
    r"\u0900-\u0963\u0966-\u0dff\u200c\u200d"
)
_LETTERS = rf"[^\W{_UNSPACED}]"
_MARKED = (
    r"[A-Za-z](?:\+\+|\#)(?![\w+\#])"  # C++ and C#
    r"|[vV]?\d+(?:\.\d+)+"  # 3.12 and v1.0.2
)
_ENDING = r"(?:[sStTdDmM]|re|ve|ll)(?!\w)"
_TOKEN = re.compile(rf"{_MARKED}|{_LETTERS}+(?:[{_MARKS}]+{_LETTERS}*)*(?:['’]{_ENDING})?|[{_UNSPACED}]+")
# The same of a text that is ASCII, in half the time.
_ASCII_TOKEN = re.compile(rf"{_MARKED}|\w+(?:'{_ENDING})?", re.ASCII)
_UNSPACED_START = re.compile(rf"[{_UNSPACED}]")
_PART = re.compile(r"[A-Z]+\d*(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+|[^\W\d_A-Za-z]+")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")

STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any are as at be because been before being below between
    both but by can cannot could did do does doing done down during each either else every few for from
    further had has have having he her here hers herself him himself his how i if in into is it its itself
    just let may me might more most must my myself neither nor of off on once only or other our ours
    ourselves out over own please same shall she should so some such than that the their theirs them
    themselves then there these they this those through to too under until up upon us very was we were
    what when where whether which while who whom whose why will with would you your yours yourself
    yourselves
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
"""English words that say how a sentence is built, not what it is about. `no` and `not` are not among them."""


def words(text: str) -> list[str]:
    """Return the words of a text in order, NFKC-normalised and case-folded.

    An identifier stays one word, a possessive loses its `'s`, a run of an unspaced script becomes
    pairs of characters (one character alone stays).

    Example:
        >>> words("Ana's C++ (beta) parse_url")
        ['ana', 'c++', 'beta', 'parse_url']
        >>> words("認証はJWT")
        ['認証', '証は', 'jwt']
    """
    return list(_each(_WORDS, _tokens(text)))


def terms(text: str) -> list[str]:
    """Return what a text can be found by, in order, repeats included.

    Stop words are out, English words are stemmed (Snowball), an identifier or version stands whole and
    then in its parts. The single characters of unspaced scripts come last, so that a question of one
    character finds them.

    Example:
        >>> terms("Parsing the parse_url of v1.2")
        ['pars', 'parse_url', 'pars', 'url', 'v1.2', 'v1', '2']
    """
    tokens = _tokens(text)
    found = list(_each(_TERMS, tokens))
    if not text.isascii():
        found += _characters(tokens)
    return found


def term_numbers(text: str) -> frozenset[int]:
    """Return the numbers of a text's terms, each once.

    Example:
        >>> term_numbers("Parsing the URL") == {term_number("pars"), term_number("url")}
        True
    """
    tokens = _tokens(text)
    found = _each(_NUMBERS, tokens)
    if not text.isascii():
        found = chain(found, map(term_number, _characters(tokens)))
    return frozenset(found)


def _characters(tokens: Iterable[str]) -> Iterator[str]:
    """Return the single characters of runs of unspaced scripts, of which `_pairs` gives the pairs."""
    return chain.from_iterable(t for t in tokens if len(t) > 1 and _UNSPACED_START.match(t))


@lru_cache(maxsize=2**16)
def term_number(term: str) -> int:
    """Return the number of a term; two share one once in four thousand million pairs."""
    return crc32(term.encode("utf-8", "replace"))


def query_terms(query: str) -> list[str]:
    """Return the terms of a question, each once, in order; a question of stop words only has none.

    Example:
        >>> query_terms("What did we decide about billing?")
        ['decid', 'bill']
        >>> query_terms("the of and")
        []
    """
    return list(dict.fromkeys(_each(_TERMS, _tokens(query))))


def closed_forms(query: str) -> dict[str, tuple[str, ...]]:
    """Return term → the words that it makes with the word beside it: people write `time out` and `timeout`.

    The first of the two tells something by itself; of an identifier the whole is a term as it stands.

    Example:
        >>> closed_forms("the time out of file names")
        {'time': ('timeout',), 'file': ('filenam', 'filenames'), 'name': ('filenam', 'filenames')}
    """
    forms: dict[str, list[str]] = {}
    for first, second in pairwise(_tokens(query)):
        if first.isascii() and first.isalpha() and second.isascii() and second.isalpha() and _TERMS[first]:
            closed = (first + second).casefold()
            for term in (_TERMS[first][-1], *_TERMS[second][-1:]):
                forms.setdefault(term, []).extend((stem(closed), closed))
    return {term: tuple(dict.fromkeys(closed)) for term, closed in forms.items()}


def is_unspaced(word: str) -> bool:
    """Return whether a word is a piece of a script that is written without spaces.

    Example:
        >>> is_unspaced("認証"), is_unspaced("tea")
        (True, False)
    """
    return _UNSPACED_START.match(word) is not None


def _tokens(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_TOKEN.findall(text)
    return _TOKEN.findall(unicodedata.normalize("NFKC", text))


def _words_of(token: str) -> tuple[str, ...]:
    return (token.casefold().replace("’", "'").removesuffix("'s"),)


def _terms_of(token: str) -> tuple[str, ...]:
    token, apostrophe, ending = token.replace("’", "'").strip("_").partition("'")
    word = token.casefold()
    # Every "n't" is an auxiliary verb: don't, couldn't.
    if not word or word in STOP_WORDS or (apostrophe and ending in "tT"):
        return ()
    if word.isascii() and ("_" in word or "." in word or _CAMEL.search(token)):
        parts = word.split(".") if "." in word else map(str.casefold, _PART.findall(token))
        return (word, *(stem(part) for part in parts if part not in STOP_WORDS))
    return (stem(word),)


class _Memo(dict[str, tuple[_Given, ...]], Generic[_Given]):
    """Token → what it gives, worked out when it is first looked up: a look-up runs at the speed of C.

    What is kept is kept short, and runs of an unspaced script, which rarely repeat, stay out. One that
    is full starts anew.
    """

    def __init__(
        self, of: Callable[[str], tuple[_Given, ...]], of_run: Callable[[str], tuple[_Given, ...]]
    ) -> None:
        super().__init__()
        self._of, self._of_run = of, of_run

    def __missing__(self, token: str) -> tuple[_Given, ...]:
        if token[0] > "\u0dff" and _UNSPACED_START.match(token):
            return self._of_run(token)
        if len(token) > _LONGEST_TOKEN:
            return self[token[:_LONGEST_TOKEN]]
        found = self._of(token)
        if len(self) >= _MOST_TOKENS:
            self.clear()
        self[token] = found
        return found


def _pairs(run: str) -> tuple[str, ...]:
    return tuple(a + b for a, b in pairwise(run)) or (run,)


_WORDS, _TERMS = _Memo(_words_of, _pairs), _Memo(_terms_of, _pairs)
_NUMBERS = _Memo(
    lambda token: tuple(map(term_number, _TERMS[token])), lambda run: tuple(map(term_number, _pairs(run)))
)


def _each(memo: _Memo[_Given], tokens: Iterable[str]) -> Iterator[_Given]:
    return chain.from_iterable(map(memo.__getitem__, tokens))


@lru_cache(maxsize=2**16)
def stem(word: str) -> str:
    """Return the Snowball English stem of a lower-case word.

    Example:
        >>> stem("decisions")
        'decis'
    """
    if len(word) > _LONGEST_STEM or not word.isalpha():
        return word
    return str(_stemmer().stemWord(word))


_of_thread = threading.local()
"""A stemmer keeps the word that it works on in itself, so each thread has its own."""


def _stemmer() -> Any:
    if not hasattr(_of_thread, "stemmer"):
        from Stemmer import Stemmer

        _of_thread.stemmer = Stemmer("english", 0)
    return _of_thread.stemmer
