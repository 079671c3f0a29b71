"""The answerability of a question from what was found: a confidence from 0 to 1, and what it is made of.

Pure from the candidates, so a replay says the same. Nothing depends on the scale of an embedder: what is
looked at is which telling words occur and which of them stand together, whether the two legs of the search
agree, and how far the best stands out. The weights were fitted on questions asked of collections that
answer them and of others that do not (`python -m tests.benchmarks.doubt`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import median
from typing import Any

from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.recency import newest_of
from langchain_context_engine.text.analysis import READ_CLOSELY, Found, find_terms_in, idf_of
from langchain_context_engine.text.words import is_unspaced, query_terms, term_number, words

WEIGHTS: Mapping[str, float] = {
    "missing": -4.6,
    "together": 6.8,
    "agreement": 2.8,
    "shared": 3.0,
    "margin": 8.7,
}
"""Log odds of each part, where both legs of a search made their claims."""

BIAS = -4.8
WEIGHTS_OF_WORDS: Mapping[str, float] = {"missing": -5.1, "together": 8.7}
"""The same where there are only texts to go by."""

BIAS_OF_WORDS = -1.9
WEIGHTS_OF_MARGIN: Mapping[str, float] = {"margin": 21.4}
"""The same where none of the question's telling words occurs: it may be asked in another language."""

BIAS_OF_MARGIN = -6.2
FEW = 8
"""Of so many records half as much is said as of very many: of three notes, hardly anything."""

DOUBTFUL_BELOW = 0.25
"""Calibrated so that at most 3 % of good contexts are doubted, see `python -m tests.benchmarks.doubt`."""

UNSURE_BELOW = 0.5
"""Confidence is the chance that the question is held; less than even is said."""

DOUBTFUL = "what was found may not hold the question"
"""How the warning of a doubtful context begins."""

UNSURE = "what was found may hold only a part of the question"
"""How that of a context begins which is not doubtful, but not sure either."""

MISSING = "nowhere in what was found"
"""How the warning begins that only names the words that are missing."""

