"""Rerank: ask a reranker once about the best candidates; what it says is written on them.

Its scores are claims like those of a search leg, so a replay ranks by what was recorded and asks nobody.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_context_engine.errors import ConfigError, SourceError
from langchain_context_engine.executor import LateError, run
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.types import Candidate, Decision, Key, Ranked, Reason, Verdict
from langchain_context_engine.pipeline.collect import Collected

Scorer = Callable[[str, Sequence[str]], Sequence[float | None]]
"""(question, texts) → one score for each text, the higher the better, on any scale; None says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranking:
    """Who is asked about how many, and how long.

    Attributes:
        scorer: Asked once.
        best: So many of the best candidates.
        seconds: Later than this, the answer does without.

    Raises:
        ConfigError: A number is not above 0.
    """

    scorer: Scorer
    best: int = 30
    seconds: float = 2.0

    def __post_init__(self) -> None:
        if isinstance(self.best, bool) or not isinstance(self.best, int) or self.best < 1:
            raise ConfigError(f"rerank_best must be a whole number of 1 or more, got {self.best!r}")
        is_number = isinstance(self.seconds, (int, float)) and not isinstance(self.seconds, bool)
        if not is_number or not 0 < self.seconds < math.inf:
            raise ConfigError(f"rerank_seconds must be a number above 0, got {self.seconds!r}")


def rerank(found: Collected, ranked: Sequence[Ranked], query: str, reranking: Reranking) -> Collected:
    """Return what was found, the best candidates with a `rerank` claim.

    A reranker that fails, is late, or gives no scores leaves them as they are, with one warning.

    Args:
        found: All candidates, in the engine's order.
        ranked: The same ranked without a reranker, best first; what is dropped is not asked about.
        query: The question; without one nobody is asked.
        reranking: Who is asked.
    """
    asked = [item.candidate for item in ranked[: reranking.best] if item.candidate.text]
    if not asked or not query.strip():
        return found
    texts = [candidate.text for candidate in asked]
    deadline = time.monotonic() + reranking.seconds
    answers, _ = run([lambda: reranking.scorer(query, texts)], [reranking.scorer], deadline)
    try:
        scores = _scores(answers[0], asked)
    except SourceError as error:
        return found.with_more([], [f"the reranker was left out: {error}"])
    candidates = tuple(
        replace(c, claims={**c.claims, "rerank": scores[c.key]}) if c.key in scores else c
        for c in found.candidates
    )
    decisions = [
        Decision(
            stage="rerank",
            key=key,
            verdict=Verdict.CHANGED,
            reason=Reason.RERANKED,
            details={"score": score},
        )
        for key, score in scores.items()
    ]
    return found.with_more(decisions, [], candidates=candidates)


def _scores(answer: Any, asked: Sequence[Candidate]) -> Mapping[Key, float]:
    """Return what a reranker said of each candidate.

    Raises:
        SourceError: It said nothing that can be read.
    """
    if isinstance(answer, BaseException):
        is_late = isinstance(answer, LateError)
        raise SourceError("no answer within rerank_seconds" if is_late else safe_message(answer)) from None
    try:
        given = [None if score is None else float(score) for score in answer]
    except (TypeError, ValueError):
        raise SourceError(f"it gave {type(answer).__name__}, expected one number for each text") from None
    if len(given) != len(asked):
        raise SourceError(f"it gave {len(given)} scores for {len(asked)} texts")
    if any(score is not None and not math.isfinite(score) for score in given):
        raise SourceError("it gave a score that is not finite")
    return {c.key: score for c, score in zip(asked, given, strict=True) if score is not None}
