"""What a store's flat metadata say: lists and mappings, and where a record stands (`a.py:3-9 · Tea.brew`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeGuard

from langchain_context_engine.errors import ConfigError

LONGEST_PLACE = 120
"""Characters of a place that are shown; of a longer one the middle is left out."""

_SHORT_SHA = 8
_STEP = " › "
_LONGEST_HEADINGS = 1000
# What `freeze` keeps of a value that was no data: its type's name.
_NO_DATA = re.compile(r"<[\w.]+>")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_FILE = re.compile(r"[/\\]|\.\w{1,5}$")


def read_list(value: object) -> tuple[Any, ...]:
    """Return the items of a list, of a JSON list, or of a text split at commas, without the empty ones."""
    if isinstance(value, str):
        read = _read_json(value)
        value = read if isinstance(read, list) else [part.strip() for part in value.split(",")]
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(item for item in value if item is not None and item != "")


def read_mapping(value: object) -> dict[str, Any]:
    """Return a mapping, or the one that a JSON text states; of anything else an empty one."""
    read = _read_json(value) if isinstance(value, str) else value
    return dict(read) if isinstance(read, dict) else {}


def renamed(metadata: Mapping[str, Any], fields: Mapping[str, str]) -> Mapping[str, Any]:
    """Return metadata with what is stored under other keys also under the names that are read.

    Args:
        metadata: What a store gave.
        fields: Name that is read → key it is stored under; a key that is not there changes nothing.
    """
    found = {name: metadata[key] for name, key in fields.items() if key in metadata}
    return {**metadata, **found} if found else metadata


def checked_fields(fields: Any) -> dict[str, str]:
    """Return a map of metadata names; None is an empty one."""
    if fields is None:
        return {}
    if isinstance(fields, Mapping) and all(isinstance(part, str) for pair in fields.items() for part in pair):
        return dict(fields)
    raise ConfigError(f'fields maps what is read to metadata keys, {{"created_at": "when"}}; got {fields!r}')


def read_pairs(option: str, pairs: Iterable[str] | None) -> dict[str, Any]:
    """Return NAME=VALUE texts as a dictionary; a value that is JSON is read as JSON, else as a string."""
    found = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{option} takes NAME=VALUE, got {pair!r}")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value.strip()
    return found


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # a thousand brackets are no list
        return None


def place_from(metadata: Mapping[str, Any], created_at: datetime | None = None) -> str:
    """Return where a record stands, on one line; "" where its metadata say nothing of it.

    The metadata's own `place`, if it is a text that is not blank. Else a path with its lines and symbol,
    or with its headings; else a commit's hash (eight digits), its date and author; else what LangChain's
    loaders say, a file with its page or row. What is longer than `LONGEST_PLACE` is left out in its middle.

    Args:
        metadata: `place`; or `path`, `start_line` and `end_line` (from 1), `symbol`, `headings` (joined, or a
            list); or `sha` and `author`; or `source` with `page` or `row` (from 0, as loaders count), or with
            `Header 1` and so on.
        created_at: The date of a commit.
    """
    given = metadata.get("place")
    if isinstance(given, str) and (place := _line(given)):
        return _clipped(place)
    if path := _line(metadata.get("path")):
        return _in_file(path, metadata)
    return _clipped(_commit(metadata, created_at) or _loaded(metadata))


def has_place(metadata: Mapping[str, Any]) -> bool:
    """Return whether metadata say where a record stands: whether its `place_from` is a text."""
    return any(_line(metadata.get(name)) for name in ("place", "path", "sha")) or _loaded(metadata) != ""


def _loaded(metadata: Mapping[str, Any]) -> str:
    """Return where LangChain's loaders and splitters say that a record is from: a file or an address.

    Within it a page, a row, or the headings that a splitter of Markdown calls `Header 1` and so on.
    """
    if not (source := _line(metadata.get("source"))):
        return ""
    page, row = metadata.get("page"), metadata.get("row")
    within = ""
    if label := _line(metadata.get("page_label")) or (str(page + 1) if _is_count(page) else _line(page)):
        within = f"{_STEP}page {label}"
    elif _is_count(row):
        within = f"{_STEP}row {row + 1}"
    headers = (_line(metadata.get(f"Header {level}")) for level in range(1, 7))
    within += "".join(f"{_STEP}{header}" for header in headers if header)
    return f"{source}{within}" if (within or _FILE.search(source)) else ""


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _commit(metadata: Mapping[str, Any], created_at: datetime | None) -> str:
    sha = _line(metadata.get("sha"))
    day = "" if created_at is None else created_at.date().isoformat()
    return (
        ", ".join(filter(None, (sha[:_SHORT_SHA].strip(), day, _line(metadata.get("author"))))) if sha else ""
    )


def _in_file(path: str, metadata: Mapping[str, Any]) -> str:
    """Return a path with its lines and symbol, or with its headings."""
    between, trail = _lines(metadata), _line(metadata.get("symbol"))
    if trail:
        between += " · "
    elif trail := _headings(metadata.get("headings")):
        between = _STEP
    return _clipped(f"{path}{between}{trail}")


def _lines(metadata: Mapping[str, Any]) -> str:
    first, last = metadata.get("start_line"), metadata.get("end_line")
    if type(first) is not int or first <= 0:
        return ""
    return f":{first}-{last}" if type(last) is int and last > first else f":{first}"


def _headings(value: object) -> str:
    """Return headings joined, of a link in one its text."""
    if not value:
        return ""
    shown = _STEP.join(filter(None, map(_line, value))) if isinstance(value, (list, tuple)) else _line(value)
    return _LINK.sub(r"\1", shown[:_LONGEST_HEADINGS])


def _line(value: object) -> str:
    """Return a text on one line, without what does not print; "" for what is no text."""
    if not isinstance(value, str) or _NO_DATA.fullmatch(value):
        return ""
    if not value.isprintable():
        value = "".join(c if c.isprintable() else " " for c in value)
    return " ".join(value.split())


def _clipped(place: str) -> str:
    """Return a place of at most `LONGEST_PLACE` characters, its middle left out."""
    if len(place) <= LONGEST_PLACE:
        return place
    half = (LONGEST_PLACE - 1) // 2
    return f"{place[:half].rstrip()}…{place[-half:].lstrip()}"
