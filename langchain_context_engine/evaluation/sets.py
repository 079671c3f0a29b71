"""One line of figures a try over a whole set of questions, and which of them gained and lost. Pure."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.evaluation.quality import Grades, Quality, quality
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import rows
from langchain_context_engine.trace.traces import diff, replay_ranked

__all__ = ["SetFigures", "Tried", "figures_of", "try_settings"]

_NOISE = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One question of a set under some settings.

    Attributes:
        query: The question.
        context: What the settings give.
        quality: How good that is by people's grades.
        tokens: Tokens of its text.
        milliseconds: What ranking, packing and rendering took.
        shared: Passages in both it and the recorded one, of all, 0–1.
    """

    query: str
    context: Context
    quality: Quality
    tokens: int
    milliseconds: float
    shared: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFigures:
    """The figures of a set of questions under some settings; NaN where nothing judged could tell.

    Attributes:
        questions: How many.
        recall: Mean share of the well-answering texts that stands in the context, 0–1.
        ndcg: Mean nDCG@10, 0–1.
        tokens: Mean tokens.
        milliseconds: Mean time of ranking, packing and rendering.
        shared: Mean share of passages that the recorded contexts have too, 0–1.
        gained: Questions whose figures became better, the most first.
        lost: Questions whose figures became worse, the most first.
    """

    questions: int
    recall: float
    ndcg: float
    tokens: float
    milliseconds: float
    shared: float
    gained: tuple[str, ...]
    lost: tuple[str, ...]


def try_settings(
    contexts: Iterable[Context], grades: Mapping[str, Grades], settings: Mapping[str, Any]
) -> list[Tried]:
    """Return what some settings give of each trace, by replay.

    Args:
        contexts: One trace a question.
        grades: Question → candidate → grade.
        settings: Changed settings, as `replay` takes them; none gives what was recorded.

    Returns:
        In their order; those that cannot be replayed (a part was a function, the trace is damaged) are left
        out.

    Raises:
        ConfigError: None could be replayed: a setting is wrong.
    """
    found: list[Tried] = []
    failed: ConfigError | None = None
    for recorded in contexts:
        try:
            found.append(_tried(recorded, grades.get(recorded.request.query, {}), settings))
        except ConfigError as error:
            failed = failed or error
    if failed is not None and not found:
        raise failed
    return found


def _tried(recorded: Context, grades: Grades, settings: Mapping[str, Any]) -> Tried:
    start = time.perf_counter()
    context, ranked = replay_ranked(recorded, **settings)
    took = (time.perf_counter() - start) * 1000
    return Tried(
        query=recorded.request.query,
        context=context,
        quality=quality(context, rows(context, ranked), grades),
        tokens=context.tokens,
        milliseconds=took,
        shared=diff(recorded, context).overlap,
    )


def figures_of(before: Sequence[Tried], after: Sequence[Tried]) -> SetFigures:
    """Return the figures of a set after a change, with the questions that gained and lost by it.

    Args:
        before: The set as recorded.
        after: The same questions under other settings.
    """
    was = {one.query: one.quality for one in before}
    changes = [(_change(was[one.query], one.quality), one.query) for one in after if one.query in was]
    gained = sorted(((change, query) for change, query in changes if change > _NOISE), reverse=True)
    lost = sorted((change, query) for change, query in changes if change < -_NOISE)
    return SetFigures(
        questions=len(after),
        recall=_mean(one.quality.recall for one in after),
        ndcg=_mean(one.quality.ndcg for one in after),
        tokens=_mean(float(one.tokens) for one in after),
        milliseconds=_mean(one.milliseconds for one in after),
        shared=_mean(one.shared for one in after),
        gained=tuple(query for _, query in gained),
        lost=tuple(query for _, query in lost),
    )


def _change(before: Quality, after: Quality) -> float:
    """Return by how much the evidence and the order became better together; 0 where neither is known."""
    changes = (after.recall - before.recall, after.ndcg - before.ndcg)
    return math.fsum(change for change in changes if not math.isnan(change))


def _mean(numbers: Iterable[float]) -> float:
    known = [number for number in numbers if not math.isnan(number)]
    return math.fsum(known) / len(known) if known else math.nan
