"""One object of a JSON Lines file as a record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from langchain_context_engine.ingest.record import Record, clean_metadata, content_id
from langchain_context_engine.values.clock import read_instant
from langchain_context_engine.values.freeze import clean_text

TEXT_FIELDS = ("text", "content", "page_content", "document")
_ID_FIELDS = ("id",)
_DEEPEST = 100
_DOCUMENT_FIELDS = frozenset({"metadata", "type", "id"})


def read_record(
    row: Mapping[str, Any],
    mapping: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Record | None:
    """Return an object as a record, or None where it has no text.

    A dumped LangChain Document gives its own metadata: they become metadata, not one JSON text.

    Args:
        row: The object.
        mapping: Target → field, as `JsonLines` takes it.
        metadata: More for the record.

    Example:
        >>> read_record({"page_content": "hello", "metadata": {"kind": "note"}}).metadata
        {'kind': 'note'}
    """
    mapping = mapping or {}
    row, inner = _unwrapped(row)
    text, text_field = _find(row, "text", TEXT_FIELDS, mapping)
    given_id, id_field = _find(row, "id", _ID_FIELDS, mapping)
    if text_field is None or not (text is None or isinstance(text, str)):
        return None
    consumed = {text_field, id_field, *mapping.values()}
    fields = {name: value for name, value in row.items() if name not in consumed}
    if inner is not None:
        fields = {name: value for name, value in fields.items() if name not in _DOCUMENT_FIELDS}
        # Named in the mapping, a field of theirs has another name.
        renamed = {source.removeprefix("metadata.") for source in mapping.values()}
        fields |= {name: value for name, value in inner.items() if name not in renamed}
    for target, source in mapping.items():
        if target not in {"text", "id"}:
            fields[target] = _at(row, source)
    fields["created_at"] = _epoch(fields.get("created_at"))
    has_id = isinstance(given_id, (str, int)) and not isinstance(given_id, bool) and given_id != ""
    return Record(
        id=clean_text(str(given_id)) if has_id else _row_id(row),
        text=clean_text(text or ""),
        metadata=clean_metadata({**fields, **(metadata or {})}),
    )


def _find(
    row: Mapping[str, Any], target: str, names: tuple[str, ...], mapping: Mapping[str, str]
) -> tuple[Any, str | None]:
    """Return the value of a target and the field that holds it; (None, None) where there is none."""
    for name in (mapping[target],) if target in mapping else names:
        value = _at(row, name)
        if value is not None or name in row:
            return value, name
    return None, None


def read_row(line: str) -> tuple[dict[str, Any] | None, str]:
    """Return a line's object, or None and why it is none.

    Example:
        >>> read_row('{"a": 1}'), read_row("[1]")
        (({'a': 1}, ''), (None, 'no object but a list'))
    """
    try:
        row = json.loads(line)
    except RecursionError:
        return None, "nested too deep"
    except ValueError as error:  # its message repeats the position, and for long numbers the advice
        return None, f"no JSON: {str(error).partition(';')[0]}"[:120]
    if line.count("[") + line.count("{") > _DEEPEST and _is_too_deep(row):
        return None, "nested too deep"
    if isinstance(row, dict):
        return row, ""
    return None, f"no object but a {type(row).__name__}"


def _is_too_deep(value: Any) -> bool:
    """Return whether a value is nested deeper than is read, without going as deep as it does."""
    level = [value]
    for _ in range(_DEEPEST):
        inner = (
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, (dict, list))
        )
        level = [item for items in inner for item in items]
        if not level:
            return False
    return True


def _unwrapped(row: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    """Return a dumped Document's own fields and its metadata; any other object as it is, and None."""
    inside = row.get("kwargs")
    if "lc" in row and isinstance(inside, dict) and "page_content" in inside:
        row = inside
    inner = row.get("metadata")
    is_document = "page_content" in row and (inner is None or isinstance(inner, dict))
    return row, (inner or {}) if is_document else None


def _at(row: Mapping[str, Any], name: str) -> Any:
    """Return a field, by its own name or else as a dotted path; None where there is none."""
    if name in row:
        return row[name]
    value: Any = row
    for step in name.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return value


def _epoch(value: Any) -> Any:
    """Return a date as epoch seconds, which every store can compare; what is no date stays."""
    instant = read_instant(value)
    if instant is None:
        return value
    seconds = instant.timestamp()
    return int(seconds) if seconds.is_integer() else seconds


def _row_id(row: Mapping[str, Any]) -> str:
    return content_id(json.dumps(row, ensure_ascii=False, sort_keys=True))
