"""The longest beginning of a text that fits an allowance of tokens, and where it ends well."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from langchain_context_engine.text.boundaries import good_ends, line_ends

__all__ = ["Count", "beginning_of", "first_that_fits", "fits_in", "keep_lines", "keep_start", "longest_that"]

Count = Callable[[str], int]


def keep_start(text: str, allowance: int, count: Count) -> str:
    """Return the longest beginning that fits, given up by at most a fifth to end with a sentence or word.

    Args:
        text: The text; returned as it is if it fits.
        allowance: Tokens the result may cost.
        count: Counts the tokens of a text.

    Example:
        >>> keep_start("One two. Three four five.", 4, lambda text: len(text.split()))
        'One two. Three four'
    """
    return text if fits_in(text, allowance, count) else beginning_of(text, allowance, count)


def keep_lines(text: str, allowance: int, count: Count) -> str:
    r"""Return the longest beginning of whole lines that fits, somewhat less to end well (`line_ends`).

    Where not even the first line fits, a beginning of it (`keep_start`).

    Args:
        text: A program; returned as it is if it fits.
        allowance: Tokens the result may cost.
        count: Counts the tokens of a text.

    Example:
        >>> keep_lines("a = 1\nb = 2\nc = 3 + 4", 8, lambda text: len(text.split()))
        'a = 1\nb = 2'
    """
    if fits_in(text, allowance, count):
        return text
    ends = line_ends(text, _most(text, allowance, count))
    whole_lines = first_that_fits((text[:end].rstrip() for end in ends), allowance, count)
    return whole_lines or beginning_of(text, allowance, count)


def fits_in(text: str, allowance: int, count: Count) -> bool:
    """Return whether a text costs no more than an allowance."""
    return count(text) <= allowance


def beginning_of(text: str, allowance: int, count: Count) -> str:
    """Return the beginning of a text that does not fit whole, as `keep_start` ends it."""
    ends = good_ends(text, _most(text, allowance, count))
    return first_that_fits((text[:end].rstrip() for end in ends), allowance, count)


def first_that_fits(pieces: Iterable[str], allowance: int, count: Count) -> str:
    """Return the first of some pieces that is not empty and fits, or ""."""
    return next((piece for piece in pieces if piece and fits_in(piece, allowance, count)), "")


def _most(text: str, allowance: int, count: Count) -> int:
    return longest_that(len(text), lambda n: fits_in(text[:n], allowance, count), 4 * allowance)


def longest_that(length: int, fits: Callable[[int], bool], guess: int) -> int:
    """Return the largest number below `length` that fits, as far as fitting is monotone.

    Steps double away from the guess before they are halved, so that the cost is that of counting texts
    about as long as the answer, however long the whole is.
    """
    if length < 2:  # noqa: PLR2004 - only 0 is below
        return 0
    low, high = 0, length
    step = max(1, min(guess, length - 1))
    is_growing = fits(step)
    low, high = (step, high) if is_growing else (low, step)
    step = max(1, step // 8)
    while is_growing and low + step < high:
        if fits(low + step):
            low += step
            step *= 2
        else:
            high = low + step
            break
    while not is_growing and high - step > low:
        if fits(high - step):
            low = high - step
            break
        high -= step
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
