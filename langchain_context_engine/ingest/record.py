"""A record on its way into a collection: its content-hash id and metadata that Chroma accepts."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.models.freeze import clean_text

_LARGEST_INTEGER = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One text to store.

    Attributes:
        id: Unique in its collection.
        text: What is stored and shown.
        lead: What is embedded before the text: where it stands, for example its headings.
        metadata: As Chroma accepts it (see `clean_metadata`).
    """

    id: str
    text: str
    lead: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def embedded_text(self) -> str:
        """What is given to the embedder."""
        return f"{self.lead}\n{self.text}" if self.lead else self.text


def content_id(*parts: str) -> str:
    """Return an id that depends on the parts and nothing else.

    Parts are told apart by their length, so that ("a:b", "c") and ("a", "b:c") differ.

    Example:
        >>> content_id("a:b", "c") == content_id("a", "b:c")
        False
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = clean_text(part).encode()
        digest.update(len(data).to_bytes(8))
        digest.update(data)
    return digest.hexdigest()


def unique_ids(identities: Iterable[tuple[str, ...]]) -> list[str]:
    """Return a content id for each identity; equal identities are numbered in order."""
    seen: dict[tuple[str, ...], int] = {}
    ids = []
    for identity in identities:
        number = seen[identity] = seen.get(identity, 0) + 1
        ids.append(content_id(*identity, *([str(number)] if number > 1 else [])))
    return ids


def clean_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata as Chroma stores it.

    Strings, numbers, booleans and lists of one of these stay; None, NaN and empty containers go;
    anything else becomes JSON text. Keys that Chroma reserves get an underscore before them.

    Example:
        >>> clean_metadata({"a": 1, "b": None, "c": [], "d": ["x"], "e": {"f": 1}})
        {'a': 1, 'd': ['x'], 'e': '{"f": 1}'}
    """
    cleaned = {}
    for key, value in metadata.items():
        stored = _stored(value)
        if stored is not None:
            cleaned[_stored_key(key)] = stored
    return cleaned


def is_same_metadata(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Say whether two records' metadata are equal, but for the last digits of floats: Chroma rounds them.

    Example:
        >>> is_same_metadata({"a": 0.1 + 0.2}, {"a": 0.3}), is_same_metadata({"a": 1}, {"a": 2})
        (True, False)
    """
    return first.keys() == second.keys() and all(_is_same(first[key], second[key]) for key in first)


def _is_same(first: Any, second: Any) -> bool:
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_same, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-12)
    return type(first) is type(second) and bool(first == second)


def _stored_key(key: object) -> str:
    name = clean_text(str(key))
    return f"_{name}" if not name or name.startswith(("$", "#", "chroma:")) else name


def _stored(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, (bool, int, float)):
        return str(value) if abs(value) > _LARGEST_INTEGER and isinstance(value, int) else value
    if isinstance(value, (list, tuple)) and value:
        items = [_stored(item) for item in value]
        if len({type(item) for item in items}) == 1 and isinstance(items[0], (str, bool, int, float)):
            return items
    return clean_text(json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)) if value else None
