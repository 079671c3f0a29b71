"""JSON Lines into records, with a mapping of fields; and dumps of documents in JSON among other files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.ingest.readers.decoding import encoding_of_lines
from langchain_context_engine.ingest.record import Record, clean_metadata, content_id
from langchain_context_engine.ingest.report import Skipped
from langchain_context_engine.ingest.sections import Document, Parts, Section
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.freeze import clean_text

_DUMPED = ("page_content", "pageContent")
"""The text of a Document that LangChain dumped, in Python or JavaScript."""
_TEXT_FIELDS = ("text", "content", *_DUMPED, "document")
_ID_FIELDS = ("id", "id_")
_METADATA_FIELDS = ("metadata", "meta")
_VECTOR_FIELDS = frozenset({"embedding", "embeddings", "vector"})
_NAMES = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "a boolean"}
_SPACE = " \t\r\n"
"""JSON's own; a line of other characters that nobody sees is damage, and counted (RFC 8259, section 2)."""
# What a file itself says of its passages; a row's own field of such a name gets a mark before it.
_OWN = frozenset({"path", "document", "start", "end", "place", "headings", "file_hash", "file_records"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLines:
    """A JSON Lines file as records, one object a line.

    Attributes:
        path: The file.
        mapping: Target → field of the object. Targets are `text`, `id` and names of metadata; a
            field may be a dotted path into nested objects. Fields that no target names keep their
            own names. By default the text is `text`, `content`, `page_content`, `pageContent` or
            `document`, the id is `id`, and a line without one gets an id from its content.
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

    def survey(self) -> tuple[dict[str, int], list[Skipped]]:
        """Return id → the last line that carries it, and what is left out; a file of no texts is refused."""
        last_lines: dict[str, int] = {}
        skipped: list[Skipped] = []

        def leave_out(number: int, reason: str, detail: str = "") -> None:
            skipped.append(Skipped(where=f"{self.path.name}:{number}", reason=reason, detail=detail))

        wanted = self.mapping.get("text") or " or ".join(_TEXT_FIELDS)
        example: Mapping[str, Any] | None = None
        for number, row, record, problem in self._rows():
            example = example or row
            if record is None:
                leave_out(number, "invalid", problem or f"no text in {wanted}")
            elif not record.text.strip():
                leave_out(number, "empty")
            else:
                if earlier := last_lines.get(record.id):
                    leave_out(earlier, "duplicate", f"line {number} has the same id {record.id!r:.80}")
                last_lines[record.id] = number
        if last_lines or all(entry.reason == "empty" for entry in skipped):
            return last_lines, skipped
        fields = "no line is an object" if example is None else f"the first object has {', '.join(example)}"
        raise ConfigError(f"{self.path}: no line has a text in {wanted}; {fields}; give a mapping")

    def records(self, last_lines: Mapping[str, int]) -> Iterator[Record]:
        """Yield the records in the file's order; of lines with one id only the last."""
        for number, _, record, _ in self._rows():
            if record is not None and last_lines.get(record.id) == number:
                yield record

    def _rows(self) -> Iterator[tuple[int, Mapping[str, Any] | None, Record | None, str]]:
        """Yield each line's number, its object and its record, or why it is none."""
        with self.path.open(encoding=encoding_of_lines(self.path), errors="replace", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if line.strip(_SPACE):
                    yield number, *_read_line(line, self.mapping, self.metadata)


def _read_line(
    line: str, mapping: Mapping[str, str] | None = None, metadata: Mapping[str, Any] | None = None
) -> tuple[Mapping[str, Any] | None, Record | None, str]:
    """Return a line's object and its record, None where it is none, and why."""
    try:
        # Lines that were taken out of a list end in its comma.
        row = json.loads(line.rstrip().removesuffix(","))
        if isinstance(row, dict):
            return row, read_record(row, mapping, metadata), ""
        problem = f"no object but {_NAMES.get(type(row), 'null')}"
    except RecursionError:
        problem = "nested too deep"
    except json.JSONDecodeError as error:
        problem = f"no JSON: {error.msg}, at character {error.colno}"
    except ValueError as error:  # a number too long to read; its message goes on with advice
        problem = f"no JSON: {str(error).partition(';')[0]}"
    return None, None, problem[:120]


def read_record(
    row: Mapping[str, Any],
    mapping: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Record | None:
    """Return an object as a record, or None where it has no text.

    What holds an object named `metadata` beside its text, as a dumped document does, gives that object's
    fields. Vectors are left out.

    Args:
        row: The object.
        mapping: Target → field, as `JsonLines` takes it.
        metadata: More for the record.

    Example:
        >>> read_record({"page_content": "hello", "metadata": {"kind": "note"}}).metadata
        {'kind': 'note'}
    """
    mapping, row = mapping or {}, _unwrapped(row)
    text, text_field = _find(row, "text", _TEXT_FIELDS, mapping)
    given_id, id_field = _find(row, "id", _ID_FIELDS, mapping)
    if text_field is None or not (text is None or isinstance(text, str)):
        return None
    consumed = {text_field, id_field, *mapping.values()}
    fields = {n: v for n, v in row.items() if n not in consumed and not _is_vector(n, v)}
    objects = {name: _object_in(fields.get(name)) for name in _METADATA_FIELDS}
    holder = next((name for name, held in objects.items() if held is not None), "")
    if holder:
        inner = objects[holder] or {}
        own = {"type", "id"} if _is_dumped(row) else set()
        # Named in the mapping, a field of theirs has another name.
        renamed = {source.removeprefix(f"{holder}.") for source in mapping.values()}
        fields = {n: v for n, v in fields.items() if n not in {holder, *own}}
        fields |= {name: value for name, value in inner.items() if name not in renamed}
    fields |= {target: _at(row, source) for target, source in mapping.items() if target not in {"text", "id"}}
    if instant := read_instant(fields.get("created_at")):  # in seconds every store can compare it
        seconds = instant.timestamp()
        fields["created_at"] = int(seconds) if seconds.is_integer() else seconds
    has_id = isinstance(given_id, (str, int)) and not isinstance(given_id, bool) and given_id != ""
    own_id = "" if has_id else content_id(json.dumps(row, ensure_ascii=False, sort_keys=True))
    return Record(
        id=clean_text(str(given_id)) if has_id else own_id,
        text=clean_text(text or ""),
        metadata=clean_metadata({**fields, **(metadata or {})}),
    )


def _unwrapped(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a LangChain Document's own fields where an object is one as serialised; any other as it is."""
    inside = row.get("kwargs")
    return inside if isinstance(inside, dict) and _is_dumped(inside) else row


def _is_dumped(row: Mapping[str, Any]) -> bool:
    return any(name in row for name in _DUMPED)


def _find(
    row: Mapping[str, Any], target: str, names: tuple[str, ...], mapping: Mapping[str, str]
) -> tuple[Any, str | None]:
    """Return the value of a target and the field that holds it; (None, None) where there is none."""
    found = ((_at(row, name), name) for name in ((mapping[target],) if target in mapping else names))
    return next(((value, name) for value, name in found if value is not None or name in row), (None, None))


def _object_in(value: Any) -> Mapping[str, Any] | None:
    """Return an object, or the one that a text holds as JSON, as tables keep metadata."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def _is_vector(name: str, value: Any) -> bool:
    return name in _VECTOR_FIELDS and isinstance(value, list) and all(type(v) in {int, float} for v in value)


def _at(row: Mapping[str, Any], name: str) -> Any:
    """Return a field, by its own name or else as a dotted path; None where there is none."""
    value: Any = row
    for step in [name] if name in row else name.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def read_rows(path: str, text: str, chunk_size: int) -> Document:
    """Return the objects of a JSON Lines file: their texts with their other fields as metadata.

    Rows without a text are kept as written, a few at a time.
    """
    parts = Parts()
    data: list[tuple[int, str]] = []

    def close() -> None:
        if data:
            first, last = data[0][0], data[-1][0]
            label = f"line {first}" if first == last else f"lines {first}-{last}"
            parts.add("\n".join(line for _, line in data), end="\n\n", part=label, kind="table")
            data.clear()

    for number, line in enumerate(text.split("\n"), 1):
        row, record, problem = _read_line(line) if line.strip(_SPACE) else (None, None, "")
        if problem:
            parts.leave_out(f"{path}:{number}", "invalid", problem)
        elif record is not None and record.text.strip():
            close()
            _add(parts, f"line {number}", record)
        elif row is not None:
            if sum(len(each) for _, each in data) + len(line) > chunk_size:
                close()
            data.append((number, line))
    close()
    return parts.document()


def read_settings(path: str, text: str, chunk_size: int) -> Document:
    """Return settings as one section, cut where least is open; of a dump of documents in JSON each one."""
    del chunk_size
    documents = read_documents(path, text) if path.lower().endswith(".json") else None
    return documents or Document(text=text, sections=(Section(start=0, end=len(text), kind="settings"),))


def read_documents(path: str, text: str) -> Document | None:
    """Return the documents of a JSON file, each a passage with its metadata; None where it holds none.

    Read are a list of dumped documents, one that is alone below a name, and a single one; and a list of
    objects whose texts make up most of the file: other JSON is settings.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict) and len(data) == 1:
        (data,) = data.values()
    items = data if isinstance(data, list) else [data]
    is_dump = sum(isinstance(item, dict) and _is_dumped(_unwrapped(item)) for item in items)
    if not (isinstance(data, list) or is_dump):
        return None
    records = [read_record(item) if isinstance(item, dict) else None for item in items]
    told = sum(len(record.text) for record in records if record is not None)
    if not (is_dump * 2 > len(items) or (items and 2 * told >= len(text) and all(records))):
        return None
    parts = Parts()
    for number, record in enumerate(records, 1):
        if record is not None and record.text.strip():
            _add(parts, f"item {number}", record)
        else:
            reason, detail = ("empty", "") if record else ("invalid", "no object with a text")
            parts.leave_out(f"{path}, item {number}", reason, detail)
    return parts.document()


def _add(parts: Parts, label: str, record: Record) -> None:
    said = {f"row_{name}" if name in _OWN else name: value for name, value in record.metadata.items()}
    given = said.get("kind")
    kind = given if isinstance(given, str) and given else "doc"
    parts.add(record.text, end="\n\n", part=label, kind=kind, metadata=said)
