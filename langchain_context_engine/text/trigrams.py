"""Likeness of spelling by trigrams, as PostgreSQL's pg_trgm measures it, and an index to search by it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection

_WORD = re.compile(r"[^\W_]+")


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
        self._texts: dict[str, frozenset[str]] = {}
        self._keys: defaultdict[str, set[str]] = defaultdict(set)

    def put(self, key: str, text: str) -> None:
        """Take a text in, in place of an older one of that key."""
        self.remove(key)
        if found := trigrams(text, self._most):
            self._texts[key] = found
            for trigram in found:
                self._keys[trigram].add(key)

    def remove(self, key: str) -> None:
        """Forget a text, if it is there."""
        for trigram in self._texts.pop(key, ()):
            self._keys[trigram].discard(key)
            if not self._keys[trigram]:
                del self._keys[trigram]

    def search(self, query: str, threshold: float) -> list[tuple[str, float]]:
        """Return (key, similarity) of the texts above the threshold, best first, ties by key."""
        asked = trigrams(query)
        shared: Counter[str] = Counter()
        for trigram in asked:
            shared.update(self._keys.get(trigram, ()))
        found = ((key, n / (len(asked) + len(self._texts[key]) - n)) for key, n in shared.items())
        return sorted((hit for hit in found if hit[1] > threshold), key=lambda hit: (-hit[1], hit[0]))
