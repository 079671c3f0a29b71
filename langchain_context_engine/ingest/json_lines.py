"""JSON Lines into records, with a mapping of fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_context_engine.ingest.json_rows import TEXT_FIELDS, read_record, read_row
from langchain_context_engine.ingest.line_encoding import encoding_of_lines
from langchain_context_engine.ingest.record import Record
from langchain_context_engine.ingest.skipped import Skipped
from langchain_context_engine.models.errors import ConfigError

# Of each reason so many lines are told one by one; all are counted.
_MOST_TOLD = 100
_SPACE = " \t\r\n"
"""JSON's own; a line of other characters that nobody sees is damage, and counted (RFC 8259, section 2)."""


@dataclass(slots=True, kw_only=True)
class Survey:
    """What a first reading of a file found.

    Attributes:
        last_lines: Id → the last line that carries it.
        counts: Reason → how many lines are left out for it.
        skipped: The first 100 of each reason, in order.
    """

    last_lines: dict[str, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)

    def leave_out(self, skipped: Skipped) -> None:
        """Count a line that is left out, and keep the first of its kind."""
        self.counts[skipped.reason] += 1
        if self.counts[skipped.reason] <= _MOST_TOLD:
            self.skipped.append(skipped)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLines:
    """A JSON Lines file as records, one object a line.

    Attributes:
        path: The file.
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

    def survey(self) -> Survey:
        """Return which lines stand, and which are left out and why.

        Raises:
            ConfigError: Lines there are, but none of them is an object with a text.
        """
        survey = Survey()
        example: Mapping[str, Any] | None = None
        for number, row, problem in self._rows():
            record = None if row is None else read_record(row, self.mapping, self.metadata)
            example = example or row
            where = f"{self.path.name}:{number}"
            if record is None:
                survey.leave_out(Skipped(where=where, reason="invalid", detail=problem or self._no_text()))
            elif not record.text.strip():
                survey.leave_out(Skipped(where=where, reason="empty"))
            else:
                if record.id in survey.last_lines:
                    earlier = survey.last_lines[record.id]
                    detail = f"line {number} has the same id {record.id!r:.80}"
                    survey.leave_out(
                        Skipped(where=f"{self.path.name}:{earlier}", reason="duplicate", detail=detail)
                    )
                survey.last_lines[record.id] = number
        if not survey.last_lines and survey.counts["invalid"]:
            if example is None:
                raise ConfigError(
                    f"{self.path}: no line is an object; JSON Lines has one a line, which of an array"
                    f" jq -c '.[]' {self.path.name} makes, of objects over several lines jq -c ."
                )
            fields = f"the first object has {', '.join(example) or 'no fields'}"
            wanted = self.mapping.get("text") or " or ".join(TEXT_FIELDS)
            raise ConfigError(f"{self.path}: no line has a text in {wanted}; {fields}; give a mapping")
        return survey

    def records(self, last_lines: Mapping[str, int]) -> Iterator[Record]:
        """Yield the records in the file's order; of lines with one id only the last."""
        for number, row, _ in self._rows():
            record = None if row is None else read_record(row, self.mapping, self.metadata)
            if record is not None and last_lines.get(record.id) == number:
                yield record

    def _rows(self) -> Iterator[tuple[int, dict[str, Any] | None, str]]:
        encoding = encoding_of_lines(self.path)
        with self.path.open(encoding=encoding, errors="replace", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if line.strip(_SPACE):
                    yield number, *read_row(line)

    def _no_text(self) -> str:
        return f"no text in {self.mapping.get('text') or ' or '.join(TEXT_FIELDS)}"
