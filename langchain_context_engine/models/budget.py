"""How many tokens there are and who may have them."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.freeze import quoted, set_fields

_MOST_TOKENS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A token budget and how it is shared out.

    Attributes:
        tokens: The whole budget, 0 or more.
        reserve: Tokens of it kept free for something else, for example a system prompt.
        shares: Group (a source's name, or a kind) → weight. Each group fills its share first; what a
            group leaves over goes to the next best of all. Groups not named share nothing at first
            and take from what is left over. Empty: no shares, the best come first.
        source_cap: The largest part of the budget that one source may take, 0–1.
        item_cap: The largest part that one item may take, 0–1; a longer one is cut. It is of the group's
            share; what nobody else can use goes to those that were cut, the best first.
        minimum_cut: An item is cut only where at least this many tokens are left for it.
        cut_from: What is nearly as good as the best, cannot be split into sentences (code) and does not fit
            whole is cut in its turn where this share of it fits, 0–1; 1: only what all others leave over
            is cut.
        is_soft: Nothing is left out for room; exceeding the budget is a warning and
            `is_truncated` stays false. For the one design that asks for it.

    Raises:
        ConfigError: A number is out of range; the message names the field.

    Example:
        >>> Budget(tokens=10, shares={"code": 2, "notes": 1}).split(10)
        {'code': 7, 'notes': 3}
    """

    tokens: int = 2000
    reserve: int = 0
    shares: Mapping[str, float] = field(default_factory=dict)
    source_cap: float | None = None
    item_cap: float | None = None
    minimum_cut: int = 10
    cut_from: float = 0.5
    is_soft: bool = False

    def __post_init__(self) -> None:
        for name in ("tokens", "reserve", "minimum_cut"):
            value = getattr(self, name)
            is_right = isinstance(value, int) and _is_number(value) and 0 <= value <= _MOST_TOKENS
            self._check(name, is_right, f"a whole number of 0 or more, at most {_MOST_TOKENS:,}")
        for name in ("source_cap", "item_cap"):
            value = getattr(self, name)
            self._check(
                name, value is None or (_is_number(value) and 0 < value <= 1), "above 0 and at most 1"
            )
        self._check("cut_from", _is_number(self.cut_from) and 0 <= self.cut_from <= 1, "between 0 and 1")
        self._check("is_soft", isinstance(self.is_soft, bool), "True or False")
        is_right = isinstance(self.shares, Mapping) and all(
            _is_number(weight) and weight >= 0 for weight in self.shares.values()
        )
        self._check("shares", is_right, "source → a weight of 0 or more")
        set_fields(self, shares=dict(self.shares))

    def _check(self, name: str, is_right: bool, wanted: str) -> None:
        if not is_right:
            raise ConfigError(f"budget {name} must be {wanted}, got {quoted(getattr(self, name))}")

    def split(self, tokens: int) -> dict[str, int]:
        """Return each group's share of so many tokens; the shares add up to them."""
        return split_tokens(tokens, self.shares)


def split_tokens(tokens: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Return whole-token shares in proportion to the weights, none lost (largest remainder method).

    Ties go to the group named first. All weights 0: everyone gets 0.
    """
    total = math.fsum(weights.values())
    if total <= 0:
        return dict.fromkeys(weights, 0)
    exact = {name: tokens * weight / total for name, weight in weights.items()}
    shares = {name: math.floor(value) for name, value in exact.items()}
    by_remainder: Sequence[str] = sorted(exact, key=lambda name: shares[name] - exact[name])
    for name in by_remainder[: tokens - sum(shares.values())]:
        shares[name] += 1
    return shares


def share_out(tokens: int, weights: Mapping[str, float], needs: Mapping[str, int]) -> dict[str, int]:
    """Return whole-token shares by weight, none above its need; what one does not need goes to the others."""
    open_weights, left = dict(weights), tokens
    settled: dict[str, int] = {}
    while open_weights:
        shares = split_tokens(left, open_weights)
        sated = [name for name in open_weights if needs[name] <= shares[name]]
        if not sated:
            settled |= shares
            break
        for name in sated:
            settled[name] = needs[name]
            left -= needs[name]
            del open_weights[name]
    return {name: settled[name] for name in weights}


def _is_number(value: object) -> bool:
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    )
