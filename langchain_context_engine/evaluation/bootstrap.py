"""Whether one setting is better than another, or only luckier: a paired bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_context_engine.models.errors import ConfigError

__all__ = ["Interval", "paired_bootstrap"]

_CELLS = 4_000_000  # drawn at once, to bound the memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A difference of means with its confidence interval.

    Attributes:
        difference: Mean of the second less mean of the first.
        low: Lower end of the interval.
        high: Upper end.
        pairs: How many pairs it rests on.
    """

    difference: float
    low: float
    high: float
    pairs: int

    @property
    def is_real(self) -> bool:
        """Whether the interval leaves out 0, so that the difference is beyond noise."""
        return self.low > 0 or self.high < 0


def paired_bootstrap(
    first: Sequence[float],
    second: Sequence[float],
    *,
    samples: int = 5000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return how much better the second is, by resampling pairs (Efron's percentile interval).

    Args:
        first: Scores of one setting, one for each question.
        second: Scores of the other, of the same questions in the same order.
        samples: How often to resample.
        confidence: Of the interval, between 0 and 1.
        seed: The same seed gives the same interval.

    Raises:
        ConfigError: There is no pair, the lengths differ, or `confidence` is out of range.

    Example:
        >>> paired_bootstrap([0.1, 0.4, 0.3] * 20, [0.3, 0.5, 0.6] * 20).is_real
        True
    """
    if len(first) != len(second) or not first:
        msg = f"a paired bootstrap takes as many scores of both settings, got {len(first)} and {len(second)}"
        raise ConfigError(msg)
    if not 0 < confidence < 1 or samples < 1:
        msg = f"confidence must be between 0 and 1 and samples 1 or more, got {confidence} and {samples}"
        raise ConfigError(msg)
    import numpy as np

    differences = np.asarray(second, dtype=float) - np.asarray(first, dtype=float)
    generator = np.random.default_rng(seed)
    count = len(differences)
    at_once = max(1, _CELLS // count)
    means = [
        differences[generator.integers(0, count, (min(at_once, samples - start), count))].mean(axis=1)
        for start in range(0, samples, at_once)
    ]
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return Interval(difference=float(differences.mean()), low=float(low), high=float(high), pairs=count)
