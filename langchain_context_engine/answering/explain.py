"""From decisions to words: why each candidate is in the text, or what kept it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.answering.context import Context
from langchain_context_engine.answering.damage import reading
from langchain_context_engine.values.errors import ConfigError
from langchain_context_engine.values.types import Candidate, Decision, Key, Ranked, Reason, Verdict

FATES: Mapping[Reason, str] = {
    Reason.WHOLE: "in, whole",
    Reason.CUT: "in, cut to fit",
    Reason.EXTRACTED: "in, by its best sentences",
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
}
"""Every final reason in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One candidate's whole story, ready for a table.

    Attributes:
        key: (source, id).
        place: Its place in the ranking from 1, or None where it was never ranked.
        score: 0–1, or None.
        contributions: Signal → weight × value.
        signals: Signal → value.
        verdict: kept or dropped.
        reason: Why.
        sentence: The same in words.
        tokens: What it costs in the text; 0 where it is not in it.
        citation: Its marker, "" without one.
        title: What a person may know it by.
        text: The original.
        details: Numbers of the final decision.
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
    text: str
    details: Mapping[str, Any]


def rows(context: Context, ranked: Sequence[Ranked] = ()) -> list[Row]:
    """Return one row for every candidate with a final decision: ranked ones first, best first.

    Args:
        context: What was built.
        ranked: The ranking, from `traces.ranking`; without it only passages have scores.
    """
    known = {candidate.key: candidate for candidate in context.candidates}
    placed = {item.key: (i + 1, item) for i, item in enumerate(ranked)}
    for passage in context.passages:
        placed.setdefault(passage.key, (len(placed) + 1, passage.ranked))
    passages = {passage.key: passage for passage in context.passages}
    found = []
    for key, decision in final_decisions(context).items():
        place, item = placed.get(key, (None, None))
        in_text = passages.get(key)
        candidate = known.get(key) or Candidate(id=key[1], source=key[0])
        found.append(
            Row(
                key=key,
                place=place,
                score=item.score if item else None,
                contributions=item.contributions if item else {},
                signals=item.signals if item else {},
                verdict=decision.verdict,
                reason=decision.reason,
                sentence=sentence(decision, context),
                tokens=in_text.tokens if in_text else 0,
                citation=in_text.citation if in_text else "",
                title=str(candidate.metadata.get("title") or ""),
                text=candidate.text,
                details=decision.details,
            )
        )
    return sorted(found, key=lambda row: (row.place is None, row.place or 0, row.key))


def final_decisions(context: Context) -> dict[Key, Decision]:
    """Return the one final decision of every candidate."""
    return {d.key: d for d in context.decisions if d.verdict is not Verdict.CHANGED}


def sentence(decision: Decision, context: Context) -> str:
    """Return one final decision in words, with its numbers and the one that won."""
    details = decision.details
    told = FATES[decision.reason]
    if decision.reason is Reason.EXTRACTED:
        told = f"in, {details['chosen']} of its {details['units']} sentences"
    if "tokens" in details:
        told += f", {details['tokens']} tokens"
    if decision.reason is Reason.DUPLICATE:
        told += f": {name(details['winner'], context)}{_alike(details)}"
    if "duplicate_of" in details:
        told += f"; it repeats {name(details['duplicate_of'], context)}, which fell too"
    if "missing" in details:
        left = max(0, details["left"])
        told += f": needs {details['needed']} tokens, {left} were left ({details['missing']} missing)"
    if decision.reason is Reason.BELOW_THRESHOLD:
        told += f": {details['score']:.3f} < {details['threshold']:g}"
    return told


def _alike(details: Mapping[str, Any]) -> str:
    similarity = details.get("similarity")
    return f" ({similarity:.0f} % alike)" if isinstance(similarity, (int, float)) else ""


def name(key: Sequence[str], context: Context) -> str:
    """Return how people know a candidate: its marker where it has one, and its source and id."""
    for marker, cited in context.citations.items():
        if tuple(cited) == tuple(key):
            return f"{marker} {key[0]}/{key[1]}"
    return f"{key[0]}/{key[1]}"


def explain(context: Context, key: Key | str | None = None) -> str:
    """Return why each candidate is in the text or not; or of one candidate, step by step.

    Args:
        context: What was built.
        key: A (source, id) key, or an id where only one source has it.

    Raises:
        ConfigError: No candidate of this context has that key, or several have that id.
    """
    with reading(context):
        found = rows(context, _ranking(context))
    if key is not None:
        return _one(context, _pick(found, key))
    head = (
        f"{context.tokens} of {context.budget} tokens, {len(context.passages)} of {len(found)} candidates"
        f" ({context.status})"
    )
    lines = [head, *(f"! {warning}" for warning in context.warnings)]
    return "\n".join([*lines, *(_line(row) for row in found)])


def _ranking(context: Context) -> Sequence[Ranked]:
    """Return the ranking; of a context that was ranked by a function of the caller's, its passages only."""
    from langchain_context_engine.answering.traces import ranking

    try:
        return ranking(context)
    except ConfigError:
        return ()


def _line(row: Row) -> str:
    score = "     " if row.score is None else f"{row.score:.3f}"
    marker = row.citation or ("·" if row.verdict is Verdict.KEPT else "✗")
    return f"{marker:>5} {score}  {row.key[0]}/{row.key[1]}: {row.sentence}"


def _pick(found: Sequence[Row], key: Key | str) -> Row:
    matching = [row for row in found if (row.key[1] if isinstance(key, str) else row.key) == key]
    if len(matching) == 1:
        return matching[0]
    if matching:
        keys = [row.key for row in matching]
        raise ConfigError(f"several sources have id {key!r}: {keys}; give a (source, id) key")
    raise ConfigError(
        f"no candidate {key!r} in this context: no source offered it;"
        " raise `limit`, or check the scope and the filters"
    )


def _one(context: Context, row: Row) -> str:
    lines = [f"{row.key[0]}/{row.key[1]} is {row.sentence}"]
    if row.place is not None and row.score is not None:
        lines.append(f"  rank {row.place}, score {row.score:.3f}")
        lines += [f"    {signal}: {value:.3f}" for signal, value in row.contributions.items()]
        extra = {s: v for s, v in row.signals.items() if s not in row.contributions}
        if extra:
            lines.append("  from " + ", ".join(f"{signal} {value:.3f}" for signal, value in extra.items()))
    lines += [
        f"  {d.stage}: {d.reason}{_told_details(d, context)}"
        for d in context.decisions
        if d.key == row.key and d.verdict is Verdict.CHANGED
    ]
    return "\n".join(lines)


def _told_details(decision: Decision, context: Context) -> str:
    told = [
        f"{label} {name(value, context) if isinstance(value, (tuple, list)) else value}"
        for label, value in decision.details.items()
    ]
    return f" ({', '.join(told)})" if told else ""
