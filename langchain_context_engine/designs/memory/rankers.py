"""Rankers of the memory engine: weights of the engine's signals, or a function over results as a signal."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from langchain_context_engine.designs.memory.options import RankingOptions
from langchain_context_engine.designs.memory.results import Memory, SearchResult
from langchain_context_engine.models.errors import ConfigError, UnknownNameError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.registry import Registry
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate

RankingFunction = Callable[..., Sequence[SearchResult]]
"""`(results) -> results` or `(results, RankingOptions) -> results`: best first; what it leaves out is out."""

Ranker = RankingOptions | RankingFunction

RANKERS: Mapping[str, Ranker] = MappingProxyType(
    {
        "default": RankingOptions(),
        "by_similarity": RankingOptions(similarity_weight=1.0, recency_weight=0.0, confidence_weight=0.0),
        "by_recency": RankingOptions(similarity_weight=0.0, recency_weight=1.0, confidence_weight=0.0),
        "by_confidence": RankingOptions(similarity_weight=0.0, recency_weight=0.0, confidence_weight=1.0),
    }
)
"""The built-in rankers: similarity · .5 + 1/(1 + days) · .3 + confidence · .2, or one of them alone."""

_LEAST = 1e-12


@dataclass(frozen=True, slots=True)
class CustomRanker:
    """A ranker that sorts by a function of each result, the highest first; ties keep their order.

    Example:
        >>> longest = CustomRanker(lambda result: len(result.memory.content))
        >>> results = [SearchResult(memory=Memory(id=i, content=i), score=0.5) for i in ("a", "bbb")]
        >>> [result.memory.id for result in longest(results)]
        ['bbb', 'a']
    """

    score_fn: Callable[[SearchResult], float]

    def __call__(self, results: Sequence[SearchResult]) -> list[SearchResult]:
        """Return the results, best first."""
        return sorted(results, key=self.score_fn, reverse=True)


@dataclass(frozen=True, slots=True)
class Placement:
    """A signal: the place that a ranking function gives, from 1 for the first down to 1/n; 0 if left out.

    Raises:
        ConfigError: (calling) the function failed, or gave something else than results it was given.
    """

    ranker: RankingFunction
    options: RankingOptions = field(default_factory=RankingOptions)

    def __call__(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
        """Return one value for each candidate."""
        del request
        results = [SearchResult(memory=Memory.of(c), score=c.relevance) for c in candidates]
        place = {id(result): i for i, result in enumerate(results)}
        values = [0.0] * len(results)
        for rank, result in enumerate(self._ranked(results)):
            if id(result) not in place:
                raise ConfigError(f"ranker {_name(self.ranker)} gave a result that it was not given")
            values[place.pop(id(result))] = 1 - rank / len(results)
        return values

    def _ranked(self, results: Sequence[SearchResult]) -> list[SearchResult]:
        arguments = (list(results), self.options)
        try:
            return list(self.ranker(*arguments[: _arity(self.ranker)]))
        except Exception as error:
            raise ConfigError(f"ranker {_name(self.ranker)} failed: {safe_message(error)}") from error


def engine_settings(ranker: Any, known: Registry[Ranker], default: RankingOptions) -> dict[str, Any]:
    """Return what a ranker means in settings of the engine.

    Args:
        ranker: A name (`by_` may be left out), a function, `RankingOptions`, or None for "default".
        known: Rankers by name.
        default: The weights of "default", which functions are given too.

    Raises:
        ConfigError: It is none of these, or weights are wrong.
        UnknownNameError: No ranker has that name; the known ones are listed.
    """
    if isinstance(ranker, str) and ranker not in known and f"by_{ranker}" in known:
        ranker = f"by_{ranker}"
    if ranker is None or ranker == "default":
        ranker = default
    signal = "ranker"
    if isinstance(ranker, str):
        if ranker not in known:
            raise UnknownNameError("ranker", ranker, known)
        signal, ranker = signal_name(ranker), known[ranker]
    if isinstance(ranker, RankingOptions):
        return {"weights": ranker.weights(), "signals": {}, "min_score": None}
    check_ranker(ranker)
    return {
        "weights": {signal: 1.0},
        "signals": {signal: Placement(ranker, default)},
        "min_score": _LEAST,
    }


def signals_of(known: Registry[Ranker], default: RankingOptions) -> dict[str, Placement]:
    """Return the rankers that are functions as signals, by the names that traces give them."""
    return {
        signal_name(name): Placement(ranker, default)
        for name, ranker in known.items()
        if not isinstance(ranker, RankingOptions)
    }


def signal_name(ranker: str) -> str:
    """Return the name of a registered ranker's signal: no signal of the engine is called so."""
    return f"ranker:{ranker}"


def check_ranker(ranker: object) -> None:
    """Raise where something is no ranker.

    Raises:
        ConfigError: It is neither a function nor `RankingOptions`.
    """
    if not callable(ranker) and not isinstance(ranker, RankingOptions):
        kind = type(ranker).__name__
        raise ConfigError(f"a ranker is a name, a function of results or RankingOptions, got {kind}")


def _arity(function: RankingFunction) -> int:
    """Return with how many arguments to call: two where it must or may take the options, else one."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    positional = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    return 2 if sum(parameter.kind in positional for parameter in parameters) > 1 else 1


def _name(ranker: object) -> str:
    return repr(getattr(ranker, "__name__", type(ranker).__name__))
