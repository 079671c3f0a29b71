"""Settle: reconcile the decisions of all stages with the text that was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langchain_context_engine.models.types import Decision, Key, Passage, Reason, Verdict


def settle(decisions: Sequence[Decision], passages: Sequence[Passage]) -> tuple[Decision, ...]:
    """Return the decisions with duplicates told by what became of their winner, and costs filled in.

    A duplicate of a passage in the text stays a duplicate. Where its winner itself fell, the duplicate
    fell for the same reason, and its details say whom it repeats.
    """
    cost = {passage.key: passage.tokens for passage in passages}
    ending: dict[Key, Decision] = {d.key: d for d in decisions if d.verdict is not Verdict.CHANGED}
    return tuple(_settled(decision, ending, cost) for decision in decisions)


def _settled(decision: Decision, ending: dict[Key, Decision], cost: dict[Key, int]) -> Decision:
    if decision.verdict is Verdict.KEPT:
        return replace(decision, details={**decision.details, "tokens": cost[decision.key]})
    if decision.reason is not Reason.DUPLICATE:
        return decision
    winner = decision.details["winner"]
    fate = ending[winner]
    if fate.verdict is Verdict.KEPT:
        return decision
    if fate.reason is Reason.DUPLICATE:
        # How alike they are is said of the one that it was compared with.
        details = {"through": winner, **decision.details, "winner": fate.details["winner"]}
        return replace(decision, details=details)
    details = {**decision.details, **fate.details, "duplicate_of": winner}
    details.pop("winner", None)
    return replace(decision, stage=fate.stage, reason=fate.reason, details=details)
