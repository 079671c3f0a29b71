"""What the words of a question weigh within a scope: their spellings, frequencies, and the mean length.

All of it is counted among the records that a request may see, over all collections of an engine. So claims
compare over sources, and nobody learns from a score, or from a correction, what stands in others' records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langchain_context_engine.filtering.filters import Filter
from langchain_context_engine.search.bags import Bag, Spellings, idf_of, score
from langchain_context_engine.search.postings import LexicalQuery
from langchain_context_engine.search.view import View

_CORRECTABLE = 4
_TWICE_CORRECTABLE = 8
_WEIGHTS = (1.0, 0.8, 0.5)
"""What a word counts at edit distance 0, 1 and 2; two letters that changed places are one edit."""
_MOST_SPELLINGS = 20


@dataclass(frozen=True, slots=True)
class Weighed:
    """A question's words as they count within a scope.

    Attributes:
        words: Each in its spellings.
        idf: Spelling → inverse document frequency.
        pairs: Its pairs of words.
        pairs_idf: Pair → inverse document frequency.
        mean: The mean number of terms of a record.
        pairs_mean: The mean number of pairs of a record.
        needs_all: Every word must stand in a record.
    """

    words: tuple[Spellings, ...]
    idf: dict[str, float]
    pairs: tuple[Spellings, ...]
    pairs_idf: dict[str, float]
    mean: float
    pairs_mean: float
    needs_all: bool = False

    def scores(self, bags: Sequence[Bag]) -> list[tuple[float, float]]:
        """Return (BM25 by terms, BM25 by pairs of terms) of records; 0 where nothing matches."""
        by_terms = score(bags, self.words, self.idf, self.mean, of_pairs=False)
        by_pairs = score(bags, self.pairs, self.pairs_idf, self.pairs_mean, of_pairs=True)
        return list(zip(by_terms, by_pairs, strict=True))


def weigh(query: LexicalQuery, views: Sequence[View], within: Filter) -> Weighed:
    """Return what a question's words weigh among the records that a filter admits."""
    sizes = [view.sizes(within) for view in views]
    records, terms, pairs = (sum(size[i] for size in sizes) for i in range(3))

    def frequency(word: str, *, of_pairs: bool = False) -> int:
        return sum(view.frequency(word, within, of_pairs=of_pairs) for view in views)

    words: list[Spellings] = []
    idf: dict[str, float] = {}
    for word, closed in zip(query.terms, query.closed or ((),) * len(query.terms), strict=True):
        own = idf_of(frequency(word), records)
        forms = {form: idf_of(have, records) for form in closed if (have := frequency(form))}
        # A rare name that two words make counts for each no more than the word itself.
        spellings = [(word, 1.0), *((form, min(1.0, own / rarity)) for form, rarity in forms.items())]
        if not forms and not frequency(word) and len(word) >= _CORRECTABLE:
            spellings = _spellings(word, views, frequency) or spellings
        words.append(tuple(spellings))
        for spelling, _ in spellings:
            idf[spelling] = idf_of(frequency(spelling), records)
    had = {pair: frequency(pair, of_pairs=True) for pair in query.pairs}
    return Weighed(
        words=tuple(words),
        idf=idf,
        pairs=tuple(((pair, 1.0),) for pair, have in had.items() if have),
        pairs_idf={pair: idf_of(have, records) for pair, have in had.items() if have},
        mean=terms / records if records else 1.0,
        pairs_mean=pairs / records if records else 1.0,
        needs_all=query.needs_all,
    )


def _spellings(word: str, views: Sequence[View], frequency: Callable[[str], int]) -> list[tuple[str, float]]:
    """Return the words nearest to a misspelt one, of those that stand in a record within the scope."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    furthest = 2 if len(word) >= _TWICE_CORRECTABLE else 1
    vocabulary = sorted(set().union(*(view.vocabulary(word[0]) for view in views)))
    near = process.extract(word, vocabulary, scorer=OSA.distance, score_cutoff=furthest, limit=None)
    found: list[tuple[str, float]] = []
    for spelling, distance, _ in sorted(near, key=lambda hit: (hit[1], hit[0])):
        if len(found) == _MOST_SPELLINGS:
            break
        if frequency(spelling):
            found.append((spelling, _WEIGHTS[int(distance)]))
    return found
