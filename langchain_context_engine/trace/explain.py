"""From decisions to words: why each candidate is in the text, or what kept it out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.types import Candidate, Decision, Key, Ranked, Reason, Verdict
from langchain_context_engine.text.similarity import Wording
from langchain_context_engine.trace.context import Context, reading
from langchain_context_engine.trace.labels import labels, looks_like_a_marker, meant

FATES: Mapping[Reason, str] = {
    Reason.WHOLE: "in, whole",
    Reason.CUT: "in, cut to fit",
    Reason.EXTRACTED: "in, by its best parts",
    Reason.COMPACTED: "in, rewritten shorter",
    Reason.INVALID: "dropped: malformed",
    Reason.EMPTY: "dropped: no text",
    Reason.FILTERED: "dropped: a filter of the request",
    Reason.EXCLUDED: "dropped: excluded by the request",
    Reason.DUPLICATE: "dropped: says what another passage says",
    Reason.BELOW_THRESHOLD: "dropped: score below the minimum",
    Reason.OVER_LIMIT: "dropped: beyond its source's limit",
    Reason.OVER_K: "dropped: enough passages (k)",
    Reason.OVER_BUDGET: "dropped: no room in the budget",
    Reason.OVER_SHARE: "dropped: no room in its source's share",
    Reason.OVER_ITEM_CAP: "dropped: longer than one item may be",
    Reason.DIVERSITY: "dropped: too many of its kind",
    Reason.ENOUGH: "dropped: the context was good enough",
    Reason.NOT_WORTH_READING: "dropped: says too little by itself",
    Reason.UNRELATED: "dropped: has nothing of the question",
    Reason.DOUBTFUL: "dropped: what was found may not hold the question (when_doubtful)",
}
"""Every final reason in words."""


_ROOM = frozenset({Reason.OVER_BUDGET, Reason.OVER_SHARE, Reason.OVER_ITEM_CAP})
_MOST_NAMED = 10
_ALL = 100.0
_IN_A_ROW = "all that would stand of it is said there"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One candidate's whole story, ready for a table.

    `place` is its place in the ranking from 1; it and `score` are None where it was never ranked. `tokens` is
    what it costs in the text and `citation` its marker: 0 and "" where it is not in it. `label` is what a
    person knows it by, no two alike; `details` are the numbers of the final decision.
    """

    key: Key
    place: int | None
    score: float | None
    contributions: Mapping[str, float]
    signals: Mapping[str, float]
    verdict: Verdict
    reason: Reason
    sentence: str
    tokens: int
    citation: str
    title: str
    label: str
    text: str
    details: Mapping[str, Any]


