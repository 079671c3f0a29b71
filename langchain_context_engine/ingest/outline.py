"""From the outline of a source file to its records: one for each function, method, class and the rest."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.ingest.record import Record, clean_metadata, unique_ids
from langchain_context_engine.ingest.split import Splitter

_LONGEST_SIGNATURE = 300
_LONGEST_DOCSTRING = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A function, a method or a class, and where it stands.

    Attributes:
        symbol: The qualified name within the file, for example `Engine.build`.
        unit_type: function, method or class (which also stands for struct, trait, interface, …).
        start_line: 1-based, its decorators and the comment above it included.
        end_line: 1-based, inclusive.
        signature: On one line.
        docstring: Cleaned.
        children: What a class holds; functions keep what they hold to themselves.
    """

    symbol: str
    unit_type: str
    start_line: int
    end_line: int
    signature: str = ""
    docstring: str = ""
    children: tuple[Definition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What a parser found in a file.

    Attributes:
        definitions: Outermost ones, in order.
        import_lines: 1-based numbers of lines that only import.
        docstring: The module's own.
    """

    definitions: tuple[Definition, ...] = ()
    import_lines: frozenset[int] = frozenset()
    docstring: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    definition: Definition
    text: str


def code_records(
    path: str,
    text: str,
    outline: Outline,
    *,
    language: str,
    splitter: Splitter,
    metadata: Mapping[str, Any] | None = None,
) -> list[Record]:
    """Return the records of a source file in reading order.

    A function or method is its own source; a class is its source with each method's signature in
    place of the method; what is left of the module, imports aside, is one unit more. A unit longer
    than a chunk becomes several records with one symbol and a `part` number.
    """
    pieces = []
    for unit in _units(text, outline):
        spans = splitter(unit.text)
        for part, (start, end) in enumerate(spans, 1):
            pieces.append((unit, part if len(spans) > 1 else None, start, end))
    ids = unique_ids(
        (path, unit.definition.symbol, unit.definition.signature, unit.text[start:end])
        for unit, _, start, end in pieces
    )
    first_ids: dict[str, str] = {}
    for (unit, _, _, _), record_id in zip(pieces, ids, strict=True):
        first_ids.setdefault(unit.definition.symbol, record_id)
    return [
        Record(
            id=record_id,
            text=unit.text[start:end],
            lead=_lead(path, unit.definition, part),
            metadata=clean_metadata(
                {
                    **(metadata or {}),
                    **_describe(path, language, unit, start, end),
                    "start": order,
                    "part": part,
                    "links": _links(unit.definition, part, first_ids),
                }
            ),
        )
        for order, (record_id, (unit, part, start, end)) in enumerate(zip(ids, pieces, strict=True))
    ]


def _describe(path: str, language: str, unit: _Unit, start: int, end: int) -> dict[str, Any]:
    definition = unit.definition
    is_source = definition.unit_type in {"function", "method"}
    first_line = definition.start_line + (unit.text.count("\n", 0, start) if is_source else 0)
    last_line = first_line + unit.text.count("\n", start, end) if is_source else definition.end_line
    return {
        "kind": "code",
        "unit_type": definition.unit_type,
        "path": path,
        "language": language,
        "title": definition.symbol or path,
        "symbol": definition.symbol or None,
        "signature": definition.signature[:_LONGEST_SIGNATURE] or None,
        "docstring": definition.docstring[:_LONGEST_DOCSTRING] or None,
        "start_line": first_line,
        "end_line": last_line,
        "document": path,
    }


def _lead(path: str, definition: Definition, part: int | None) -> str:
    signature = definition.signature if part is not None and part > 1 else ""
    return "\n".join(line for line in (path, definition.symbol, signature) if line)


def _links(definition: Definition, part: int | None, first_ids: Mapping[str, str]) -> list[str]:
    """A later part links to the first, a method to its class."""
    if part is not None and part > 1:
        return [first_ids[definition.symbol]]
    owner = definition.symbol.rpartition(".")[0]
    return [first_ids[owner]] if definition.unit_type == "method" and owner in first_ids else []


def _units(text: str, outline: Outline) -> list[_Unit]:
    # Not splitlines(): that also breaks at form feeds and other marks which parsers do not count.
    lines = text.split("\n")
    units = [_definition_unit(definition, lines) for definition in _flatten(outline.definitions)]
    rest = _module_unit(lines, outline)
    units = [unit for unit in [*rest, *units] if unit.text.strip()]
    return sorted(units, key=lambda unit: (unit.definition.start_line, -unit.definition.end_line))


def _flatten(definitions: Iterable[Definition]) -> Iterator[Definition]:
    waiting = list(definitions)
    while waiting:
        definition = waiting.pop()
        yield definition
        waiting.extend(definition.children)


def _definition_unit(definition: Definition, lines: list[str]) -> _Unit:
    kept = lines[definition.start_line - 1 : definition.end_line]
    if definition.children:
        kept = _skeleton(definition, lines)
    return _Unit(definition=definition, text=textwrap.dedent("\n".join(kept)))


def _skeleton(definition: Definition, lines: list[str]) -> list[str]:
    """Return a class's lines with each child replaced by its signature."""
    kept: list[str] = []
    line = definition.start_line
    for child in definition.children:
        kept.extend(lines[line - 1 : child.start_line - 1])
        opening = lines[child.start_line - 1]
        indent = opening[: len(opening) - len(opening.lstrip())]
        kept.append(f"{indent}{child.signature or child.symbol} ...")
        line = max(line, child.end_line + 1)
    kept.extend(lines[line - 1 : definition.end_line])
    return _without_repeated_blanks(kept)


def _module_unit(lines: list[str], outline: Outline) -> list[_Unit]:
    """Return what stands outside of definitions, imports aside, as a unit; [] where that is nothing."""
    covered = set(outline.import_lines)
    for definition in outline.definitions:
        covered.update(range(definition.start_line, definition.end_line + 1))
    numbers = [n for n, line in enumerate(lines, 1) if n not in covered]
    filled = [n for n in numbers if lines[n - 1].strip()]
    if not filled:
        return []
    kept = _without_repeated_blanks([lines[n - 1] for n in numbers if filled[0] <= n <= filled[-1]])
    module = Definition(
        symbol="",
        unit_type="module",
        start_line=filled[0],
        end_line=filled[-1],
        docstring=outline.docstring,
    )
    return [_Unit(definition=module, text="\n".join(kept))]


def _without_repeated_blanks(lines: list[str]) -> list[str]:
    return [line for n, line in enumerate(lines) if line.strip() or (n and lines[n - 1].strip())]
