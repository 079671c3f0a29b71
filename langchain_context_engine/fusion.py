"""One relevance out of several claims, comparable over all sources; and what neighbours and names add.

The formula is measured, see the README's benchmark: min-max over the pool of the dense cosine, the
BM25 score and the bigram BM25 score, weighted .4, .6 and .05, then a share of the better neighbour's
relevance, then a share of the relevance of a top passage that names this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langchain_context_engine.links import Name, NamedIn, Words, links_of, names_of
from langchain_context_engine.types import Candidate, Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """How much each leg, a neighbour and a name weigh.

    Attributes:
        dense: Weight of the cosine similarity.
        lexical: Weight of the BM25 score.
        phrase: Weight of the BM25 score over word pairs.
        neighbour: Share of the better neighbour's relevance that is added.
        link: Share of a naming passage's relevance that is added.
        naming: How many of the best passages may name others.
    """

    dense: float = 0.4
    lexical: float = 0.6
    phrase: float = 0.05
    neighbour: float = 0.3
    link: float = 0.3
    naming: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """The relevance of one candidate after fusion.

    Attributes:
        relevance: 0–1.
        parts: Named raw parts, 0–1: dense, lexical, phrase, neighbour, link.
        lenders: `neighbour` or `link` → the candidate that lent relevance.
    """

    relevance: float
    parts: Mapping[str, float] = field(default_factory=dict)
    lenders: Mapping[str, Key] = field(default_factory=dict)


def fuse(candidates: Sequence[Candidate], fusion: Fusion) -> list[Fused]:
    """Return one `Fused` for each candidate, in order.

    A candidate without claims keeps its `relevance`. So does everyone where the lexical legs found
    nothing: with one leg there is nothing to fuse, and the source's own scale is kept. Fused values
    above 1 are divided by the largest, so order is kept.
    """
    lent = _lent(candidates, fusion)
    if lent is None:
        return [Fused(relevance=candidate.relevance) for candidate in candidates]
    raised = _raised(candidates, fusion, lent)
    return [
        _told(i, raised[i], candidates, lent) if candidate.claims else Fused(relevance=candidate.relevance)
        for i, candidate in enumerate(candidates)
    ]


def strengths(candidates: Sequence[Candidate], fusion: Fusion) -> list[float]:
    """Return the relevance that `fuse` gives each candidate, without what it is made of."""
    lent = _lent(candidates, fusion)
    return (
        [candidate.relevance for candidate in candidates]
        if lent is None
        else _raised(candidates, fusion, lent)
    )


@dataclass(frozen=True, slots=True)
class _Lent:
    """What relevance is made of.

    Attributes:
        first: Relevance by the legs alone.
        live: Leg → scaled values, of those legs that tell candidates apart.
        places: Part → place of the borrower → place of the lender.
    """

    first: Sequence[float]
    live: Mapping[str, Sequence[float]]
    places: Mapping[str, Mapping[int, int]]


def _lent(candidates: Sequence[Candidate], fusion: Fusion) -> _Lent | None:
    """Return the first relevance and who lends to whom; None where the lexical leg found nothing."""
    legs = {"dense": fusion.dense, "lexical": fusion.lexical, "phrase": fusion.phrase}
    scaled = {leg: _min_max(candidates, leg) for leg, weight in legs.items() if weight > 0}
    if not scaled.get("lexical"):
        return None
    live = {leg: values for leg, values in scaled.items() if values}
    total = sum(legs[leg] for leg in live)
    joint = [0.0] * len(candidates)
    for leg, values in live.items():
        weight = legs[leg]
        joint = [value + weight * own for value, own in zip(joint, values, strict=True)]
    first = [
        value / total if candidate.claims else candidate.relevance
        for value, candidate in zip(joint, candidates, strict=True)
    ]
    place = {candidate.key: i for i, candidate in enumerate(candidates)}
    namers = _namers(candidates, first, place, fusion.naming) if fusion.link else {}
    return _Lent(first, live, {"neighbour": _neighbours(candidates, first, place), "link": namers})


def _min_max(candidates: Sequence[Candidate], leg: str) -> list[float]:
    """Scale one leg's claims to 0–1 over the candidates that make one; [] where they do not differ."""
    claims = [candidate.claims.get(leg) for candidate in candidates]
    known = [claim for claim in claims if claim is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    if high <= low:
        return []
    return [0.0 if claim is None else (claim - low) / (high - low) for claim in claims]


def _neighbours(
    candidates: Sequence[Candidate], relevance: Sequence[float], place: Mapping[Key, int]
) -> dict[int, int]:
    """Return, for each candidate that has neighbours in the pool, the place of the better one."""
    better = {}
    for i, candidate in enumerate(candidates):
        near = [place[key] for n in candidate.neighbours if (key := (candidate.source, n)) in place]
        if near:
            better[i] = max(near, key=lambda j: (relevance[j], -j))
    return better


def _namers(
    candidates: Sequence[Candidate], relevance: Sequence[float], place: Mapping[Key, int], naming: int
) -> dict[int, int]:
    """Return, for each candidate that a top passage links to or names verbatim, the best such passage."""
    by_start: dict[Words, list[tuple[Name, int]]] = {}
    for i, candidate in enumerate(candidates):
        for name in names_of(candidate.metadata):
            by_start.setdefault(name.start, []).append((name, i))
    named: dict[int, int] = {}
    for namer in sorted(range(len(candidates)), key=lambda i: (-relevance[i], i))[:naming]:
        passage = candidates[namer]
        linked = [key for link in links_of(passage) if (key := (passage.source, link)) in place]
        # A name that the passage bears itself (chunks of one document share a title) tells nothing.
        own = frozenset(names_of(passage.metadata))
        named_here = (i for i, name in _named_in(passage.text, by_start) if name not in own)
        for i in (*(place[key] for key in linked), *named_here):
            if i != namer:
                named.setdefault(i, namer)
    return named


def _named_in(text: str, by_start: Mapping[Words, Sequence[tuple[Name, int]]]) -> list[tuple[int, Name]]:
    if not by_start:
        return []
    named = NamedIn(text)
    possible = [by_start[start] for start in named.starts() if start in by_start]
    return [(i, name) for names in possible for name, i in names if named.has(name)]


def _raised(candidates: Sequence[Candidate], fusion: Fusion, lent: _Lent) -> list[float]:
    """Add to the first relevance what neighbours and naming passages lend, and scale what has claims."""
    raised = list(lent.first)
    for part, share in (("neighbour", fusion.neighbour), ("link", fusion.link)):
        for borrower, lender in lent.places[part].items():
            if candidates[borrower].claims:
                raised[borrower] += share * lent.first[lender]
    largest = max([1.0, *raised])
    return [
        value / largest if candidate.claims else candidate.relevance
        for value, candidate in zip(raised, candidates, strict=True)
    ]


def _told(i: int, relevance: float, candidates: Sequence[Candidate], lent: _Lent) -> Fused:
    """Return a candidate's relevance with what it is made of, and by whom."""
    lenders = {part: places[i] for part, places in lent.places.items() if i in places}
    parts = {leg: values[i] for leg, values in lent.live.items()}
    if not lenders:
        return Fused(relevance=relevance, parts=parts)
    parts |= {part: lent.first[lender] for part, lender in lenders.items()}
    return Fused(
        relevance=relevance,
        parts=parts,
        lenders={part: candidates[lender].key for part, lender in lenders.items()},
    )
