"""What numpy and pandas hold, as Python's own values; neither is imported here."""

from __future__ import annotations

from typing import Any

__all__ = ["from_column"]


def from_column(value: Any) -> Any:
    """Return numpy's and pandas' scalars, arrays, columns and tables as plain values, lists and mappings.

    Missing values (`NaT`, `NA`) are None, dates Python's own, a table one list for each column. What is not
    theirs, or cannot be said so, is returned as it is.

    Example:
        >>> import numpy as np
        >>> from_column(np.float32(0.5)), from_column(np.array([[1, 2]])), from_column(np.datetime64("NaT"))
        (0.5, [[1, 2]], None)
    """
    library = type(value).__module__.partition(".")[0]
    if library == "numpy":
        return _from_numpy(value)
    return _from_pandas(value) if library == "pandas" else value


def _from_numpy(value: Any) -> Any:
    if not hasattr(value, "tolist"):
        return value
    kind = value.dtype.kind
    if kind in "mM":
        # Finer than Python's dates, numpy gives a count of nanoseconds.
        unit = value.dtype.str[1:3] + "[us]"
        return value.astype(unit).tolist()
    plain = value.tolist()
    if type(plain).__module__ != "numpy":
        return plain
    return float(plain) if kind == "f" else complex(plain)


def _from_pandas(value: Any) -> Any:
    name = type(value).__name__
    if name in {"NaTType", "NAType"}:
        return None
    if name == "DataFrame":
        return value.to_dict("list")
    for plain in ("to_pydatetime", "to_pytimedelta", "tolist"):
        if hasattr(value, plain):
            return getattr(value, plain)()
    # Periods and intervals are said by what they print.
    return str(value)
