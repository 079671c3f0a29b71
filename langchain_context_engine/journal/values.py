"""What the journal tells: rows of traces, answers, judgments and activity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.types import Key

__all__ = ["Activity", "Answer", "Judgment", "TraceRow", "Usage", "check_grade"]

HIGHEST_GRADE = 3
CITED_GRADE, UNUSED_GRADE = 2, 0
"""What a model's answer says of a passage that it cited, and of one that it was given and never used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """A trace in a list: its figures, without its texts.

    `number` grows with every trace, `id` is what `Journal.trace` takes; `kept` counts the passages, `cut`
    those that stand in the text in part, `duplicates` also what fell itself; `scope` is a digest, "" of none,
    equal for equal scopes. `offered` is source → candidates, `timings` stage and `source_timings` source →
    milliseconds. The status is ok, unsure, doubtful, partial, empty or failed. `note` and `tags` are what
    people wrote of it.
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
    note: str = ""
    tags: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the sources that offered candidates, sorted."""
        return tuple(sorted(self.offered))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model made of a context: the keys that it cites, in text order, and those it never used."""

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
class Usage:
    """How often a candidate was used, and users said that it was useful, and that it was not."""

    uses: int = 0
    useful: int = 0
    useless: int = 0

    @property
    def opinion(self) -> float:
        """The useful less the useless, of all and one more: ten opinions say more than one. −1 to 1."""
        return (self.useful - self.useless) / (self.useful + self.useless + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a user did with a record: `kind` is view or edit, `times` how often, `time` when last."""

    user: str
    kind: str
    key: Key
    times: int
    time: datetime


def check_grade(grade: object) -> int:
    """Return the grade."""
    if isinstance(grade, int) and not isinstance(grade, bool) and 0 <= grade <= HIGHEST_GRADE:
        return grade
    msg = f"a grade is a whole number from 0 (useless) to {HIGHEST_GRADE} (perfect), got {grade!r}"
    raise ConfigError(msg)
