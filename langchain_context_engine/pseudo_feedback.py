"""Pseudo-relevance feedback: what the best passages say lifts others that say it too.

A question seldom holds all the words of what answers it. The best passages hold more of them: their
rare terms, taken together, are asked for as well, as in RM3. A passage is never lifted by its own words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TypeVar

Term = TypeVar("Term", str, int)

BEST = 3
"""So many of the best passages are taken to answer."""

MOST_TERMS = 20
"""So many of their terms are asked for."""

_K1, _B = 1.2, 0.75


def pseudo_feedback(
    terms: Sequence[frozenset[Term]], relevance: Sequence[float], asked: frozenset[Term]
) -> list[float]:
    """Return, for each passage, how much it has of the telling terms of the best others, 0 or more.

    A term tells the more the rarer it is in the pool, and the better the passages are that have it; one
    that no second passage has tells nothing. Presence counts, not frequency; length counts as in BM25.

    Args:
        terms: The terms of each passage.
        relevance: How well each passage answers.
        asked: The question's terms, which are left out: they are searched for already.

    Example:
        >>> texts = [{"stripe", "refund"}, {"refund", "rule"}, {"stripe", "fee"}, {"berth"}, {"mast"}]
        >>> lifted = pseudo_feedback([frozenset(t) for t in texts], [1, 0.2, 0, 0, 0], frozenset({"stripe"}))
        >>> lifted[1] > lifted[2] == lifted[3] == 0
        True
    """
    best = sorted(range(len(terms)), key=lambda i: (-relevance[i], i))[:BEST]
    possible = frozenset(chain.from_iterable(terms[i] for i in best)) - asked
    frequency = Counter(chain.from_iterable(found & possible for found in terms))
    n = len(terms)
    idf = {term: math.log(1 + (n - df + 0.5) / (df + 0.5)) for term, df in frequency.items() if df > 1}
    said = {i: {term: relevance[i] * idf[term] for term in terms[i] if term in idf} for i in best}
    of_all = _telling(list(said.values()))
    mean = sum(map(len, terms)) / n if n else 0.0
    lifted = []
    for i, found in enumerate(terms):
        telling = _telling([said[other] for other in best if other != i]) if i in said else of_all
        share = sum([weight for term, weight in telling if term in found])
        lifted.append(share / (1 + _K1 * (1 - _B + _B * len(found) / mean)) if share else 0.0)
    return lifted


def _telling(said: Sequence[Mapping[Term, float]]) -> list[tuple[Term, float]]:
    """Return the weightiest terms of some passages with their weights, which sum to 1."""
    weights: dict[Term, float] = {}
    for passage in said:
        for term, weight in passage.items():
            weights[term] = weights.get(term, 0.0) + weight
    first = sorted([(-weight, term) for term, weight in weights.items()])[:MOST_TERMS]
    total = sum([weight for weight, _ in first]) or 1.0
    return [(term, weight / total) for weight, term in first]
