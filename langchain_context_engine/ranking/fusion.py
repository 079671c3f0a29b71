"""The fusion of what a search, a record's name, its neighbours and its role say into one relevance.

A weighted mean of signals, each 0–1 over the pool: the cosine, BM25, the share of the question that the
record's name and its best sentence hold; then what the words of the best passages add
where the question's own say little; then, as a share of what these give the lender, what stands around a
passage and what names it; all times how well a record of its role suits the question (`intent.py`).

`python -m tests.benchmarks.ablation` takes each part away in turn and prints what it earns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Any

from langchain_context_engine.models.types import Candidate, Key
from langchain_context_engine.ranking.intent import intents
from langchain_context_engine.ranking.links import Name, NamedIn, Words, linked_places, names_of
from langchain_context_engine.text.analysis import READ_CLOSELY, numbers_in, presence, terms_of
from langchain_context_engine.text.units import best_shares, numbers_of

NAMING = 3
"""How many of the best passages may name others; 10 gave nothing more."""

NEAR, OTHER_SIDE = 0.75, 0.25
"""How the better and the other neighbour count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """How much each part of relevance weighs; of all but `feedback` and `intent` only the proportions count.

    What each earns stands in `tests/benchmarks/README.md`, "What each part earns": of the lines that SWE-QA
    cites at 4,000 tokens words .05, intent .03, names .02; of the evidence of multi-hop questions at 1,000
    feedback .04 and links .02, of news the cosine .03, of questions about programming links .03; sentences
    .02 of multi-hop questions at 500.

    Attributes:
        dense: The cosine similarity, min–max over the pool.
        lexical: The BM25 score, likewise.
        name: The question's share that a record's symbol, headings and path hold, or a commit's subject.
        sentence: The question's share that the best single sentence holds.
        feedback: How much the terms of the best passages lift others, times the square of what they lack.
        neighbour: The relevance of what stands before and after a passage.
        link: The relevance of the best passage that names or links to a record.
        intent: The exponent of how well a record's role suits the question; 0: it does not count.
    """

    dense: float = 1.2
    lexical: float = 2.0
    name: float = 0.8
    sentence: float = 0.5
    feedback: float = 0.4
    neighbour: float = 0.8
    link: float = 0.6
    intent: float = 0.8


LEGS = ("dense", "lexical")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """The relevance of one candidate after fusion.

    Attributes:
        relevance: 0–1.
        parts: Named raw parts, 0–1, of those that tell the candidates apart.
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

    A candidate without claims keeps its `relevance`. So does everyone where the lexical leg found
    nothing: with one leg there is nothing to fuse, and the source's own scale is kept.

    Args:
        candidates: The pool.
        fusion: The weights.
        query: The question, for what only the texts themselves tell; "" does without.
    """
    wanted = numbers_of(query)
    live, own = _first_look(candidates, fusion, wanted)
    if "lexical" not in live:
        return [Fused(relevance=candidate.relevance) for candidate in candidates]
    if wanted:
        # In their order in the pool, which decides where two are equal.
        read = sorted(_best_first(own)[:READ_CLOSELY])
        shares = best_shares([candidates[i] for i in read], wanted)
        _let_in(live, "sentence", _scaled(_spread(shares, read, len(own))))
        own = _mean(candidates, live, fusion)
    if wanted and fusion.feedback:
        close = set(read)
        # Those that were read are taken apart already.
        terms = [terms_of(candidate.text, i in close) for i, candidate in enumerate(candidates)]
        lifts = pseudo_feedback(terms, own, wanted)
        if lifted := _scaled(lifts):
            live["feedback"] = lifted
            own = [
                v + fusion.feedback * more * (1 - v) ** 2 if is_searched(candidate) else v
                for v, more, candidate in zip(own, lifted, candidates, strict=True)
            ]
    place = {candidate.key: i for i, candidate in enumerate(candidates)}
    lent = {
        "neighbour": _lent_by_neighbours(candidates, own, place) if fusion.neighbour else {},
        "link": _lent_by_names(candidates, own, place) if fusion.link else {},
    }
    raised = list(own)
    legs = math.fsum(getattr(fusion, leg) for leg in live if leg != "feedback") or 1.0
    for part, loans in lent.items():
        _let_in(live, part, [loans[i][1] if i in loans else 0.0 for i in range(len(candidates))])
        for borrower, (_, value) in loans.items():
            raised[borrower] += getattr(fusion, part) / legs * value
    largest = max([1.0, *(value for value, c in zip(raised, candidates, strict=True) if is_searched(c))])
    relevance = [value / largest for value in raised]
    if query and fusion.intent:
        suits = intents(candidates, query)
        relevance = [v * suit**fusion.intent for v, suit in zip(relevance, suits, strict=True)]
        _let_in(live, "intent", suits if min(suits) < 1 else [])
    return [
        Fused(
            relevance=relevance[i],
            parts={part: values[i] for part, values in live.items()},
            lenders={
                part: candidates[loans[i][0]].key
                for part, loans in lent.items()
                if part in live and i in loans
            },
        )
        if is_searched(candidate)
        else Fused(relevance=candidate.relevance)
        for i, candidate in enumerate(candidates)
    ]


