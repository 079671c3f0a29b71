"""What the journal tells: rows of traces, judgments, feedback and activity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.types import Key

__all__ = ["Activity", "Feedback", "Judgment", "Losses", "TraceRow", "check_grade"]

HIGHEST_GRADE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Answers that a journal could not keep; true where there are any.

    Attributes:
        dropped: Too many waited to be written.
        failed: They could not be written: the disk was full, or one was larger than half the journal.
        last: When the latest was noticed, UTC; None of none.
    """

    dropped: int = 0
    failed: int = 0
    last: datetime | None = None

    def __bool__(self) -> bool:
        return bool(self.dropped or self.failed)

    def __str__(self) -> str:
        if not self:
            return "no answer was lost"
        number, day = self.dropped + self.failed, f"{self.last:%Y-%m-%d %H:%M} UTC" if self.last else "?"
        are = "answer is" if number == 1 else "answers are"
        return (
            f"{number:,} {are} missing, the latest of {day}: {self.dropped:,} came faster than the disk could"
            f" write, {self.failed:,} could not be written"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """A trace in a list: its figures, without its texts.

    Attributes:
        number: Grows with every trace; a live tail asks for those above the last one seen.
        id: What `Journal.trace` takes.
        time: When it was recorded, UTC.
        query: The question.
        sources: Names of the sources that offered candidates, sorted.
        candidates: How many candidates rank was given.
        kept: How many passages the context has.
        tokens: Tokens of the text.
        budget: Tokens allowed.
        duplicates: How many candidates repeat another, also one that fell itself.
        milliseconds: How long the answer took.
        warnings: How many warnings it has.
        status: ok, partial, empty or failed.
        scope: A keyed digest of the request's scope, equal for equal scopes of one journal; ""
            without a scope. It tells no value.
        cut: How many passages stand in the text in part; 0 in a file of an earlier version.
        timings: Stage → milliseconds; empty in a file of an earlier version.
        offered: Source → candidates; empty in a file of an earlier version.
        source_timings: Source → the milliseconds until its answer was there; empty in a file of an earlier
            version.
    """

    number: int
    id: str
    time: datetime
    query: str
    sources: tuple[str, ...]
    candidates: int
    kept: int
    tokens: int
    budget: int
    duplicates: int
    milliseconds: float
    warnings: int
    status: str
    scope: str
    cut: int = 0
    timings: Mapping[str, float] = field(default_factory=dict)
    offered: Mapping[str, int] = field(default_factory=dict)
    source_timings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """How well a candidate answers a question: 0 not at all, 1 a little, 2 well, 3 perfectly.

    `rater` is who says so, "" where nobody was named.
    """

    query: str
    key: Key
    grade: int
    time: datetime
    rater: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """How often users said that a candidate was useful, and that it was not."""

    useful: int = 0
    useless: int = 0

    @property
    def mean(self) -> float:
        """The mean of 1 for each useful and −1 for each useless; 0 without any."""
        total = self.useful + self.useless
        return (self.useful - self.useless) / total if total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a user did with a record: `kind` is view or edit, `times` how often, `time` when last."""

    user: str
    kind: str
    key: Key
    times: int
    time: datetime


def check_grade(grade: object) -> int:
    """Return the grade.

    Raises:
        ConfigError: It is no whole number from 0 to 3.
    """
    if isinstance(grade, int) and not isinstance(grade, bool) and 0 <= grade <= HIGHEST_GRADE:
        return grade
    msg = f"a grade is a whole number from 0 (useless) to {HIGHEST_GRADE} (perfect), got {grade!r}"
    raise ConfigError(msg)
