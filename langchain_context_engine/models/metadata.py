"""Reading what a store's flat metadata say: lists and mappings, as they are or as text."""

from __future__ import annotations

import json
from typing import Any


def read_list(value: object) -> tuple[Any, ...]:
    """Return the items of a list, of a JSON list, or of a text split at commas, without the empty ones.

    Example:
        >>> read_list("a.py, b.py"), read_list('["a.py"]'), read_list(None)
        (('a.py', 'b.py'), ('a.py',), ())
    """
    if isinstance(value, str):
        value = _split(value)
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(item for item in value if item is not None and item != "")


def read_mapping(value: object) -> dict[str, Any]:
    """Return a mapping, or the one that a JSON text states; of anything else an empty one.

    Example:
        >>> read_mapping('{"what_worked": "a lock"}'), read_mapping("a lock")
        ({'what_worked': 'a lock'}, {})
    """
    read = _read_json(value) if isinstance(value, str) else value
    return dict(read) if isinstance(read, dict) else {}


def _split(text: str) -> list[Any]:
    read = _read_json(text)
    return read if isinstance(read, list) else [part.strip() for part in text.split(",")]


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # a thousand brackets are no list
        return None
