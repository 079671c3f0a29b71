"""dedupe: keeps the best of each repeated thing, and says which one stands for the others.

First, versions of one thing are reduced to the newest (`Versions`). Then, best first, a candidate is a
duplicate of a kept one that a rule gives the same value, whose text is equal after folding of case,
spaces and Unicode form, or whose text is near (`similarity`).
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any

from langchain_context_engine.models.types import Candidate, Decision, Key, Ranked, Reason, Verdict
from langchain_context_engine.ranking.identity import AcrossKinds, DedupeRule, Versions, changed_at
from langchain_context_engine.text.analysis import MOST_BYTES
from langchain_context_engine.text.memoize import memoize
from langchain_context_engine.text.similarity import ShingleIndex, Shingles, Wording, similarity

_ONLY_EQUAL = 100.0
_MOST_VERSIONS = 32
"""Kept versions of one thing that another is compared with, the newest ones."""


def dedupe(
    items: Sequence[Ranked],
    *,
    threshold: float | None = 90.0,
    rules: Sequence[DedupeRule] = (),
    key: str | None = None,
) -> tuple[tuple[Ranked, ...], tuple[Decision, ...]]:
    """Remove duplicates: return what is kept, in the order given, and a decision for each that is dropped.

    Each candidate is compared with kept ones only, so that nothing is dropped in favour of something
    that is not there. The kept one keeps its own spelling and place, and lists the others in `also_in`.
    A pinned candidate is never dropped for one that is not. An empty text is no duplicate of another.

    Args:
        items: Ranked candidates, best first.
        threshold: The least ratio, 0–100, at which texts are near; None: only equal texts are one.
        rules: What makes two candidates one by identity, `candidate -> hashable or None`.
        key: A metadata key whose text is compared in place of the candidate's, where it states one: what
            was said, where the text is how it is shown.

    Returns:
        The kept ones, and decisions whose details name the `winner` and either the `rule` or the
        `similarity` and `threshold`.

    Example:
        >>> from langchain_context_engine.models.types import Candidate
        >>> items = [Ranked(candidate=Candidate(id=i, text=t)) for i, t in [("a", "Tea!"), ("b", "tea!")]]
        >>> kept, dropped = dedupe(items)
        >>> [item.candidate.id for item in kept], dropped[0].details["winner"]
        (['a'], ('', 'a'))
    """
    wordings = [Wording(_said(item.candidate, key)) for item in items]
    losses: dict[int, _Loss] = {}
    for rule in rules:
        if isinstance(rule, Versions):
            losses |= _older_versions(items, wordings, rule, threshold, without=losses)
    losses |= _repeated(items, wordings, threshold, rules, without=losses)
    return _outcome(items, losses)


_Mark = tuple[int, Hashable]
"""A rule's place, and a value that it gave."""


@dataclass(frozen=True, slots=True)
class _Loss:
    """By which item another is beaten, and by what."""

    winner: int
    details: Mapping[str, Any] = field(default_factory=dict)


@memoize(MOST_BYTES)
def _traits(text: str, threshold: float | None) -> tuple[bytes, Shingles | None]:
    """Return a digest of `Wording.folded`, b"" of none, and what near texts are found by; kept."""
    wording = Wording(text)
    folded = wording.folded
    digest = blake2b(folded.encode("utf-8", "replace"), digest_size=16).digest() if folded else b""
    return digest, None if threshold is None else Shingles.of(wording.tokens, threshold)


def _said(candidate: Candidate, key: str | None) -> str:
    return candidate.text if key is None else str(candidate.metadata.get(key) or candidate.text)


def _older_versions(
    items: Sequence[Ranked],
    wordings: Sequence[Wording],
    rule: Versions,
    threshold: float | None,
    without: Collection[int],
) -> dict[int, _Loss]:
    groups: dict[Hashable, list[int]] = {}
    for number, item in enumerate(items):
        thing = rule(item.candidate)
        if thing is not None and number not in without and wordings[number].folded:
            groups.setdefault(thing, []).append(number)
    least = _ONLY_EQUAL if threshold is None else threshold - rule.margin
    losses: dict[int, _Loss] = {}
    for group in groups.values():
        newest_first = sorted(group, key=lambda number: _newness(items[number]), reverse=True)
        newest: list[int] = []
        for number in newest_first:
            found = _most_alike(wordings, newest[:_MOST_VERSIONS], number, least, is_same_thing=True)
            if found:
                details = {"rule": _name(rule), "similarity": found[1], "threshold": least}
                losses[number] = _Loss(found[0], details)
            else:
                newest.append(number)
    return losses