_TOP = 10
_MOST_MISSING = 5
_MOST_PAIRED = 32
"""So many of a question's rarest terms are looked for in pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerability:
    """How sure it is that what was found holds the question.

    Attributes:
        confidence: 0–1; None where a question has no word to go by.
        parts: Named parts, see `answerability`.
        missing: Words of the question that occur nowhere in what was found, in its order.
    """

    confidence: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def described(self) -> dict[str, Any]:
        """Return the parts and the missing words as JSON-ready data."""
        return {**self.parts, "missing_words": list(self.missing)} if self.parts else {}

    def warning(self, doubtful_below: float, unsure_below: float) -> str:
        """Return what a person is told, "" where there is nothing to say.

        A missing word is always named; below a bound the sentence says that the context may not hold the
        question, or only a part.

        Args:
            doubtful_below: A confidence below is doubtful.
            unsure_below: A confidence below is not sure.
        """
        named = ", ".join(repr(word) for word in self.missing[:_MOST_MISSING])
        more = len(self.missing) - _MOST_MISSING
        named += f" and {more} more" if more > 0 else ""
        if self.confidence is None or self.confidence >= max(doubtful_below, unsure_below):
            return f"{MISSING}: {named}" if named and self.confidence is not None else ""
        verdict = DOUBTFUL if self.confidence < doubtful_below else UNSURE
        said = f"{verdict} (confidence {self.confidence:.2f})"
        if named:
            return f"{said}: nowhere in it: {named}"
        return f"{said}: no passage holds more than {self.parts.get('best', 0):.0%} of what it asks"


def is_doubt(warning: str) -> bool:
    """Return whether a warning is one of `Answerability.warning`."""
    return warning.startswith((DOUBTFUL, UNSURE, MISSING))


def answerability(candidates: Sequence[Candidate], query: str) -> Answerability:
    """Return how sure it is that candidates, best first, hold a question, and why.

    The parts, each 0–1 but for `agreement`, from −1: `missing`, the share of the question's telling words
    (weighed by how rare they are here) that occur nowhere; `best`, the share that the best single candidate
    holds (shown, not weighed); `together`, the share of the pairs of telling words that stand in one sentence
    of the best `READ_CLOSELY`; `agreement`, the correlation of the two legs' measures; `shared`, how many of
    the ten best of each leg are the same; `margin`, how far from the middle of all cosines to 1 the best one
    comes.

    Where none of its telling words occurs (it may be asked in another language) the vectors alone tell.
    Where the newest is asked for and nothing else is named, the order of time answers, and there is no doubt.

    Example:
        >>> found = [Candidate(id=str(i), text="Berths are paid monthly.") for i in range(40)]
        >>> answerability(found, "how are berths paid?").confidence > 0.9
        True
        >>> answerability(found, "a recipe for lasagna").missing
        ('recipe', 'lasagna')
    """
    newest = newest_of(query)
    if newest is not None and not newest.about and candidates:
        return Answerability(confidence=1.0, parts={"newest": 1.0})
    asked = newest.about if newest is not None else tuple(query_terms(query))
    if not asked:
        return Answerability()
    if not candidates:
        parts = {"missing": 1.0, "best": 0.0}
        return Answerability(confidence=0.0, parts=parts, missing=_words_of(query, asked))
    parts, absent = _by_words(candidates, asked)
    legs = _by_legs(candidates)
    parts |= legs
    weights, bias = (WEIGHTS, BIAS) if legs else (WEIGHTS_OF_WORDS, BIAS_OF_WORDS)
    if legs and parts["missing"] >= 1:
        weights, bias = WEIGHTS_OF_MARGIN, BIAS_OF_MARGIN
    odds = bias + math.fsum(weight * parts[part] for part, weight in weights.items())
    doubt = (1 - 1 / (1 + math.exp(-odds))) * len(candidates) / (len(candidates) + FEW)
    return Answerability(confidence=1 - doubt, parts=parts, missing=_words_of(query, absent))


def _words_of(query: str, absent: Collection[str]) -> tuple[str, ...]:
    """Return the words of a question all of whose terms are absent, as it spells them, in its order."""
    found = (
        word
        for word in words(query)
        if len(word) > 1
        and not is_unspaced(word)
        and (own := query_terms(word))
        and all(term in absent for term in own)
    )
    return tuple(dict.fromkeys(found))


def _by_words(candidates: Sequence[Candidate], asked: Sequence[str]) -> tuple[dict[str, float], set[str]]:
    """Return `missing`, `best` and `together`, and the terms that occur nowhere."""
    wanted = tuple(map(term_number, asked))
    closely = dict.fromkeys(range(min(len(candidates), READ_CLOSELY)), False)
    found = find_terms_in([candidate.text for candidate in candidates], wanted, closely)
    # A word that all of them have counts half as much as one that occurs nowhere: in a collection of one
    # matter its very words would weigh nothing otherwise.
    least = math.log(1 + (len(found) + 0.5) / 0.5)
    idf = [least + own for own in idf_of(found, len(wanted))]
    total = math.fsum(idf)
    there = {term for held in found for term, _ in held}
    absent = [i for i in range(len(wanted)) if i not in there]
    best = max(math.fsum(idf[term] for term, _ in held) for held in found) / total
    parts = {
        "missing": math.fsum(idf[i] for i in absent) / total,
        "best": best,
        "together": _together(found, idf) if len(idf) > 1 else best,
    }
    return parts, {asked[i] for i in absent}


def _together(found: Sequence[Found], idf: Sequence[float]) -> float:
    """Return the share of the pairs of terms that one sentence holds, each weighed by its terms' idf."""
    paired = sorted(sorted(range(len(idf)), key=lambda i: (-idf[i], i))[:_MOST_PAIRED])
    held: set[tuple[int, ...]] = set()
    for terms_found in found:
        by_piece: dict[int, list[int]] = {}
        for term, pieces in terms_found:
            if term in paired:
                for piece in pieces:
                    by_piece.setdefault(piece, []).append(term)
        held.update(tuple(terms) for terms in by_piece.values() if len(terms) > 1)
    pairs = {pair for terms in held for pair in combinations(terms, 2)}
    every = (len(paired) - 1) * math.fsum(idf[i] for i in paired)
    return math.fsum(idf[a] + idf[b] for a, b in sorted(pairs)) / every


def _by_legs(candidates: Sequence[Candidate]) -> dict[str, float]:
    """Return `agreement`, `shared` and `margin`; {} where the dense leg tells nothing apart."""
    searched = [c.claims for c in candidates if "dense" in c.claims and "lexical" in c.claims]
    dense, lexical = ([claims[leg] for claims in searched] for leg in ("dense", "lexical"))
    if len(searched) < 2 or max(dense) == min(dense):  # noqa: PLR2004 - two make a line
        return {}
    agreement = 0.0 if max(lexical) == min(lexical) else _correlation(dense, lexical)
    shared = len(_best(dense) & _best(lexical)) / _TOP
    return {"agreement": agreement, "shared": shared, "margin": _margin(dense)}


def _margin(cosines: Sequence[float]) -> float:
    """Return how far from the middle of all cosines to 1 the best one comes, 0–1.

    An embedder that gives all texts a cosine of .7 at least changes nothing in it.
    """
    middle = median(cosines)
    return min(1.0, max(0.0, (max(cosines) - middle) / (1 - middle))) if middle < 1 else 0.0


def _correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Return Pearson's coefficient, −1 to 1, of two sequences that vary."""
    mean_a, mean_b = math.fsum(a) / len(a), math.fsum(b) / len(b)
    from_a, from_b = [x - mean_a for x in a], [x - mean_b for x in b]
    both = math.fsum(x * y for x, y in zip(from_a, from_b, strict=True))
    norm = math.sqrt(math.fsum(x * x for x in from_a) * math.fsum(y * y for y in from_b))
    return both / norm if norm else 0.0


def _best(values: Sequence[float]) -> set[int]:
    return set(sorted(range(len(values)), key=lambda i: (-values[i], i))[:_TOP])
