"""Evaluation on questions with known answers: how much of the gold evidence a budget buys.

Anything that answers is evaluated the same way, by its text: an engine, or a function from a
question to a context or a string.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StrictStr, ValidationError

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.evaluation.metrics import (
    Evidence,
    Interval,
    mean,
    ndcg,
    paired_bootstrap,
    score_evidence,
)
from langchain_context_engine.models.freeze import as_config_error
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import SupportsGet
from langchain_context_engine.models.types import Ranked
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.trace.context import Context

BUDGETS = (250, 500, 1000, 2000)
"""Tokens that are tried by default."""

Answer = Callable[..., Context | str]
"""What is evaluated: called with the question's text, `budget` and the question's fields."""

_K = 10
_REQUEST_FIELDS = frozenset(f.name for f in dataclasses.fields(ContextRequest)) - {"query", "budget"}


class Question(BaseModel):
    """One question and what its context must contain.

    Attributes:
        id: Unique among the questions.
        query: The question.
        gold: Ids of the records that answer it.
        spans: Exact pieces of text that answer it. Where there are spans, they alone are the
            evidence; `gold` is then used for the ranking only.
        equivalents: Id of a gold record → ids of others that say the same.
        fields: Further fields of the request: scope, where, kinds, sources, until, now, …
    """

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)

    id: str
    query: StrictStr
    gold: tuple[str, ...] = ()
    spans: tuple[str, ...] = Field((), validation_alias=AliasChoices("gold_spans", "spans"))
    equivalents: dict[str, tuple[str, ...]] = Field(
        {}, validation_alias=AliasChoices("gold_equivalents", "equivalents")
    )
    fields: dict[str, Any] = {}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], number: int = 1) -> Question:
        """Read one line of a question file.

        Known are `query`; `id` (by default its number); `gold`, a list of ids; `gold_spans`;
        `gold_equivalents`; and the fields of a request (`scope`, `where`, `kinds`, `sources`, …). Other
        names are left alone.

        Raises:
            ConfigError: There is no query, or a field is of another type.

        Example:
            >>> question = Question.from_dict({"query": "Who signs?", "gold_spans": ["Ann signs"]})
            >>> question.id, question.spans
            ('1', ('Ann signs',))
        """
        if not isinstance(data, Mapping):
            raise ConfigError(f"question {number} is none: it is {type(data).__name__}, not an object")
        fields = {name: data[name] for name in _REQUEST_FIELDS & set(data)}
        try:
            return cls.model_validate({"id": number, **data, "fields": fields})
        except ValidationError as error:
            problem = as_config_error(error.errors(include_url=False))
            raise ConfigError(f"question {number} is none: {problem}") from None


def load_questions(path: str | os.PathLike[str]) -> list[Question]:
    """Return the questions of a JSON Lines file, in order; empty lines are skipped.

    Raises:
        ConfigError: The file cannot be read, a line is no question, or an id comes twice; the
            message names the line.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"questions cannot be read from {path}: {error}") from error
    questions = list(_questions(text.split("\n"), path))
    if not questions:
        raise ConfigError(f'{path} has no question; a line is {{"query": "…", "gold_spans": ["…"]}}')
    return questions