def _newness(item: Ranked) -> tuple[bool, datetime]:
    return item.candidate.is_pinned, changed_at(item.candidate)


def _repeated(
    items: Sequence[Ranked],
    wordings: Sequence[Wording],
    threshold: float | None,
    rules: Sequence[DedupeRule],
    without: Collection[int],
) -> dict[int, _Loss]:
    losses: dict[int, _Loss] = {}
    identities = [rule for rule in rules if not isinstance(rule, Versions)]
    namings = [rule.name for rule in rules if isinstance(rule, Versions) and rule.tells_apart]
    same_thing: dict[_Mark, int] = {}
    same_text: dict[bytes, int] = {}
    index = ShingleIndex()
    for number in sorted(range(len(items)), key=lambda n: not items[n].candidate.is_pinned):
        if number in without:
            continue
        folded, shingles = _traits(wordings[number].text, threshold)
        sought, own = _identity(items[number].candidate, identities)
        named = next(((mark[0], same_thing[mark]) for mark in sought if mark in same_thing), None)
        if named:
            losses[number] = _Loss(named[1], {"rule": _name(identities[named[0]])})
        elif folded in same_text:
            losses[number] = _Loss(same_text[folded], {"similarity": 100.0, "threshold": threshold})
        elif (
            threshold is not None
            and shingles is not None
            and (others := index.candidates(shingles))
            and (others := _not_told_apart(items, others, number, namings))
            and (found := _most_alike(wordings, others, number, threshold))
        ):
            losses[number] = _Loss(found[0], {"similarity": found[1], "threshold": threshold})
        else:
            same_thing |= {mark: number for mark in own if mark not in same_thing}
            if folded:
                same_text[folded] = number
                if shingles is not None:
                    index.add(number, shingles)
    return losses


def _identity(candidate: Candidate, rules: Sequence[DedupeRule]) -> tuple[list[_Mark], list[_Mark]]:
    """Return by what the same thing is found among the kept, and by what the candidate itself will be."""
    sought: list[_Mark] = []
    own: list[_Mark] = []
    for i, rule in enumerate(rules):
        if isinstance(rule, AcrossKinds):
            sought += [(i, value) for value in rule.others(candidate)]
            own += [(i, value) for value in rule.own(candidate)]
        elif (value := rule(candidate)) is not None:
            sought.append((i, value))
            own.append((i, value))
    return sought, own


def _not_told_apart(
    items: Sequence[Ranked], others: Sequence[int], number: int, namings: Sequence[DedupeRule]
) -> list[int]:
    names = [naming(items[number].candidate) for naming in namings]
    return [
        other
        for other in others
        if all(
            name is None or naming(items[other].candidate) in {None, name}
            for name, naming in zip(names, namings, strict=True)
        )
    ]


def _most_alike(
    wordings: Sequence[Wording],
    others: Sequence[int],
    number: int,
    threshold: float,
    *,
    is_same_thing: bool = False,
) -> tuple[int, float] | None:
    """Return the most alike of the others that is alike enough, with how alike; the first at a tie."""
    wording = wordings[number]
    alike = [(n, similarity(wordings[n], wording, threshold, is_same_thing=is_same_thing)) for n in others]
    best = max(alike, key=operator.itemgetter(1), default=None)
    return best if best and best[1] else None


def _outcome(
    items: Sequence[Ranked], losses: Mapping[int, _Loss]
) -> tuple[tuple[Ranked, ...], tuple[Decision, ...]]:
    also_in: dict[int, list[Key]] = {}
    decisions: list[Decision] = []
    for number in sorted(losses):
        # What beat it may have been beaten itself, later, by a kept one, which is alike to that one.
        first = winner = losses[number].winner
        while winner in losses:
            winner = losses[winner].winner
        through = {} if first == winner else {"through": items[first].key}
        also_in.setdefault(winner, []).extend((items[number].key, *items[number].also_in))
        decisions.append(
            Decision(
                stage="dedupe",
                key=items[number].key,
                verdict=Verdict.DROPPED,
                reason=Reason.DUPLICATE,
                details={"winner": items[winner].key, **losses[number].details, **through},
            )
        )
    kept = tuple(
        replace(item, also_in=(*item.also_in, *also_in[number])) if number in also_in else item
        for number, item in enumerate(items)
        if number not in losses
    )
    return kept, tuple(decisions)


def _name(rule: DedupeRule) -> str:
    return repr(rule) if isinstance(rule, (AcrossKinds, Versions)) else getattr(rule, "__name__", repr(rule))