def strongest(candidates: Sequence[Candidate], fusion: Fusion, query: str) -> list[Candidate]:
    """Return the candidates by what the search and the names alone say, best first; no text is looked at.

    Args:
        candidates: The pool.
        fusion: The weights.
        query: The question.
    """
    _, own = _first_look(candidates, fusion, numbers_of(query))
    return [candidates[i] for i in _best_first(own)]


def _first_look(
    candidates: Sequence[Candidate], fusion: Fusion, wanted: tuple[int, ...]
) -> tuple[dict[str, list[float]], list[float]]:
    """Return what the search and the names say, by part, and their mean; without words, their relevance."""
    live = {leg: values for leg in LEGS if (values := _scaled([c.claims.get(leg) for c in candidates]))}
    if "lexical" not in live:
        return live, [candidate.relevance for candidate in candidates]
    if wanted:
        _let_in(live, "name", _scaled(name_shares(candidates, wanted)))
    return live, _mean(candidates, live, fusion)


def _best_first(values: Sequence[float]) -> list[int]:
    """Return the places of values, the largest first, of equal ones the first."""
    return sorted(range(len(values)), key=lambda i: (-values[i], i))


def _spread(values: Sequence[float], places: Sequence[int], many: int) -> list[float]:
    """Return so many values, those of some places as given and the others 0."""
    found = dict(zip(places, values, strict=True))
    return [found.get(i, 0.0) for i in range(many)]


def _let_in(live: dict[str, list[float]], part: str, values: list[float]) -> None:
    """Let a part count that tells the candidates apart."""
    if any(values):
        live[part] = values


def _mean(
    candidates: Sequence[Candidate], parts: Mapping[str, Sequence[float]], fusion: Fusion
) -> list[float]:
    """Return the weighted mean of the parts; what makes no claim keeps its own relevance."""
    weights = {part: getattr(fusion, part) for part in parts}
    total = math.fsum(weights.values()) or 1.0
    joint = [0.0] * len(candidates)
    for part, values in parts.items():
        joint = [value + weights[part] / total * own for value, own in zip(joint, values, strict=True)]
    return [
        value if is_searched(candidate) else candidate.relevance
        for value, candidate in zip(joint, candidates, strict=True)
    ]


