"""Whether what was found holds the question at all: a confidence from 0 to 1, and what it is made of.

Pure from the candidates, so a replay says the same. Nothing depends on the scale of an embedder: what is
looked at is which telling words occur, and whether the two legs of the search agree. The constants were
fitted on questions asked of collections that answer them and of others that do not (`python -m
tests.benchmarks.doubt`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.ranking.newest import newest_of
from langchain_context_engine.text.analysis import find_terms, idf_of, term_number
from langchain_context_engine.text.words import query_terms, words
from langchain_context_engine.values.types import Candidate

WEIGHTS: Mapping[str, float] = {
    "missing": -8.1,
    "best": 6.3,
    "agreement": 4.6,
    "shared": 3.2,
}
"""Log odds of each part, where both legs of a search made their claims."""

BIAS = -2.8
WEIGHTS_OF_WORDS: Mapping[str, float] = {"missing": -5.9, "best": 7.8}
"""The same where there are only texts to go by."""

BIAS_OF_WORDS = -2.4
FEW = 8
"""Of so many records half as much is said as of very many: of three notes, hardly anything."""

DOUBTS = "what was found may not hold the question"
"""How the warning of a doubtful context begins."""

_TOP = 10
_MOST_MISSING = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """How sure it is that what was found holds the question.

    Attributes:
        confidence: 0–1; None where a question has no word to go by.
        parts: Named parts, see `holds`.
        missing: Words of the question that occur nowhere in what was found, in its order.
    """

    confidence: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def described(self) -> dict[str, Any]:
        """Return the parts and the missing words as JSON-ready data."""
        return {**self.parts, "missing_words": list(self.missing)} if self.parts else {}

    def warning(self) -> str:
        """Return what a person is told of a doubtful context."""
        said = f"{DOUBTS} (confidence {self.confidence or 0:.2f})"
        if self.missing:
            named = ", ".join(repr(word) for word in self.missing[:_MOST_MISSING])
            more = len(self.missing) - _MOST_MISSING
            return f"{said}: nowhere in it: {named}{f' and {more} more' if more > 0 else ''}"
        return f"{said}: no passage holds more than {self.parts.get('best', 0):.0%} of what it asks"


def holds(candidates: Sequence[Candidate], query: str) -> Holds:
    """Return how sure it is that candidates hold a question, and why.

    The parts, each 0–1 but for `agreement`, from −1: `missing`, the share of the question's telling words
    (weighed by how rare they are here) that occur nowhere; `best`, the share that the best single candidate
    holds; `agreement`, the correlation of the two legs' measures; `shared`, how many of the ten best of
    each leg are the same. Where the newest is asked for and nothing
    else is named, the order of time answers, and there is no doubt.

    Example:
        >>> found = [Candidate(id=str(i), text="Berths are paid monthly.") for i in range(40)]
        >>> holds(found, "how are berths paid?").confidence > 0.9
        True
        >>> holds(found, "a recipe for lasagna").missing
        ('recipe', 'lasagna')
    """
    newest = newest_of(query)
    if newest is not None and (newest.is_release or not newest.about) and candidates:
        return Holds(confidence=1.0, parts={"newest": 1.0})
    asked = newest.about if newest is not None else tuple(query_terms(query))
    if not asked:
        return Holds()
    if not candidates:
        parts = {"missing": 1.0, "best": 0.0}
        return Holds(confidence=0.0, parts=parts, missing=tuple(_spelled(query, asked)))
    parts, absent = _by_words(candidates, asked)
    weights, bias = WEIGHTS_OF_WORDS, BIAS_OF_WORDS
    if legs := _by_legs(candidates):
        parts |= legs
        weights, bias = WEIGHTS, BIAS
    odds = bias + math.fsum(weight * parts[part] for part, weight in weights.items())
    doubt = (1 - 1 / (1 + math.exp(-odds))) * len(candidates) / (len(candidates) + FEW)
    return Holds(confidence=1 - doubt, parts=parts, missing=tuple(_spelled(query, absent)))


def _by_words(candidates: Sequence[Candidate], asked: Sequence[str]) -> tuple[dict[str, float], set[str]]:
    """Return `missing` and `best`, and the terms that occur nowhere."""
    wanted = tuple(map(term_number, asked))
    found = [find_terms(candidate.text, wanted) for candidate in candidates]
    # A word that all of them have counts half as much as one that occurs nowhere: in a collection of one
    # matter its very words would weigh nothing otherwise.
    least = math.log(1 + (len(found) + 0.5) / 0.5)
    idf = [least + own for own in idf_of(found, len(wanted))]
    total = math.fsum(idf)
    there = {term for held in found for term, _ in held}
    absent = [i for i in range(len(wanted)) if i not in there]
    best = max(math.fsum(idf[term] for term, _ in held) for held in found)
    parts = {"missing": math.fsum(idf[i] for i in absent) / total, "best": best / total}
    return parts, {asked[i] for i in absent}


def _by_legs(candidates: Sequence[Candidate]) -> dict[str, float]:
    """Return `agreement` and `shared`; {} where one leg tells nothing apart."""
    searched = [c.claims for c in candidates if "dense" in c.claims and "lexical" in c.claims]
    dense, lexical = ([claims[leg] for claims in searched] for leg in ("dense", "lexical"))
    if len(searched) < 2 or max(dense) == min(dense):  # noqa: PLR2004 - two make a line
        return {}
    agreement = 0.0 if max(lexical) == min(lexical) else _correlation(dense, lexical)
    shared = len(_best(dense) & _best(lexical)) / _TOP
    return {"agreement": agreement, "shared": shared}


def _correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Return Pearson's coefficient, −1 to 1, of two sequences that vary."""
    mean_a, mean_b = math.fsum(a) / len(a), math.fsum(b) / len(b)
    from_a, from_b = [x - mean_a for x in a], [x - mean_b for x in b]
    both = math.fsum(x * y for x, y in zip(from_a, from_b, strict=True))
    norm = math.sqrt(math.fsum(x * x for x in from_a) * math.fsum(y * y for y in from_b))
    return both / norm if norm else 0.0


def _best(values: Sequence[float]) -> set[int]:
    return set(sorted(range(len(values)), key=lambda i: (-values[i], i))[:_TOP])


def _spelled(query: str, absent: Sequence[str] | set[str]) -> list[str]:
    """Return the words of a question all of whose terms are absent, as it spells them."""
    found = []
    for word in dict.fromkeys(words(query)):
        own = query_terms(word)
        if own and all(term in absent for term in own):
            found.append(word)
    return found
