"""Evaluation on questions with known answers: how much of the gold evidence a budget buys.

Anything that answers is evaluated the same way, by its text: an engine, or a function from a
question to a context or a string.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from langchain_context_engine.evaluation.metrics import Evidence, ndcg, score_evidence
from langchain_context_engine.evaluation.questions import Question, load_questions
from langchain_context_engine.evaluation.report import Outcome, Ranking, Report, compare
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import SupportsGet
from langchain_context_engine.models.types import Ranked
from langchain_context_engine.trace.context import Context

__all__ = ["BUDGETS", "Question", "Report", "compare", "evaluate", "evidence_of", "load_questions"]

BUDGETS = (250, 500, 1000, 2000)
"""Tokens that are tried by default."""

Answer = Callable[..., Context | str]
"""What is evaluated: called with the question's text, `budget` and the question's fields."""


def evaluate(
    subject: Any,
    questions: Iterable[Question],
    *,
    budgets: Sequence[int] = BUDGETS,
    texts: Mapping[str, str] | None = None,
    k: int = 10,
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
        k: Places of the ranking that count; 0 leaves rankings out. Only engines have rankings.
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
        msg = f"evaluate takes one question or more and budgets above 0, got {len(asked)} and {budgets!r}"
        raise ConfigError(msg)
    answer: Answer = subject.build if hasattr(subject, "build") else subject
    outcomes: list[Outcome] = []
    rankings: list[Ranking] = []
    for number, question in enumerate(asked, start=1):
        evidence = evidence_of(question, subject, texts)
        outcomes += [_outcome(answer, question, evidence, budget, count) for budget in budgets]
        if k and question.gold and not question.is_unanswerable and hasattr(subject, "search"):
            rankings.append(_ranking(subject.search(question.query, **question.fields), question, k))
        if progress is not None:
            progress(number, len(asked))
    return Report(outcomes=tuple(outcomes), rankings=tuple(rankings), k=k)


def evidence_of(
    question: Question, subject: object = None, texts: Mapping[str, str] | None = None
) -> Evidence | None:
    """Return what a question's context must contain, or None where nothing answers it.

    The spans, where there are any; else the texts, and those of the gold records, each with its
    equivalents.

    Raises:
        ConfigError: The question has no gold, or a gold record's text is not known.
    """
    if question.is_unanswerable:
        return None
    if question.spans:
        return Evidence.of([span] for span in question.spans)
    if not (question.gold or question.texts):
        msg = f"question {question.id} has no gold: give gold, gold_texts, gold_spans or unanswerable"
        raise ConfigError(msg)
    wanted = [[gold, *question.equivalents.get(gold, ())] for gold in question.gold]
    known = _contents(question, {i for ids in wanted for i in ids}, subject, texts or {})
    missing = [ids[0] for ids in wanted if not any(i in known for i in ids)]
    if missing:
        msg = (
            f"the text of gold record {missing[0]!r} of question {question.id} is not known: no source "
            "has it in the question's scope; give it in the question, or as texts"
        )
        raise ConfigError(msg)
    records = [[text for i in ids for text in known.get(i, ())] for ids in wanted]
    return Evidence.of([*records, *([text] for text in question.texts)])


def _contents(
    question: Question, ids: set[str], subject: object, texts: Mapping[str, str]
) -> dict[str, list[str]]:
    given = {**texts, **question.contents}
    known = {i: [given[i]] for i in ids if i in given}
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
    evidence: Evidence | None,
    budget: int,
    count: Callable[[str], int] | None,
) -> Outcome:
    start = time.perf_counter()
    given = answer(question.query, budget=budget, **question.fields)
    milliseconds = (time.perf_counter() - start) * 1000
    text = str(given)
    if count is None:
        tokens = given.tokens if isinstance(given, Context) else _default_count()(text)
    else:
        tokens = count(text)
    score = score_evidence(text, evidence) if evidence else None
    return Outcome(
        question=question.id,
        category=question.category,
        budget=budget,
        recall=score.recall if score else None,
        precision=score.precision if score else None,
        tokens=tokens,
        milliseconds=milliseconds,
        is_violation=tokens > budget,
        is_cut=given.is_truncated if isinstance(given, Context) else True,
    )


def _ranking(ranked: Sequence[Ranked], question: Question, k: int) -> Ranking:
    golds = {gold: {gold, *question.equivalents.get(gold, ())} for gold in question.gold}
    found: set[str] = set()
    grades = []
    for item in ranked[:k]:
        # A survivor stands for its duplicates; what was found already is no second gain.
        ids = {item.candidate.id, *(key[1] for key in item.also_in)}
        new = {gold for gold, says in golds.items() if says & ids} - found
        found |= new
        grades.append(1.0 if new else 0.0)
    return Ranking(
        question=question.id,
        category=question.category,
        ndcg=ndcg(grades, [1.0] * len(golds), k),
        recall=len(found) / len(golds),
    )


def _default_count() -> Callable[[str], int]:
    from langchain_context_engine.text.tokens import resolve_tokenizer

    return resolve_tokenizer("auto")