def _scaled(claims: Sequence[float | None]) -> list[float]:
    """Scale one leg's claims to 0–1 over the candidates that make one; [] where they do not differ."""
    known = [claim for claim in claims if claim is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    if high <= low:
        return []
    return [0.0 if claim is None else (claim - low) / (high - low) for claim in claims]


def name_shares(candidates: Sequence[Candidate], wanted: tuple[int, ...]) -> list[float]:
    """Return how much of a question the name of each record holds, 0–1.

    People ask for a thing by the words of its name, in any order and spelling ("smart case" for
    `is_case_smart`); a record that bears them in its name is about them, one that holds them mentions them.

    Args:
        candidates: The records.
        wanted: The numbers of the question's terms; one that few of the names hold counts more (BM25's idf).
    """
    held = [numbers_in(name_of(candidate)).intersection(wanted) for candidate in candidates]
    df = Counter(chain.from_iterable(held))
    n = len(candidates)
    worth = {term: math.log(1 + (n - df[term] + 0.5) / (df[term] + 0.5)) for term in wanted}
    total = math.fsum(worth.values()) or 1.0
    return [math.fsum(map(worth.__getitem__, name)) / total for name in held]


def name_of(candidate: Candidate) -> str:
    r"""Return what a record is called, the parts of a path as words; "" where nothing says it.

    Example:
        >>> name_of(Candidate(id="a", kind="code", metadata={"path": "src/tea.py", "symbol": "Tea.brew"}))
        'Tea.brew. src tea.py'
        >>> name_of(Candidate(id="b", kind="commit", text="Brew longer\n\nIt was weak."))
        'Brew longer'
    """
    if candidate.kind == "commit":
        return candidate.text.lstrip().partition("\n")[0]
    if not candidate.metadata.get("path"):
        # The title of an article is its heading in all its pieces: it tells none of them from the others.
        return ""
    said = (candidate.metadata.get(key) for key in ("symbol", "headings", "title", "path"))
    return ". ".join(str(part) for part in said if part).replace("/", " ")


Loans = Mapping[int, tuple[int, float]]
"""Place of the borrower → place of the lender, and what is lent, 0–1."""


def _lent_by_neighbours(
    candidates: Sequence[Candidate], relevance: Sequence[float], place: Mapping[Key, int]
) -> Loans:
    """Return, for each candidate with neighbours in the pool, the better one and what they lend together."""
    lent = {}
    for i, candidate in enumerate(candidates):
        keys = ((candidate.source, neighbour) for neighbour in candidate.neighbours)
        beside = [place[key] for key in keys if place.get(key, i) != i]
        if beside:
            best, *others = sorted(beside, key=lambda j: (-relevance[j], j))
            other = relevance[others[0]] if others else 0.0
            lent[i] = best, NEAR * relevance[best] + OTHER_SIDE * other
    return lent


def _lent_by_names(
    candidates: Sequence[Candidate], relevance: Sequence[float], place: Mapping[Key, int]
) -> Loans:
    """Return, for each candidate that a top passage names verbatim or links to, the best such passage.

    Beside it stands what it lends.
    """
    by_start: dict[Words, list[tuple[Name, int]]] = {}
    for i, candidate in enumerate(candidates):
        for name in names_of(candidate.metadata):
            by_start.setdefault(name.start, []).append((name, i))
    tells = _telling(candidates)
    named: dict[int, tuple[int, float]] = {}

    def lend(i: int, namer: int, share: float) -> None:
        value = share * relevance[namer]
        if i != namer and (i not in named or named[i][1] < value):
            named[i] = namer, value

    for namer in _best_first(relevance)[:NAMING]:
        passage = candidates[namer]
        for i in linked_places(passage, place):
            lend(i, namer, 1.0)
        # A name that the passage bears itself (chunks of one document share a title) tells nothing.
        own = frozenset(names_of(passage.metadata))
        text = NamedIn.of(passage.text)
        for start in text.starts():
            for name, i in by_start.get(start, ()):
                if name not in own and text.has(name):
                    lend(i, namer, tells(name))
    return named


def _telling(candidates: Sequence[Candidate]) -> Callable[[Name], float]:
    """Return what says how well a name tells one of these candidates from the others, 0–1.

    A name that several of them bear (the pieces of one file, its path) is shared out; a title whose words
    stand in many of their texts (`Usage`, `Response`) is a phrase like any other. A symbol with its path
    beside it means that one thing however often it is spoken of.
    """
    bearers = Counter(name for candidate in candidates for name in names_of(candidate.metadata))
    texts = [candidate.text for candidate in candidates]

    @cache
    def tells(name: Name) -> float:
        if name.beside:
            return 1 / max(1, bearers[name])
        having = texts
        for word in name.words:
            having = [text for text in having if word in text]
        rarity = 1 - math.log(max(1, len(having))) / math.log(max(2, len(texts)))
        return rarity / max(1, bearers[name])

    return tells


BEST = 3
"""So many of the best passages are taken to answer."""

MOST_TERMS = 20
"""So many of their terms are asked for."""

_K1, _B = 1.2, 0.75


def pseudo_feedback(terms: Sequence[Any], relevance: Sequence[float], asked: Iterable[int]) -> list[float]:
    """Return, for each passage, how much it has of the telling terms of the best others, 0 or more (as RM3).

    A question seldom holds all the words of what answers it; the best passages hold more of them.

    A term tells the more the rarer it is in the pool, and the better the passages are that have it; one
    that no second passage has tells nothing. Presence counts, not frequency; length, in terms that
    differ, counts as in BM25.

    Args:
        terms: For each passage, an array of its terms as numbers.
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
    best = _best_first(relevance)[:BEST]
    if not best:
        return []
    said = np.setdiff1d(np.concatenate([terms[i] for i in best]), list(asked))
    has = presence(terms, said)
    frequency = has.sum(axis=0)
    idf = np.log(1 + (n - frequency + 0.5) / (frequency + 0.5)) * (frequency > 1)
    weights = has[best] * np.asarray(relevance, dtype=float)[best, None] * idf
    lifted = has @ _weightiest(weights.sum(axis=0))
    for place, i in enumerate(best):
        lifted[i] = has[i] @ _weightiest(np.delete(weights, place, axis=0).sum(axis=0))
    lengths = np.array([len(found) for found in terms])
    mean = max(1.0, float(lengths.mean()))
    return [float(x) for x in lifted / (1 + _K1 * (1 - _B + _B * lengths / mean))]


def _weightiest(weights: Any) -> Any:
    """Return the weights with all but the weightiest set to 0, scaled to sum to 1."""
    import numpy as np

    first = np.argsort(-weights, kind="stable")[:MOST_TERMS]
    telling = np.zeros(len(weights))
    telling[first] = weights[first]
    return telling / (telling.sum() or 1.0)
