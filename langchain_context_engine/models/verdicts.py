"""The closed lists of the ledger: what a stage decided, why, and how an answer went."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What a stage did: `kept` and `dropped` are final, `changed` is a step on the way."""

    KEPT = "kept"
    CHANGED = "changed"
    DROPPED = "dropped"


class Reason(StrEnum):
    """Why, as a closed list: every decision names one of these."""

    # kept, by pack
    WHOLE = "whole"
    CUT = "cut"
    EXTRACTED = "extracted"
    COMPACTED = "compacted"
    # changed, on the way
    CLAMPED = "clamped"
    MERGED = "merged"
    SHORTENED = "shortened"
    EXPANDED = "expanded"
    PINNED = "pinned"
    NEIGHBOUR = "neighbour"
    LINKED = "linked"
    LATEST = "latest"
    RERANKED = "reranked"
    # dropped
    INVALID = "invalid"
    EMPTY = "empty"
    FILTERED = "filtered"
    EXCLUDED = "excluded"
    DUPLICATE = "duplicate"
    BELOW_THRESHOLD = "below_threshold"
    OVER_LIMIT = "over_limit"
    OVER_K = "over_k"
    OVER_BUDGET = "over_budget"
    OVER_SHARE = "over_share"
    OVER_ITEM_CAP = "over_item_cap"
    DIVERSITY = "diversity"
    ENOUGH = "enough"
    NOT_WORTH_READING = "not_worth_reading"
    DOUBTFUL = "doubtful"


class Status(StrEnum):
    """How an answer went.

    `partial` is a failed source, `failed` all of them, `empty` an honest nothing, `doubtful` something that
    may not hold the question. No caller gets a failed context: the error is raised, and the journal keeps it.
    """

    OK = "ok"
    PARTIAL = "partial"
    DOUBTFUL = "doubtful"
    EMPTY = "empty"
    FAILED = "failed"
