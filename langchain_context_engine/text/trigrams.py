"""Likeness of spelling by trigrams, as PostgreSQL's pg_trgm measures it, and an index to search by it."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection

__all__ = ["TrigramIndex", "similarity", "trigrams"]

_WORD = re.compile(r"[^\W_]+")
_MOST_DEAD = 1000
"""Rows of removed texts that are carried along before the lists are written anew."""


def trigrams(text: str, most: int | None = None) -> frozenset[str]:
    """Return the trigrams of a text: of each word, case folded, with two spaces before and one after.

    Args:
        text: Any text.
        most: More than so many are not looked for; then the result is empty.

    Example:
        >>> sorted(trigrams("cat"))
        ['  c', ' ca', 'at ', 'cat']
    """
    found: set[str] = set()
    folded = text if text.isascii() else unicodedata.normalize("NFKC", text)
    for word in _WORD.finditer(folded):
        padded = f"  {word[0].casefold()} "
        found.update(padded[i : i + 3] for i in range(len(padded) - 2))
        if most is not None and len(found) > most:
            return frozenset()
    return frozenset(found)


def similarity(a: Collection[str], b: Collection[str]) -> float:
    """Return the shared trigrams of two texts over all of them (Jaccard), 0–1; two empty ones are 0.

    Example:
        >>> round(similarity(trigrams("word"), trigrams("two words")), 4)
        0.3636
    """
    shared = len(set(a) & set(b))
    return shared / (len(a) + len(b) - shared) if shared else 0.0


class TrigramIndex:
    """Texts by key, searched by likeness. Not thread-safe.

    A text with more than `most` trigrams is left out: it cannot be alike enough to a question of less
    than `most` × threshold trigrams.

    Args:
        most: Trigrams of the longest text that is kept.

    Example:
        >>> index = TrigramIndex()
        >>> index.put("a", "billing.py")
        >>> [(key, round(likeness, 2)) for key, likeness in index.search("biling", 0.3)]
        [('a', 0.5)]
    """

    def __init__(self, most: int = 400) -> None:
        self._most = most
        self._rows: dict[str, int] = {}
        self._keys: list[str | None] = []
        self._sizes = array("I")
        self._postings: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))

    def put(self, key: str, text: str) -> None:
        """Take a text in, in place of an older one of that key."""
        self.remove(key)
        found = trigrams(text, self._most)
        if not found:
            return
        row = self._rows[key] = len(self._keys)
        self._keys.append(key)
        self._sizes.append(len(found))
        for trigram in found:
            self._postings[trigram].append(row)

    def remove(self, key: str) -> None:
        """Forget a text, if it is there."""
        row = self._rows.pop(key, None)
        if row is None:
            return
        self._keys[row] = None
        if len(self._keys) - len(self._rows) > max(_MOST_DEAD, len(self._rows)):
            self._rewrite()

    def search(self, query: str, threshold: float) -> list[tuple[str, float]]:
        """Return (key, similarity) of the texts above the threshold, best first, ties by key."""
        asked = trigrams(query)
        shared: Counter[int] = Counter()
        for trigram in asked:
            shared.update(self._postings.get(trigram, ()))
        found = [
            (key, likeness)
            for row, n in shared.items()
            if (key := self._keys[row]) is not None
            and (likeness := n / (len(asked) + self._sizes[row] - n)) > threshold
        ]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))

    def _rewrite(self) -> None:
        """Write the lists anew without the rows of removed texts."""
        place = {row: new for new, row in enumerate(self._rows.values())}
        self._keys = list(self._rows)
        self._sizes = array("I", (self._sizes[row] for row in place))
        self._rows = {key: new for new, key in enumerate(self._rows)}
        for trigram, rows in list(self._postings.items()):
            kept = array("I", (place[row] for row in rows if row in place))
            if kept:
                self._postings[trigram] = kept
            else:
                del self._postings[trigram]
