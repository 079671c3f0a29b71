"""JSON Lines into records, with a mapping of fields."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_context_engine.ingest.record import Record, clean_metadata, content_id
from langchain_context_engine.values.clock import read_instant
from langchain_context_engine.values.errors import ConfigError
from langchain_context_engine.values.freeze import clean_text

_TEXT_FIELDS = ("text", "content", "page_content", "document")
_ID_FIELDS = ("id",)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLines:
    """A JSON Lines file as records, one object a line.

    Attributes:
        path: The file, UTF-8.
        mapping: Target → field of the object. Targets are `text`, `id` and names of metadata; a
            field may be a dotted path into nested objects. Fields that no target names keep their
            own names. By default the text is `text`, `content`, `page_content` or `document`, the
            id is `id`, and a line without one gets an id from its content.
        metadata: More for every record.

    Raises:
        ConfigError: The file does not exist, or the mapping is not of strings.
    """

    path: Path
    mapping: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.path.is_file():
            raise ConfigError(f"no file {self.path}")
        for target, source in self.mapping.items():
            if not (isinstance(target, str) and isinstance(source, str) and target and source):
                raise ConfigError(f"mapping takes target → field as strings, got {target!r}: {source!r}")

    def last_lines(self) -> tuple[dict[str, int], Counter[str]]:
        """Return id → the last line that carries it, and how many lines are left out, by reason.

        Raises:
            ConfigError: Lines there are, but none of them is an object with a text.
        """
        lines: dict[str, int] = {}
        skipped: Counter[str] = Counter()
        example: Mapping[str, Any] | None = None
        for number, row in self._rows():
            record = None if row is None else self._record(row)
            example = example or row
            if record is None:
                skipped["invalid"] += 1
            elif not record.text.strip():
                skipped["empty"] += 1
            else:
                skipped["duplicate"] += record.id in lines
                lines[record.id] = number
        if not lines and skipped["invalid"]:
            fields = (
                f"the first object has {', '.join(example) or 'no fields'}"
                if example
                else "none is an object"
            )
            wanted = self.mapping.get("text") or " or ".join(_TEXT_FIELDS)
            raise ConfigError(f"{self.path}: no line has a text in {wanted}; {fields}; give a mapping")
        return lines, +skipped

    def records(self, last_lines: Mapping[str, int]) -> Iterator[Record]:
        """Yield the records in the file's order; of lines with one id only the last."""
        for number, row in self._rows():
            record = None if row is None else self._record(row)
            if record is not None and last_lines.get(record.id) == number:
                yield record

    def _rows(self) -> Iterator[tuple[int, dict[str, Any] | None]]:
        with self.path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    row = None
                yield number, row if isinstance(row, dict) else None

    def _record(self, row: Mapping[str, Any]) -> Record | None:
        text, text_field = self._find(row, "text", _TEXT_FIELDS)
        given_id, id_field = self._find(row, "id", _ID_FIELDS)
        if text_field is None or not (text is None or isinstance(text, str)):
            return None
        consumed = {text_field, id_field, *self.mapping.values()}
        fields = {name: value for name, value in row.items() if name not in consumed}
        for target, source in self.mapping.items():
            if target not in {"text", "id"}:
                fields[target] = _at(row, source)
        fields["created_at"] = _epoch(fields.get("created_at"))
        metadata = clean_metadata({**fields, **self.metadata})
        has_id = isinstance(given_id, (str, int)) and not isinstance(given_id, bool) and given_id != ""
        return Record(
            id=clean_text(str(given_id)) if has_id else _row_id(row),
            text=clean_text(text or ""),
            metadata=metadata,
        )

    def _find(self, row: Mapping[str, Any], target: str, names: tuple[str, ...]) -> tuple[Any, str | None]:
        """Return the value of a target and the field that holds it; (None, None) where there is none."""
        for name in (self.mapping[target],) if target in self.mapping else names:
            value = _at(row, name)
            if value is not None or name in row:
                return value, name
        return None, None


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
