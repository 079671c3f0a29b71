"""A record on its way into a collection: its content-hash id, its place, and metadata that Chroma accepts."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from langchain_context_engine.models.freeze import clean_text

SEPARATOR = " › "
_LARGEST_INTEGER = 2**63 - 1
_LONGEST_TITLE, _LONGEST_TRAIL = 60, 110
_NOT_A_LETTER = re.compile(r"[\W_]+")
_TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|testing|testdata|e2e|fixtures)/"
    r"|(?:^|/)(?:test_[^/]*|conftest)\.py$|[_.-](?:test|tests|spec)\.\w+$|(?:Test|Tests|Spec)\.(?:java|kt|cs|php|scala|swift)$",
)
_EXAMPLE_PATH = re.compile(r"(?:^|/)(?:examples?|samples?|demos?|docs_src|tutorials?)/")


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
        name, stored = clean_text(str(key)), _stored(value)
        if stored is not None:
            cleaned[f"_{name}" if not name or name.startswith(("$", "#", "chroma:")) else name] = stored
    return cleaned


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


def is_same_metadata(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Say whether two records' metadata are equal, but for the last digits of floats: Chroma rounds them."""
    return first.keys() == second.keys() and all(_is_same(first[key], second[key]) for key in first)


def _is_same(first: Any, second: Any) -> bool:
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_same, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-12)
    return type(first) is type(second) and bool(first == second)


def code_place(path: str, first_line: int, last_line: int, symbol: str = "") -> str:
    """Return the place of lines of a file, and of what they define.

    Args:
        path: The file.
        first_line: 1-based.
        last_line: 1-based, inclusive.
        symbol: What is defined there, or "".

    Example:
        >>> code_place("httpx/_client.py", 430, 471, "Client.send")
        'httpx/_client.py:430-471 · Client.send'
    """
    lines = f"{first_line}-{last_line}" if last_line > first_line else f"{first_line}"
    return f"{path}:{lines} · {symbol}" if symbol else f"{path}:{lines}"


def trail_place(path: str, titles: Sequence[str]) -> str:
    """Return the place of a passage under headings, or of a named part; "" where they say but the path.

    Long headings are shortened, and of a long trail the middle is left out.

    Example:
        >>> trail_place("CHANGELOG.md", ["Changelog", "0.13.0", "Removed"])
        'CHANGELOG.md › 0.13.0 › Removed'
    """
    name = PurePosixPath(path)
    said = {_folded(str(name)), _folded(name.name), _folded(name.stem)}
    shown = [shortened(title) for title in titles[bool(titles) and _folded(titles[0]) in said :]]
    while shown[1:-1] not in ([], ["…"]) and sum(map(len, shown)) > _LONGEST_TRAIL:
        middle = len(shown) // 2
        if shown[middle] == "…":
            shown.pop(middle - 1 if middle > 1 else middle + 1)
        else:
            shown[middle] = "…"
    return SEPARATOR.join((path, *shown)) if shown else ""


def _folded(text: str) -> str:
    return _NOT_A_LETTER.sub("", text).casefold()


def shortened(text: str) -> str:
    """Return a title of at most 60 characters."""
    return text if len(text) <= _LONGEST_TITLE else text[: _LONGEST_TITLE - 1].rstrip() + "…"


def path_marks(path: str) -> dict[str, bool]:
    """Return `is_test` or `is_example`; nothing where a file is neither."""
    if _TEST_PATH.search(path):
        return {"is_test": True}
    return {"is_example": True} if _EXAMPLE_PATH.search(path) else {}
