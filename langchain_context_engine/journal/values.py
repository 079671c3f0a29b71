"""What the journal tells: rows of traces, answers, judgments, feedback and activity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.types import Key

__all__ = ["Activity", "Answer", "Feedback", "Judgment", "TraceRow", "check_grade"]

HIGHEST_GRADE = 3
CITED_GRADE, UNUSED_GRADE = 2, 0
"""What a model's answer says of a passage that it cited, and of one that it was given and never used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """A trace in a list: its figures, without its texts.

    Attributes:
        number: Grows with every trace; a live tail asks for those above the last one seen.
        id: What `Journal.trace` takes.
        time: When it was recorded, UTC.
        query: The question.
        candidates: How many candidates rank was given.
        kept: How many passages the context has.
        cut: How many of them stand in the text in part.
        tokens: Tokens of the text.
        budget: Tokens allowed.
        duplicates: How many candidates repeat another, also one that fell itself.
        milliseconds: How long the answer took.
        warnings: How many warnings it has.
        status: ok, doubtful, partial, empty or failed.
        scope: A digest of the request's scope, equal for equal scopes; "" without a scope.
        offered: Source → candidates.
        timings: Stage → milliseconds.
        source_timings: Source → the milliseconds until its answer was there.
    """

    number: int
    id: str
    time: datetime
    query: str
    candidates: int
    kept: int
    cut: int
    tokens: int
    budget: int
    duplicates: int
    milliseconds: float
    warnings: int
    status: str
    scope: str
    offered: Mapping[str, int] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    source_timings: Mapping[str, float] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the sources that offered candidates, sorted."""
        return tuple(sorted(self.offered))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model made of a context.

    Attributes:
        trace_id: The context's trace.
        query: The question.
        text: The answer.
        cited: Keys of the passages that it cites, in the order of the context.
        unused: Keys of those that it was given and does not cite.
        time: When it was recorded, UTC.
    """

    trace_id: str
    query: str
    text: str
    cited: tuple[Key, ...]
    unused: tuple[Key, ...]
    time: datetime

    @property
    def grades(self) -> Mapping[Key, int]:
        """What it says of each passage as a grade: 2 where it is cited, 0 where it was never used."""
        return dict.fromkeys(self.cited, CITED_GRADE) | dict.fromkeys(self.unused, UNUSED_GRADE)


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
