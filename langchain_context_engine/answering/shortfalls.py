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
    """Return what is too little: its worth beside the best, or its telling words.

    Example:
        >>> says_little({"worth": 0.3956, "least": 0.4})
        'dropped: worth 0.39 of the best, 0.4 is the least'
    """
    if "worth" in details:
        return f"dropped: worth {_down(details['worth'], 2)} of the best, {details['least']:g} is the least"
    words = f"{details['words']} telling words, {details['least']} are the least"
    return f"dropped: says too little by itself: {words}"


def _down(value: float, decimals: int) -> str:
    scale = 10**decimals
    return f"{math.floor(value * scale) / scale:.{decimals}f}"
