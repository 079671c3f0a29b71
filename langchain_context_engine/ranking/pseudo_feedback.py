"""Pseudo-relevance feedback: what the best passages say lifts others that say it too.

A question seldom holds all the words of what answers it. The best passages hold more of them: their
rare terms, taken together, are asked for as well, as in RM3. A passage is never lifted by its own words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

BEST = 3
"""So many of the best passages are taken to answer."""

MOST_TERMS = 20
"""So many of their terms are asked for."""

_K1, _B = 1.2, 0.75


def pseudo_feedback(terms: Sequence[Any], relevance: Sequence[float], asked: Iterable[int]) -> list[float]:
    """Return, for each passage, how much it has of the telling terms of the best others, 0 or more.

    A term tells the more the rarer it is in the pool, and the better the passages are that have it; one
    that no second passage has tells nothing. Presence counts, not frequency; length counts as in BM25.

    Args:
        terms: For each passage, an array of its terms as numbers; a term may be there several times.
        relevance: How well each passage answers.
        asked: The question's terms, which are left out: they are searched for already.

    Example:
        >>> import numpy as np
        >>> stripe, refund, rule, fee, berth = range(5)
        >>> texts = [[stripe, refund], [refund, rule], [stripe, fee], [berth], [rule]]
        >>> lifted = pseudo_feedback([np.array(t) for t in texts], [1, 0.2, 0, 0, 0], [stripe])
        >>> lifted[1] > lifted[2] == lifted[3] == 0
        True
    """
    import numpy as np

    n = len(terms)
    best = sorted(range(n), key=lambda i: (-relevance[i], i))[:BEST]
    if not best:
        return []
    said = np.setdiff1d(np.concatenate([terms[i] for i in best]), list(asked))
    has = _presence(terms, said)
    frequency = has.sum(axis=0)
    idf = np.log(1 + (n - frequency + 0.5) / (frequency + 0.5)) * (frequency > 1)
    weights = has[best] * np.asarray(relevance, dtype=float)[best, None] * idf
    lifted = has @ _telling(weights.sum(axis=0))
    for place, i in enumerate(best):
        lifted[i] = has[i] @ _telling(np.delete(weights, place, axis=0).sum(axis=0))
    lengths = np.array([len(found) for found in terms])
    mean = max(1.0, float(lengths.mean()))
    return [float(x) for x in lifted / (1 + _K1 * (1 - _B + _B * lengths / mean))]


def _presence(terms: Sequence[Any], wanted: Any) -> Any:
    """Return a table of booleans: which passage (row) has which of the wanted terms, which are sorted."""
    import numpy as np

    has = np.zeros((len(terms), len(wanted)), dtype=bool)
    if not len(wanted):
        return has
    every = np.concatenate(terms)
    passage = np.repeat(np.arange(len(terms)), [len(found) for found in terms])
    place = np.minimum(np.searchsorted(wanted, every), len(wanted) - 1)
    is_wanted = wanted[place] == every
    has[passage[is_wanted], place[is_wanted]] = True
    return has


def _telling(weights: Any) -> Any:
    """Return the weights with all but the weightiest set to 0, scaled to sum to 1."""
    import numpy as np

    first = np.argsort(-weights, kind="stable")[:MOST_TERMS]
    telling = np.zeros(len(weights))
    telling[first] = weights[first]
    return telling / (telling.sum() or 1.0)
