"""How records refer to each other: by the ids in their `links`, and by the names that stand in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.models.metadata import read_list
from langchain_context_engine.models.types import Candidate, Key
from langchain_context_engine.text.memoize import memoize

_WORD = re.compile(r"\w+")
_NAMES_BYTES = 2**23


def links_of(candidate: Candidate) -> tuple[str, ...]:
    """Return the ids that a record's `links` metadata names: a list, a JSON list, or split at commas.

    Example:
        >>> links_of(Candidate(id="a", metadata={"links": "b, c"}))
        ('b', 'c')
    """
    links = read_list(candidate.metadata.get("links"))
    return tuple(dict.fromkeys(str(link) for link in links if link != candidate.id))


def linked_places(candidate: Candidate, place: Mapping[Key, int]) -> list[int]:
    """Return the places of those in the pool that a record links to.

    Args:
        candidate: The record.
        place: Key → place in the pool.
    """
    keys = ((candidate.source, link) for link in links_of(candidate))
    return [place[key] for key in keys if key in place]


Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """How a text may refer to a record.

    Attributes:
        words: Stand in the text one after the other.
        beside: Stand in it too, wherever: the path beside a symbol.
    """

    words: Words
    beside: Words = ()

    @property
    def start(self) -> Words:
        """The first two words, or the only one: what names are looked up by."""
        return self.words[:2]


def names_of(metadata: Mapping[str, Any]) -> tuple[Name, ...]:
    """Return the names by which a text may refer to a record: its title, or its symbol beside its path.

    Example:
        >>> names_of({"path": "a/b.py", "symbol": "C.run"})
        (Name(words=('C', 'run'), beside=('a', 'b', 'py')),)
    """
    title, path, symbol = metadata.get("title"), metadata.get("path"), metadata.get("symbol")
    if not title and not (path and symbol):
        return ()  # the usual case, told at once
    return _names(str(title or ""), str(path or ""), str(symbol or ""))


@memoize(_NAMES_BYTES, a_character=20)
def _names(title: str, path: str, symbol: str) -> tuple[Name, ...]:
    titles, paths, symbols = map(words_in, (title, path, symbol))
    names = (Name(titles),) if titles else ()
    return (*names, Name(symbols, paths)) if paths and symbols else names


def words_in(text: str) -> Words:
    """Return the words of a text as they stand in it; names are matched with their case."""
    return tuple(_WORD.findall(text))


class NamedIn:
    """Looks names up in one text.

    Example:
        >>> named = NamedIn("Changed a/b.py: C.run is faster")
        >>> [named.has(name) for name in names_of({"path": "a/b.py", "symbol": "C.run"})]
        [True]
    """

    def __init__(self, text: str) -> None:
        self.words = words_in(text)
        self._joined = f" {' '.join(self.words)} "
        pairs = zip(self.words, self.words[1:], strict=False)
        self._starts = tuple(dict.fromkeys((*((word,) for word in self.words), *pairs)))

    @classmethod
    def of(cls, text: str) -> NamedIn:
        """Return the same, kept for the few texts of a question that are looked at for each source."""
        return _named_in(text)

    def starts(self) -> Iterable[Words]:
        """Return every start that a name in this text may have, once, in text order."""
        return self._starts

    def has(self, name: Name) -> bool:
        """Return whether a name stands in the text."""
        return self._stands(name.words) and (not name.beside or self._stands(name.beside))

    def _stands(self, words: Words) -> bool:
        return f" {' '.join(words)} " in self._joined


@memoize(_NAMES_BYTES, a_character=40)
def _named_in(text: str) -> NamedIn:
    return NamedIn(text)
