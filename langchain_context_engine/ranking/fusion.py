"""One relevance out of several claims, comparable over all sources; and what neighbours and names add.

The formula is measured, see the README's benchmark: min-max over the pool of the dense cosine, the
BM25 score, the bigram BM25 score and the share of the question that the best sentence and the name hold,
weighted .4, .6, .05, .2 and .1; then what the words of the best passages add where the question's own
say little; then a share of the relevance of what stands around this passage, and of that of a top passage
that names it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.models.types import Candidate, Key
from langchain_context_engine.ranking.editions import EDITION, SPOKEN
from langchain_context_engine.ranking.fit import fits
from langchain_context_engine.ranking.links import (
    Name,
    NamedIn,
    Words,
    linked_places,
    members_of,
    names_of,
    telling_of,
)
from langchain_context_engine.ranking.named import name_shares
from langchain_context_engine.ranking.neighbours import lent_by_neighbours
from langchain_context_engine.ranking.pseudo_feedback import pseudo_feedback
from langchain_context_engine.text.analysis import analyse
from langchain_context_engine.text.endings import without_endings
from langchain_context_engine.text.units import best_shares, numbers_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """How much each leg, a neighbour and a name weigh.

    Attributes:
        dense: Weight of the cosine similarity: .4 suits the bundled static vectors; for those of a
            sentence transformer .6 gives a little more at small budgets, see
            `tests/benchmarks/README.md`, "Another embedder".
        lexical: Weight of the BM25 score.
        phrase: Weight of the BM25 score over word pairs.
        sentence: Weight of the question's share that the best single sentence holds.
        name: Weight of the question's share that a record's name holds, see `named.py`.
        feedback: How much the terms of the best passages lift others, times the square of what they lack.
        neighbour: Share of what stands around a passage that is added, see `neighbours.py`.
        link: Share of a naming passage's relevance that is added.
        member: Of that share, what a top passage lends to its own parts (a class to its methods, a
            function's beginning to the rest), over the root of their number: of many each gets little. Off:
            on questions that it was not chosen on it gave nothing, and cost a class its place.
        naming: How many of the best passages may name others.
        fit: How strongly it counts what a record is for what the question is after, see `fit.py`; 0: not.
        telling: A name lends by how well it tells one record from others, see `telling_of`.
        newest: Where the newest is asked for, the order of time answers, see `newest.py`; False: as
            `latest.py` says.
        edition: Of the rules that are no weight, see `editions.py`.
    """

    dense: float = 0.4
    lexical: float = 0.6
    phrase: float = 0.05
    sentence: float = 0.2
    name: float = 0.1
    feedback: float = 0.4
    neighbour: float = 0.6
    link: float = 0.4
    member: float = 0.0
    naming: int = 3
    fit: float = 1.5
    telling: bool = True
    newest: bool = True
    edition: int = EDITION


BEFORE: Mapping[str, Any] = {
    "name": 0.0, "member": 0.0, "fit": 0.0, "telling": False, "newest": False, "edition": 1,
}  # fmt: skip
"""What traces were made with that do not name these yet: nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """The relevance of one candidate after fusion.

    Attributes:
        relevance: 0–1.
        parts: Named raw parts, 0–1: dense, lexical, phrase, sentence, name, feedback, neighbour, link, fit.
        lenders: `neighbour` or `link` → the candidate that lent relevance.
    """

    relevance: float
    parts: Mapping[str, float] = field(default_factory=dict)
    lenders: Mapping[str, Key] = field(default_factory=dict)


def is_searched(candidate: Candidate) -> bool:
    """Return whether a search leg made a claim about a candidate; what a reranker says is none."""
    claims = candidate.claims
    return bool(claims) and ("rerank" not in claims or len(claims) > 1)


def fuse(candidates: Sequence[Candidate], fusion: Fusion, query: str = "") -> list[Fused]:
    """Return one `Fused` for each candidate, in order.

    A candidate without claims keeps its `relevance`. So does everyone where the lexical legs found
    nothing: with one leg there is nothing to fuse, and the source's own scale is kept. Fused values
    above 1 are divided by the largest, so order is kept.

    Args:
        candidates: The pool.
        fusion: The weights.
        query: The question, for what only the texts themselves tell; "" does without.
    """
    lent = _lent(candidates, fusion, query)
    if lent is None:
        return [Fused(relevance=candidate.relevance) for candidate in candidates]
    raised = _raised(candidates, fusion, lent)
    if fusion.fit:
        suits = fits(candidates, query, fusion.fit, fusion.edition)
        raised = _fitted(candidates, raised, suits)
        if min(suits) < 1:
            lent.live["fit"] = suits
    return [
        _told(i, raised[i], candidates, lent)
        if is_searched(candidate)
        else Fused(relevance=candidate.relevance)
        for i, candidate in enumerate(candidates)
    ]


def strengths(candidates: Sequence[Candidate], fusion: Fusion, query: str = "") -> list[float]:
    """Return the relevance that `fuse` gives each candidate but for what only the texts themselves tell."""
    lent = _lent(candidates, fusion)
    if lent is None:
        return [candidate.relevance for candidate in candidates]
    suits = fits(candidates, query, fusion.fit, fusion.edition)
    return _fitted(candidates, _raised(candidates, fusion, lent), suits)


def _fitted(
    candidates: Sequence[Candidate], relevance: Sequence[float], suits: Sequence[float]
) -> list[float]:
    return [
        value * suit if is_searched(candidate) else value
        for candidate, value, suit in zip(candidates, relevance, suits, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Lent:
    """What relevance is made of.

    Attributes:
        first: Relevance by the legs and the texts alone.
        live: Part → scaled values, of those parts that tell candidates apart.
        places: Part → place of the borrower → place of the lender, and what is lent.
    """

    first: Sequence[float]
    live: dict[str, Sequence[float]]
    places: Mapping[str, Mapping[int, tuple[int, float]]]


def _lent(candidates: Sequence[Candidate], fusion: Fusion, query: str = "") -> _Lent | None:
    """Return the first relevance and who lends to whom; None where the lexical leg found nothing."""
    legs = {"dense": fusion.dense, "lexical": fusion.lexical, "phrase": fusion.phrase}
    live: dict[str, Sequence[float]] = {
        leg: scaled
        for leg, weight in legs.items()
        if weight > 0 and (scaled := _scaled([candidate.claims.get(leg) for candidate in candidates]))
    }
    if "lexical" not in live:
        return None
    wanted = numbers_of(without_endings(query) if fusion.edition >= SPOKEN else query)
    if wanted and fusion.sentence and (scaled := _scaled(best_shares(candidates, wanted))):
        legs["sentence"], live["sentence"] = fusion.sentence, scaled
    if wanted and fusion.name and (scaled := _scaled(name_shares(candidates, wanted))):
        legs["name"], live["name"] = fusion.name, scaled
    first = _joint(candidates, {leg: (legs[leg], values) for leg, values in live.items()})
    if wanted and fusion.feedback:
        terms = [analyse(candidate.text).terms for candidate in candidates]
        if lifted := _scaled(pseudo_feedback(terms, first, wanted)):
            live["feedback"] = lifted
            first = [
                value + fusion.feedback * more * (1 - value) ** 2 if is_searched(candidate) else value
                for candidate, value, more in zip(candidates, first, lifted, strict=True)
            ]
    place = {candidate.key: i for i, candidate in enumerate(candidates)}
    namers = _namers(candidates, first, place, fusion) if fusion.link else {}
    return _Lent(first, live, {"neighbour": lent_by_neighbours(candidates, first, place), "link": namers})


def _joint(candidates: Sequence[Candidate], legs: Mapping[str, tuple[float, Sequence[float]]]) -> list[float]:
    """Return the weighted mean of the legs; what makes no claim keeps its own relevance."""
    total = sum(weight for weight, _ in legs.values())
    joint = [0.0] * len(candidates)
    for weight, values in legs.values():
        joint = [value + weight * own for value, own in zip(joint, values, strict=True)]
    return [
        value / total if is_searched(candidate) else candidate.relevance
        for value, candidate in zip(joint, candidates, strict=True)
    ]


def _scaled(claims: Sequence[float | None]) -> list[float]:
    """Scale one leg's claims to 0–1 over the candidates that make one; [] where they do not differ."""
    known = [claim for claim in claims if claim is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    if high <= low:
        return []
    return [0.0 if claim is None else (claim - low) / (high - low) for claim in claims]


def _namers(
    candidates: Sequence[Candidate], relevance: Sequence[float], place: Mapping[Key, int], fusion: Fusion
) -> dict[int, tuple[int, float]]:
    """Return, for each candidate that a top passage names verbatim, links to or consists of, the best one.

    Beside it stands what it lends.
    """
    by_start: dict[Words, list[tuple[Name, int]]] = {}
    for i, candidate in enumerate(candidates):
        for name in names_of(candidate.metadata):
            by_start.setdefault(name.start, []).append((name, i))
    tells = telling_of(candidates, fusion.edition) if fusion.telling else None
    named: dict[int, tuple[int, float]] = {}

    def lend(i: int, namer: int, share: float) -> None:
        value = share * relevance[namer]
        if i != namer and (i not in named or named[i][1] < value):
            named[i] = namer, value

    members = members_of(candidates, place) if fusion.member else {}
    for namer in sorted(range(len(candidates)), key=lambda i: (-relevance[i], i))[: fusion.naming]:
        passage = candidates[namer]
        for i in linked_places(passage, place):
            lend(i, namer, 1.0)
        # A name that the passage bears itself (chunks of one document share a title) tells nothing.
        own = frozenset(names_of(passage.metadata))
        for i, name in _named_in(passage.text, by_start):
            if name not in own:
                lend(i, namer, tells(name) if tells else 1.0)
        for i in members.get(namer, ()):
            lend(i, namer, fusion.member / math.sqrt(len(members[namer])))
    return named


def _named_in(text: str, by_start: Mapping[Words, Sequence[tuple[Name, int]]]) -> list[tuple[int, Name]]:
    if not by_start:
        return []
    named = NamedIn.of(text)
    possible = [by_start[start] for start in named.starts() if start in by_start]
    return [(i, name) for names in possible for name, i in names if named.has(name)]


def _raised(candidates: Sequence[Candidate], fusion: Fusion, lent: _Lent) -> list[float]:
    """Add to the first relevance what neighbours and naming passages lend, and scale what has claims."""
    raised = list(lent.first)
    for part, share in (("neighbour", fusion.neighbour), ("link", fusion.link)):
        for borrower, (_, value) in lent.places[part].items():
            if is_searched(candidates[borrower]):
                raised[borrower] += share * value
    largest = max([1.0, *raised])
    return [
        value / largest if is_searched(candidate) else candidate.relevance
        for value, candidate in zip(raised, candidates, strict=True)
    ]


def _told(i: int, relevance: float, candidates: Sequence[Candidate], lent: _Lent) -> Fused:
    """Return a candidate's relevance with what it is made of, and by whom."""
    lenders = {part: places[i] for part, places in lent.places.items() if i in places}
    parts = {leg: values[i] for leg, values in lent.live.items()}
    if not lenders:
        return Fused(relevance=relevance, parts=parts)
    parts |= {part: value for part, (_, value) in lenders.items()}
    return Fused(
        relevance=relevance,
        parts=parts,
        lenders={part: candidates[lender].key for part, (lender, _) in lenders.items()},
    )
