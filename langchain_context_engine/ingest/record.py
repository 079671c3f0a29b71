"""A record on its way into a collection: its content-hash id, its place, and metadata that Chroma accepts."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
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
    r"(?:^|/)(?:tests?|__tests__|specs?|testing|testdata|e2e|fixtures)/|(?:^|/)(?:test_[^/]*|conftest)\.py$"
    r"|[_.-](?:test|tests|spec)\.\w+$|(?:Test|Tests|Spec)\.(?:java|kt|cs|php|scala|swift)$",
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
    """Return an id that depends on the parts alone: ("a:b", "c") and ("a", "b:c") differ."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = clean_text(part).encode()
        digest.update(len(data).to_bytes(8) + data)
    return digest.hexdigest()


def unique_ids(identities: Iterable[tuple[str, ...]]) -> list[str]:
    """Return a content id for each identity; equal identities are numbered in order."""
    seen = Counter[tuple[str, ...]]()
    ids = []
    for identity in identities:
        ids.append(content_id(*identity, *([str(seen[identity] + 1)] if seen[identity] else [])))
        seen[identity] += 1
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


def is_same(first: Any, second: Any) -> bool:
    """Say whether two values of metadata are equal, but for the last digits of floats: Chroma rounds them."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(is_same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(is_same, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-12)
    return type(first) is type(second) and bool(first == second)


def code_place(path: str, first_line: int, last_line: int, symbol: str = "") -> str:
    """Return the place of lines of a file (1-based, inclusive), and of what they define.

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
    said = {_NOT_A_LETTER.sub("", each).casefold() for each in (path, name.name, name.stem)}
    is_said = bool(titles) and _NOT_A_LETTER.sub("", titles[0]).casefold() in said
    shown = [shortened(title) for title in titles[is_said:]]
    if shown[2:] and sum(map(len, shown)) > _LONGEST_TRAIL:
        room = _LONGEST_TRAIL - len(shown[0])
        fits = (n for n in range(2, len(shown)) if sum(map(len, shown[n:])) <= room)
        shown[1 : next(fits, len(shown) - 1)] = ["…"]
    return SEPARATOR.join((path, *shown)) if shown else ""


def shortened(text: str) -> str:
    """Return a title of at most 60 characters."""
    return text if len(text) <= _LONGEST_TITLE else text[: _LONGEST_TITLE - 1].rstrip() + "…"


def path_marks(path: str) -> dict[str, bool]:
    """Return `is_test` or `is_example`; nothing where a file is neither."""
    if _TEST_PATH.search(path):
        return {"is_test": True}
    return {"is_example": True} if _EXAMPLE_PATH.search(path) else {}
