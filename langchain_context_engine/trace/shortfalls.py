"""What a candidate is below, in words: rounded down, so that a number is printed below its bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["below", "says_little"]


def below(details: Mapping[str, Any]) -> str:
    """Return what a score is below, or the similarity that a source tells.

    Example:
        >>> below({"score": 0.19996, "threshold": 0.2})
        'dropped: score below the minimum: 0.199 < 0.2'
    """
    if "source" not in details:
        return f"dropped: score below the minimum: {_down(details['score'], 3)} < {details['threshold']:g}"
    if details["score"] <= 0:
        return "dropped: not similar to the question at all"
    bound = f"{_down(details['score'], 3)} < {details['threshold']:g}"
    return f"dropped: not similar enough to the question: {bound}"


def says_little(details: Mapping[str, Any]) -> str:
    """Return what is too little: its worth beside the best, its rank, or its telling words.

    Example:
        >>> says_little({"worth": 0.3956, "least": 0.4})
        'dropped: worth 0.39 of the best, 0.4 is the least'
        >>> says_little({"rank": 14, "most": 12})
        'dropped: the 14th best, of files and histories the best 12 are read at this budget'
    """
    if "rank" in details:
        return (
            f"dropped: the {_ordinal(details['rank'])} best,"
            f" of files and histories the best {details['most']} are read at this budget"
        )
    if "worth" in details:
        return f"dropped: worth {_down(details['worth'], 2)} of the best, {details['least']:g} is the least"
    words = f"{details['words']} telling words, {details['least']} are the least"
    return f"dropped: says too little by itself: {words}"


def _ordinal(number: int) -> str:
    teens = number % 100 in {11, 12, 13}
    return f"{number:,}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _down(value: float, decimals: int) -> str:
    scale = 10**decimals
    return f"{math.floor(value * scale) / scale:.{decimals}f}"