class Names:
    """What people call the candidates of a context, and its decisions in words: worked out once for many."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.labels = labels(context)
        self.known = {candidate.key: candidate for candidate in context.candidates}
        self.markers = {(key[0], key[1]): marker for marker, key in context.citations.items()}

    def name(self, key: Sequence[str]) -> str:
        """Return how people know a candidate: its marker where it has one, and its label."""
        label = self.labels.get((key[0], key[1])) or f"{key[0]}/{key[1]}"
        marker = self.markers.get((key[0], key[1]))
        return f"{marker} {label}" if marker else label

    def sentence(self, decision: Decision) -> str:
        """Return one final decision in words, with its numbers and the one that won."""
        reason, details = decision.reason, decision.details
        told = FATES[reason]
        if reason is Reason.EXTRACTED:
            told = f"in, {details['chosen']:,} of its {details['units']:,} parts"
        if "duplicate_of" in details:
            repeats = self._repeated(decision, "duplicate_of")
            told = f"dropped: it repeats {repeats}, which fell too; {told.removeprefix('dropped: ')}"
        k = self.context.request.k
        if reason is Reason.OVER_K and k is not None and len(self.context.passages) < k:
            # One of those that were in then said nothing beside another, and left.
            told += " at its turn"
        if "tokens" in details:
            told += f", {details['tokens']:,} tokens"
        if reason is Reason.DUPLICATE:
            told += f": {self._repeated(decision, 'winner')}"
        if "needed" in details:
            told += f": needs {details['needed']:,} tokens, {max(0, details['left']):,} were left at its turn"
        if reason is Reason.NOT_WORTH_READING:
            told += f": {details['words']} telling words, {details['least']} are the least"
        if reason is Reason.UNRELATED:
            told += f": no word of it, no more alike ({_down(details['similarity'])}) than by chance"
        return _below(details) if reason is Reason.BELOW_THRESHOLD else told

    def _repeated(self, decision: Decision, detail: str) -> str:
        """Return what a detail of a duplicate says it repeats, and how alike they are."""
        how = self.how_alike(decision)
        return self.name(decision.details[detail]) + (f" ({how})" if how else "")

    def how_alike(self, decision: Decision) -> str:
        """Return how alike a duplicate is to what stands for it, or to the one through which it came to it.

        What packing found is said of the passages as they would stand, which may be extracts; what came
        before, of the whole texts, or of the metadata that `dedupe_key` names. A share is rounded down: 100 %
        is never said of texts that differ. "" where a rule alone told it.
        """
        details = decision.details
        through, alike = details.get("through"), details.get("similarity")
        how = ""
        if isinstance(alike, (int, float)):
            other = through or decision.repeats or ("", "")
            how = self._alike(alike, decision.key, (other[0], other[1]))
            # What packing compares has the threshold of twins, and no rule.
            if decision.stage == "pack" and "duplicate_of" not in details:
                how = f"{math.floor(alike)} % alike as they would stand" if alike < _ALL else _IN_A_ROW
        if through is None:
            return how
        return f"through {self.name(through)}" + (f" ({how})" if how else "")

    def _alike(self, alike: float, one: Key, two: Key) -> str:
        mine, other = self.known.get(one), self.known.get(two)
        if isinstance(key := self.context.settings.get("dedupe_key"), str):
            if mine is None or other is None:
                return ""  # which was compared, that key or the texts, is not to be seen
            if mine.metadata.get(key) or other.metadata.get(key):
                return f"{math.floor(alike)} % alike in {key}"
        if alike < _ALL:
            return f"{math.floor(alike)} % alike"
        if mine is None or other is None:
            return "the same words"
        if mine.text == other.text:
            return "the same text"
        is_case = Wording(mine.text).folded == Wording(other.text).folded
        return f"the same but for {'case and spaces' if is_case else 'articles and punctuation'}"


def _below(details: Mapping[str, Any]) -> str:
    """Return what a score is below, or the similarity that a source tells."""
    if "source" in details and details["score"] <= 0:
        return "dropped: not similar to the question at all"
    told = "not similar enough to the question" if "source" in details else "score below the minimum"
    return f"dropped: {told}: {_down(details['score'])} < {details['threshold']:g}"


def _down(value: float) -> str:
    return f"{math.floor(value * 1000) / 1000:.3f}"


def rows(context: Context, ranked: Sequence[Ranked] = ()) -> list[Row]:
    """Return one row for every candidate with a final decision: ranked ones first, best first.

    Args:
        context: What was built.
        ranked: The ranking, from `replay.ranking`; without it only passages have scores.
    """
    names = Names(context)
    placed = {item.key: (i + 1, item) for i, item in enumerate(ranked)}
    for passage in context.passages:
        placed.setdefault(passage.key, (len(placed) + 1, passage.ranked))
    passages = {passage.key: passage for passage in context.passages}
    found = []
    for key, decision in context.final_decisions().items():
        place, item = placed.get(key, (None, None))
        in_text = passages.get(key)
        candidate = names.known.get(key) or Candidate(id=key[1], source=key[0])
        try:
            told, details = names.sentence(decision), decision.details
        except (LookupError, TypeError, ValueError, AttributeError):  # costs these, and no other candidate's
            told, details = f"{FATES[decision.reason]} (its numbers in this trace are damaged)", {}
        found.append(
            Row(
                key=key,
                place=place,
                score=item.score if item else None,
                contributions=item.contributions if item else {},
                signals=item.signals if item else {},
                verdict=decision.verdict,
                reason=decision.reason,
                sentence=told,
                tokens=in_text.tokens if in_text else 0,
                citation=in_text.citation if in_text else "",
                title=str(candidate.metadata.get("title") or ""),
                label=names.labels.get(key) or "/".join(key),
                text=candidate.text,
                details=details,
            )
        )
    return sorted(found, key=lambda row: (row.place is None, row.place or 0, row.key))


def explain(context: Context, key: Key | str | None = None) -> str:
    """Return why each candidate is in the text or not; or of one candidate, step by step.

    Args:
        context: What was built.
        key: A (source, id) key, or what one candidate is called: its id, marker, place, path, title.
    """
    from langchain_context_engine.trace.replay import ranking

    try:
        ranked = ranking(context)
    except ConfigError:  # ranked by a function of the caller's: of the passages it is known
        ranked = ()
    with reading(context):
        found = rows(context, ranked)
        if key is not None:
            return _one(context, _pick(found, key, context))
    head = (
        f"{context.tokens:,} of {context.budget:,} tokens, {len(context.passages):,} of {len(found):,}"
        f" candidates ({context.status})"
    )
    lines = [head, *(f"! {warning}" for warning in context.warnings)]
    return "\n".join([*lines, *(_line(row) for row in found)])


def _line(row: Row) -> str:
    score = "     " if row.score is None else f"{row.score:.3f}"
    marker = row.citation or ("·" if row.verdict is Verdict.KEPT else "✗")
    return f"{marker:>5} {score}  {row.label}: {row.sentence}"


def _pick(found: Sequence[Row], key: Key | str, context: Context) -> Row:
    keys: list[Any] = [key]
    if isinstance(key, str):  # some were dropped before ranking and are no candidates of the context
        keys = [row.key for row in found if key in {row.key[1], "/".join(row.key)}] or meant(key, context)
    matching = [row for row in found if row.key in keys]
    if len(matching) == 1:
        return matching[0]
    if matching:
        called = "; ".join(row.label for row in matching[:_MOST_NAMED])
        raise ConfigError(f"{len(matching)} candidates are called {key!r}; give one of: {called}")
    if isinstance(key, str) and looks_like_a_marker(key):
        cited = ", ".join(list(context.citations)[:_MOST_NAMED]) or "none"
        raise ConfigError(f"no passage is cited as {key!r}; markers of this context: {cited}")
    raise ConfigError(
        f"no candidate {key!r} in this context: no source offered it;"
        " raise `limit`, or check the scope and the filters"
    )


def _one(context: Context, row: Row) -> str:
    lines = [f"{row.label} is {row.sentence}"]
    if row.reason in _ROOM:
        lines += _budget_told(context, row.key)
    if row.place is not None and row.score is not None:
        lines.append(f"  rank {row.place}, score {row.score:.3f}")
        lines += [f"    {signal}: {value:.3f}" for signal, value in row.contributions.items()]
        extra = {s: v for s, v in row.signals.items() if s not in row.contributions}
        if extra:
            lines.append("  from " + ", ".join(f"{signal} {value:.3f}" for signal, value in extra.items()))
    lines += [
        f"  {d.stage}: {d.reason}{_told_details(d, Names(context))}"
        for d in context.decisions
        if d.key == row.key and d.verdict is Verdict.CHANGED
    ]
    return "\n".join(lines)


def _budget_told(context: Context, key: Key) -> list[str]:
    """Tell the budget that admits a candidate, who enters or leaves then, whether a smaller one does."""
    from langchain_context_engine.trace.what_if import budget_that_admits

    change = budget_that_admits(context, key)
    if change is None:
        return []
    names = Names(change.context)
    others = [
        f"{', '.join(map(names.name, keys[:_MOST_NAMED]))} would {verb}"
        for keys, verb in ((change.enters, "enter too"), (change.leaves, "leave"))
        if keys
    ]
    return ["; ".join([f"  a budget of {change.after:,} lets it in, {change.least}", *others])]


def _told_details(decision: Decision, names: Names) -> str:
    told = []
    for label, value in decision.details.items():
        shown = names.name(value) if isinstance(value, (tuple, list)) else value
        told.append(f"{label} {shown:.3f}" if isinstance(shown, float) else f"{label} {shown}")
    return f" ({', '.join(told)})" if told else ""