def _questions(lines: Sequence[str], path: str | os.PathLike[str]) -> Iterable[Question]:
    seen = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            question = Question.from_dict(json.loads(line), number)
        except ValueError as error:
            raise ConfigError(f"{path}, line {number}: {error}") from error
        if question.id in seen:
            raise ConfigError(f"{path}, line {number}: id {question.id!r} comes twice")
        seen.add(question.id)
        yield question


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One question at one budget.

    `recall` and `precision` (the share of the text's words that are evidence) are 0–1. `is_cut`: something
    was left out for room, so that the budget could be used up.
    """

    question: str
    budget: int
    recall: float
    precision: float
    tokens: int
    milliseconds: float
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """How one question's candidates were ranked, before any was packed."""

    question: str
    ndcg: float
    recall: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcomes of an evaluation, in the order of the questions, and their means.

    `outcomes` has one for each question and budget, `rankings` one for each question whose gold records are
    known by id.
    """

    outcomes: tuple[Outcome, ...]
    rankings: tuple[Ranking, ...] = ()

    @property
    def budgets(self) -> tuple[int, ...]:
        """The budgets, in the order given."""
        return tuple(dict.fromkeys(outcome.budget for outcome in self.outcomes))

    def recall(self, budget: int) -> float:
        """Return the mean evidence recall at a budget; NaN where no question was asked at it."""
        return mean(self.scores(budget).values())

    def scores(self, budget: int) -> dict[str, float]:
        """Return question → evidence recall at a budget."""
        return {o.question: o.recall for o in self.outcomes if o.budget == budget}

    def figures(self, budget: int) -> dict[str, float]:
        """Return the figures at a budget: what the table shows.

        `utilisation` is the mean share of the budget that was used, over the contexts for which
        something was left out; NaN where there is none. Times are in milliseconds; `violations` counts the
        texts of more tokens than the budget.
        """
        chosen = [o for o in self.outcomes if o.budget == budget]
        times = [o.milliseconds for o in chosen] or [math.nan]
        p50, p95 = np.percentile(times, [50, 95], method="inverted_cdf")
        return {
            "questions": len(chosen),
            "recall": self.recall(budget),
            "precision": mean(o.precision for o in chosen),
            "utilisation": mean(o.tokens / o.budget for o in chosen if o.is_cut),
            "tokens": mean(o.tokens for o in chosen),
            "milliseconds": float(p50),
            "milliseconds_p95": float(p95),
            "violations": sum(o.tokens > o.budget for o in chosen),
        }

    def ranking(self) -> dict[str, float]:
        """Return mean nDCG and recall of the rankings' first ten; NaN where there are none."""
        return {
            "ndcg": mean(r.ndcg for r in self.rankings),
            "recall": mean(r.recall for r in self.rankings),
        }

    def table(self) -> str:
        """Return the figures by budget as a Markdown table, and a line on the rankings."""
        rows = [
            [str(b), *(_decimals(self.figures(b)[name], places) for name, (_, places) in _COLUMNS.items())]
            for b in self.budgets
        ]
        text = _markdown_table([["budget", *(heading for heading, _ in _COLUMNS.values())], *rows])
        found = ", ".join(f"{name}@{_K} {_decimals(value, 3)}" for name, value in self.ranking().items())
        return f"{text}\n\nranking, before any is packed: {found}"


def compare(first: Report, second: Report, budget: int) -> Interval:
    """Return by how much the second setting's evidence recall is better at a budget.

    The questions that both reports have are paired.

    Raises:
        ConfigError: They share no question at that budget.
    """
    before, after = first.scores(budget), second.scores(budget)
    shared = [question for question in before if question in after]
    if not shared:
        raise ConfigError(f"the reports share no question at {budget} tokens")
    return paired_bootstrap([before[q] for q in shared], [after[q] for q in shared])


_COLUMNS = {
    "questions": ("asked", 0), "recall": ("recall", 3), "precision": ("precision", 3),
    "utilisation": ("used", 3), "tokens": ("tokens", 0), "milliseconds": ("ms", 1),
    "milliseconds_p95": ("ms 95 %", 1), "violations": ("over", 0),
}  # fmt: skip
"""Figure → its heading and how many decimals of it are shown."""


def _decimals(value: float, places: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{places}f}"


def _markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown that reads well as it is; all columns but the first are numbers."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "| " + " | ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + " |"
        for row in rows
    ]
    rule = " | ".join(["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    return "\n".join([lines[0], f"| {rule} |", *lines[1:]])


def evaluate(
    subject: Any,
    questions: Iterable[Question],
    *,
    budgets: Sequence[int] = BUDGETS,
    texts: Mapping[str, str] | None = None,
    count: Callable[[str], int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Return how well an engine, or a function, answers questions at some budgets.

    The same engine, data and questions give the same report, but for the times. An engine that
    has a journal records every answer in it.

    Args:
        subject: An engine; or a function called as `subject(query, budget=…, **fields)`, which
            returns a `Context` or a string.
        questions: What to ask.
        budgets: In tokens.
        texts: Id → text of gold records; those not given are looked up in the engine's sources.
        count: Counts the tokens of every answer. By default a context's own figure holds, and the
            `auto` tokenizer counts strings.
        progress: Called with the questions done and their number.

    Raises:
        ConfigError: There is no question, a budget is no positive number, a question has nothing
            that could be found, or a gold record's text is not known.

    Example:
        >>> question = Question(id="1", query="Who signs?", spans=("Ann signs.",))
        >>> report = evaluate(lambda query, budget: "Ann signs.", [question], budgets=[100])
        >>> report.recall(100)
        1.0
    """
    asked = list(questions)
    if not asked or not budgets or any(not isinstance(b, int) or b < 1 for b in budgets):
        raise ConfigError(
            f"evaluate takes one question or more and budgets above 0, got {len(asked)} and {budgets!r}"
        )
    answer: Answer = subject.build if hasattr(subject, "build") else subject
    outcomes: list[Outcome] = []
    rankings: list[Ranking] = []
    for number, question in enumerate(asked, start=1):
        evidence = evidence_of(question, subject, texts)
        outcomes += [_outcome(answer, question, evidence, budget, count) for budget in budgets]
        if question.gold and hasattr(subject, "search"):
            rankings.append(_ranking(subject.search(question.query, **question.fields), question))
        if progress is not None:
            progress(number, len(asked))
    return Report(outcomes=tuple(outcomes), rankings=tuple(rankings))


def evidence_of(
    question: Question, subject: object = None, texts: Mapping[str, str] | None = None
) -> Evidence:
    """Return what a question's context must contain: the spans, where there are any; else the gold records.

    A gold record counts as any of its equivalents does.

    Raises:
        ConfigError: The question has no gold, or a gold record's text is not known.
    """
    if question.spans:
        return Evidence.of([span] for span in question.spans)
    if not question.gold:
        raise ConfigError(f"question {question.id} has no gold: give gold or gold_spans")
    wanted = [[gold, *question.equivalents.get(gold, ())] for gold in question.gold]
    known = _contents(question, {i for ids in wanted for i in ids}, subject, texts or {})
    missing = [ids[0] for ids in wanted if not any(i in known for i in ids)]
    if missing:
        raise ConfigError(
            f"the text of gold record {missing[0]!r} of question {question.id} is not known: no source "
            "has it in the question's scope; give it as texts"
        )
    return Evidence.of([text for i in ids for text in known.get(i, ())] for ids in wanted)


def _contents(
    question: Question, ids: set[str], subject: object, texts: Mapping[str, str]
) -> dict[str, list[str]]:
    known = {i: [texts[i]] for i in ids if i in texts}
    missing = sorted(ids - set(known))
    if missing:
        request = ContextRequest(query=question.query, **{"limit": len(missing), **question.fields})
        for source in getattr(subject, "sources", ()):
            for candidate in source.get(missing, request) if isinstance(source, SupportsGet) else ():
                known.setdefault(candidate.id, []).append(candidate.text)
    return known


def _outcome(
    answer: Answer,
    question: Question,
    evidence: Evidence,
    budget: int,
    count: Callable[[str], int] | None,
) -> Outcome:
    start = time.perf_counter()
    given = answer(question.query, budget=budget, **question.fields)
    milliseconds = (time.perf_counter() - start) * 1000
    text = str(given)
    if count is None:
        tokens = given.tokens if isinstance(given, Context) else resolve_tokenizer("auto")(text)
    else:
        tokens = count(text)
    score = score_evidence(text, evidence)
    return Outcome(
        question=question.id,
        budget=budget,
        recall=score.recall,
        precision=score.precision,
        tokens=tokens,
        milliseconds=milliseconds,
        is_cut=given.is_truncated if isinstance(given, Context) else True,
    )


def _ranking(ranked: Sequence[Ranked], question: Question) -> Ranking:
    golds = {gold: {gold, *question.equivalents.get(gold, ())} for gold in question.gold}
    found: set[str] = set()
    grades = []
    for item in ranked[:_K]:
        # A survivor stands for its duplicates; what was found already is no second gain.
        ids = {item.candidate.id, *(key[1] for key in item.also_in)}
        new = {gold for gold, says in golds.items() if says & ids} - found
        found |= new
        grades.append(1.0 if new else 0.0)
    return Ranking(
        question=question.id,
        ndcg=ndcg(grades, [1.0] * len(golds), _K),
        recall=len(found) / len(golds),
    )
