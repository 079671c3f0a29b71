"""One object of a JSON Lines file as a record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from langchain_context_engine.ingest.record import Record, clean_metadata, content_id
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.freeze import clean_text

TEXT_FIELDS = ("text", "content", "page_content", "document")
_ID_FIELDS = ("id", "id_")
# Where libraries that dump their documents put what they know of one.
_METADATA_FIELDS = ("metadata", "meta")
_DEEPEST = 100
_DOCUMENT_FIELDS = frozenset({"type", "id"})
_VECTOR_FIELDS = frozenset({"embedding", "embeddings", "vector"})
_NAMES = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "a boolean"}


def read_record(
    row: Mapping[str, Any],
    mapping: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Record | None:
    """Return an object as a record, or None where it has no text.

    What holds an object named `metadata` beside its text, as a dumped document does, gives that object's
    fields: they become metadata, not one JSON text. Vectors are left out.

    Args:
        row: The object.
        mapping: Target → field, as `JsonLines` takes it.
        metadata: More for the record.

    Example:
        >>> read_record({"page_content": "hello", "metadata": {"kind": "note"}}).metadata
        {'kind': 'note'}
    """
    mapping = mapping or {}
    row = unwrapped(row)
    text, text_field = _find(row, "text", TEXT_FIELDS, mapping)
    given_id, id_field = _find(row, "id", _ID_FIELDS, mapping)
    if text_field is None or not (text is None or isinstance(text, str)):
        return None
    consumed = {text_field, id_field, *mapping.values()}
    fields = {
        name: value for name, value in row.items() if name not in consumed and not _is_vector(name, value)
    }
    fields = _with_inner_fields(fields, mapping, is_document="page_content" in row)
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
        # Lines that were taken out of a list end in its comma.
        row = json.loads(line.rstrip().removesuffix(","))
    except RecursionError:
        return None, "nested too deep"
    except json.JSONDecodeError as error:
        return None, f"no JSON: {error.msg}, at character {error.colno}"[:120]
    except ValueError as error:  # a number too long to read; its message goes on with advice
        return None, f"no JSON: {str(error).partition(';')[0]}"[:120]
    if line.count("[") + line.count("{") > _DEEPEST and _is_too_deep(row):
        return None, "nested too deep"
    if isinstance(row, dict):
        return row, ""
    return None, f"no object but {_NAMES.get(type(row), 'null')}"


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


def unwrapped(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a LangChain Document's own fields where an object is one as serialised; any other as it is."""
    inside = row.get("kwargs")
    return inside if isinstance(inside, dict) and "page_content" in inside else row


def _with_inner_fields(
    fields: dict[str, Any], mapping: Mapping[str, str], *, is_document: bool
) -> dict[str, Any]:
    """Return fields with those of an object named `metadata` in its place; of two of one name the inner."""
    fields = {n: _object_in(value) if n in _METADATA_FIELDS else value for n, value in fields.items()}
    holder = next((name for name in _METADATA_FIELDS if isinstance(fields.get(name), dict)), None)
    if holder is None and not (is_document and fields.get("metadata") is None):
        return fields
    own = _DOCUMENT_FIELDS if is_document else frozenset()
    outer = {n: v for n, v in fields.items() if n not in own and n != (holder or "metadata")}
    # Named in the mapping, a field of theirs has another name.
    renamed = {source.removeprefix(f"{holder}.") for source in mapping.values()}
    inner = fields[holder] if holder else {}
    return outer | {name: value for name, value in inner.items() if name not in renamed}


def _object_in(value: Any) -> Any:
    """Return the object that a text holds as JSON, as tables keep metadata; any other value as it is."""
    if not (isinstance(value, str) and value.lstrip().startswith("{")):
        return value
    found, _ = read_row(value)
    return value if found is None else found


def _is_vector(name: str, value: Any) -> bool:
    return name in _VECTOR_FIELDS and isinstance(value, list) and all(type(v) in {int, float} for v in value)


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
