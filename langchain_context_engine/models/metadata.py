"""Reading what a store's flat metadata say: lists and mappings, as they are or as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from langchain_context_engine.models.errors import ConfigError


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


def renamed(metadata: Mapping[str, Any], fields: Mapping[str, str]) -> Mapping[str, Any]:
    """Return metadata with what is stored under other keys also under the names that are read.

    Args:
        metadata: What a store gave.
        fields: Name that is read → key it is stored under; a key that is not there changes nothing.

    Example:
        >>> renamed({"when": 7}, {"created_at": "when", "title": "name"})
        {'when': 7, 'created_at': 7}
    """
    found = {name: metadata[key] for name, key in fields.items() if key in metadata}
    return {**metadata, **found} if found else metadata


def checked_fields(fields: Any) -> dict[str, str]:
    """Return a map of metadata names; None is an empty one.

    Raises:
        ConfigError: It is no mapping of names to keys.
    """
    if fields is None:
        return {}
    if isinstance(fields, Mapping) and all(isinstance(part, str) for pair in fields.items() for part in pair):
        return dict(fields)
    raise ConfigError(f'fields maps what is read to metadata keys, {{"created_at": "when"}}; got {fields!r}')


def _split(text: str) -> list[Any]:
    read = _read_json(text)
    return read if isinstance(read, list) else [part.strip() for part in text.split(",")]


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # a thousand brackets are no list
        return None
