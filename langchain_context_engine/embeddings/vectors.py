"""What every embedding here keeps to: no empty text is sent, no unusable vector is let through."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from langchain_context_engine.errors import EmbeddingError

Vector = list[float]

_SHORTEST, _LONGEST = 1e-18, 1e18
"""Between these the square of a vector's length is a number in single precision, in which stores count."""


def is_blank(text: str) -> bool:
    """Return whether there is nothing to embed: the text is empty or only spaces."""
    return not text or text.isspace()


def refuse_blank(text: str) -> None:
    """Raise `EmbeddingError` where a query has nothing to embed."""
    if is_blank(text):
        raise EmbeddingError("the query is empty: there is nothing to embed; skip the search or pass a text")


def align(texts: Sequence[str], vectors: Iterable[Vector], dimensions: int | None) -> list[Vector]:
    """Return one vector for each text: the given ones for texts that say something, zeros for the others.

    Args:
        texts: All texts, in order.
        vectors: Vectors of the texts that are not blank, in order.
        dimensions: The length of a zero vector; None where it is not known, then the given vectors tell.

    Raises:
        EmbeddingError: Every text is blank and the dimensions are not known.
    """
    given = list(vectors)
    length = len(given[0]) if given else dimensions
    if length is None and texts:
        raise EmbeddingError(f"all {len(texts)} texts are empty, and how long a vector is is not known yet")
    remaining = iter(given)
    return [[0.0] * (length or 0) if is_blank(text) else next(remaining) for text in texts]


def check_vectors(vectors: object, *, count: int, model: str, dimensions: int | None) -> list[Vector]:
    """Return the vectors as lists of floats where every one is usable.

    Args:
        vectors: What an embedder answered.
        count: How many texts it was given.
        model: Its name, for messages.
        dimensions: How long each must be; None asks only that all are equally long.

    Raises:
        EmbeddingError: A vector is missing, or empty, NaN, infinite, zero or of another length.
    """
    try:
        answer = [[float(x) for x in vector] for vector in vectors]  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{model} gave {type(error).__name__} instead of lists of numbers") from None
    if len(answer) != count:
        raise EmbeddingError(f"{model} gave {len(answer)} vectors for {count} texts")
    expected = dimensions if dimensions is not None else (len(answer[0]) if answer else 0)
    for position, vector in enumerate(answer):
        fault = _fault(vector, expected)
        if fault:
            msg = f"{model} gave {fault} for text {position + 1} of {count}; such a vector finds nothing"
            raise EmbeddingError(msg)
    return answer


def check_vector(vector: Iterable[float], what: str) -> tuple[float, ...]:
    """Return a query's vector as floats."""
    try:
        values = tuple(map(float, vector))
    except (TypeError, ValueError):
        raise EmbeddingError(f"{what} is no list of numbers, got {type(vector).__name__}") from None
    if fault := _fault(values, len(values)):
        raise EmbeddingError(f"{what} is {fault} ({len(values)} dimensions), so nothing can be near to it")
    return values


def _fault(vector: Sequence[float], expected: int) -> str:
    if not vector:
        return "an empty vector"
    if len(vector) != expected:
        return f"{len(vector)} dimensions instead of {expected}"
    length = math.hypot(*vector)
    if not length <= _LONGEST:
        return f"a vector with {'NaN or infinity' if not math.isfinite(length) else 'numbers too large'}"
    if length < _SHORTEST:
        return "a zero vector"
    return ""
