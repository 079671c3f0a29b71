"""Source code: a record for each function, method and class, and for what is left of the module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from textwrap import dedent
from typing import Any

from langchain_context_engine.ingest.outline import Definition, Outline
from langchain_context_engine.ingest.record import Record, clean_metadata, code_place, path_marks, unique_ids
from langchain_context_engine.ingest.split import Splitter

_LONGEST_SIGNATURE, _LONGEST_DOCSTRING = 300, 600
_TEST_SYMBOL = re.compile(r"(?:^|\.)(?:test_\w+|tests?)(?:\.|$)")
# A stretch outside of definitions that is shorter is joined with others: alone it would say nothing.
_LONG_ENOUGH, _MOST_JOINED = 400, 1000
_TOP = 3
_LEGAL = re.compile(r"copyright|licen[sc]ed?\b|SPDX-", re.IGNORECASE)
# A comment of several lines, or some of one line each, with the empty lines above.
_COMMENT = re.compile(
    r"\s*+(?:/\*.*?\*/|\(\*.*?\*\)|\{-.*?-\}|--\[\[.*?\]\]|<!--.*?-->|#\|.*?\|#|#=.*?=#|<#.*?#>|\{\{!.*?\}\}"
    r"|=begin.*?=end|(?:[ \t]*+(?://|#|--|;|%|!|'|\"|\\ |dnl\b|rem\b)[^\n]*(?:\n|\Z))+)",
    re.DOTALL | re.IGNORECASE,
)
# Lines that only frame others: brackets, conditionals of a preprocessor, a mode.
_FRAME_LINE = re.compile(
    r"[ \t]*+(?:#[ \t]*(?:if|ifdef|ifndef|else|elif|endif|pragma|undef|nullable|(?:end)?region)\b.*|\W{0,20}"
    r"|end|fi|done|['\"]use \w+['\"];?|<\?php|#!.*"
    r"|#[ \t]*(?:frozen_string_literal|-\*-|(?:en)?coding[:=]|vim?:).*)[ \t]*"
)

_Numbered = list[tuple[int, str]]
"""Lines of a file, each with its 1-based number."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """Lines of a file that are one thing."""

    definition: Definition
    lines: _Numbered
    is_outline: bool = False


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

    A function or method is its own source, and so is a small class; a larger one is an outline, its source
    without its methods' bodies; what is left of the module, imports aside, are units more. A unit longer
    than a chunk becomes several records with one symbol and a `part` number.
    """
    # Cut at line feeds only: parsers count no other marks.
    lines = text.split("\n")
    offsets = list(accumulate((len(line) + 1 for line in lines), initial=0))
    pieces = []
    for unit in _units(lines, outline, min(splitter.class_size, splitter.chunk_size)):
        whole = dedent("\n".join(line for _, line in unit.lines))
        spans = splitter(whole, is_code=True)
        pieces += [(unit, whole, n if len(spans) > 1 else None, *span) for n, span in enumerate(spans, 1)]
    ids = unique_ids(
        (path, unit.definition.symbol, unit.definition.signature, whole[start:end])
        for unit, whole, _, start, end in pieces
    )
    first_ids: dict[str, str] = {}
    for record_id, (unit, *_) in zip(ids, pieces, strict=True):
        first_ids.setdefault(unit.definition.symbol, record_id)
    records = []
    for record_id, (unit, whole, part, start, end) in zip(ids, pieces, strict=True):
        definition = unit.definition
        first = unit.lines[whole.count("\n", 0, start)][0]
        last = unit.lines[whole.count("\n", 0, end)][0]
        if part is None:
            last = max(last, min(definition.end_line, len(lines)))
        shown = unit.lines[whole.count("\n", 0, start) : whole.count("\n", 0, end) + 1]
        place = (
            f"{path}:{_stretches(shown, lines)}"
            if definition.unit_type == "module"
            else code_place(path, first, last, definition.symbol)
        )
        described = {
            **(metadata or {}),
            "kind": "code",
            "unit_type": definition.unit_type,
            "path": path,
            "language": language,
            "title": definition.symbol or path,
            "symbol": definition.symbol or None,
            "signature": definition.signature[:_LONGEST_SIGNATURE] or None,
            "docstring": definition.docstring[:_LONGEST_DOCSTRING] or None,
            "document": path,
            **_marks(path, definition),
            "place": f"{place} (outline)" if unit.is_outline else place,
            "start": offsets[first - 1],
            "end": offsets[last] - 1,
            "start_line": first,
            "end_line": last,
            "part": part,
            "links": _links(definition, part, first_ids),
        }
        signature = definition.signature if part is not None and part > 1 else ""
        lead = "\n".join(filter(None, (path, definition.symbol, signature)))
        records.append(
            Record(id=record_id, text=whole[start:end], lead=lead, metadata=clean_metadata(described))
        )
    return sorted(records, key=lambda record: record.metadata["start"])


def _stretches(shown: _Numbered, lines: Sequence[str]) -> str:
    """Return which lines are shown, as `1-3,199`; empty ones part nothing."""
    found: list[list[int]] = []
    for number, line in shown:
        if line.strip() and found and not any(each.strip() for each in lines[found[-1][1] : number - 1]):
            found[-1][1] = number
        elif line.strip():
            found.append([number, number])
    return ",".join(f"{a}-{b}" if b > a else str(a) for a, b in found)


def _marks(path: str, definition: Definition) -> dict[str, bool]:
    """Return what tells tests and examples from what they try and show; nothing where neither."""
    is_test = definition.unit_type == "test" or _TEST_SYMBOL.search(definition.symbol)
    return {"is_test": True} if is_test else path_marks(path)


def _links(definition: Definition, part: int | None, first_ids: Mapping[str, str]) -> list[str]:
    """A later part links to the first, a method to its class."""
    if part is not None and part > 1:
        return [first_ids[definition.symbol]]
    owner = definition.symbol.rpartition(".")[0]
    return [first_ids[owner]] if definition.unit_type == "method" and owner in first_ids else []


def _units(lines: Sequence[str], outline: Outline, class_size: int) -> list[_Unit]:
    """Return the units of a source file in reading order."""
    units = [*_module_units(lines, outline)]
    waiting = list(outline.definitions)
    while waiting:
        definition = waiting.pop()
        numbered = [(n, lines[n - 1]) for n in range(definition.start_line, definition.end_line + 1)]
        if definition.children and sum(len(line) + 1 for _, line in numbered) <= class_size:
            # Its members by themselves would say less, and its outline what they say.
            definition = replace(definition, children=())
        waiting.extend(definition.children)
        is_outline = bool(definition.children)
        shown = _outlined(definition, lines) if is_outline else numbered
        units.append(_Unit(definition, shown, is_outline))
    units = [unit for unit in units if any(line.strip() for _, line in unit.lines)]
    return sorted(units, key=lambda unit: (unit.definition.start_line, -unit.definition.end_line))


def _outlined(definition: Definition, lines: Sequence[str]) -> _Numbered:
    """Return a class's lines, of each thing in it those of its signature up to the bracket of its body."""
    kept = {n: lines[n - 1] for n in range(definition.start_line, definition.end_line + 1)}
    for child in definition.children:
        for n in range(child.start_line, child.end_line + 1):
            if n not in child.header:
                kept.pop(n, None)
        opening = child.header[-1]
        kept[opening] = kept[opening].rstrip().removesuffix("{").rstrip()
    return _without_repeated_blanks(list(kept.items()))


def _module_units(lines: Sequence[str], outline: Outline) -> Iterator[_Unit]:
    """Yield what stands outside of definitions, imports, frames and legal notices aside.

    Each long stretch is a unit, and short ones together.
    """
    units: list[_Numbered] = []
    is_open = False
    for run in _runs(lines, outline):
        size = sum(len(line) for _, line in run)
        is_short = size < _LONG_ENOUGH
        if is_open and is_short and size + sum(len(line) for _, line in units[-1]) <= _MOST_JOINED:
            units[-1] += [(run[0][0] - 1, ""), *run]
        else:
            units.append(run)
        is_open = is_short
    for number, unit in enumerate(units):
        said = "" if number else outline.docstring
        first, last = unit[0][0], unit[-1][0]
        module = Definition(symbol="", unit_type="module", start_line=first, end_line=last, docstring=said)
        yield _Unit(module, unit)


def _runs(lines: Sequence[str], outline: Outline) -> Iterator[_Numbered]:
    """Yield the stretches of lines that no definition covers, without blank lines around them."""
    covered = set(outline.import_lines)
    for definition in outline.definitions:
        covered.update(range(definition.start_line, definition.end_line + 1))
    run: _Numbered = []
    for number, line in enumerate([*lines, ""], 1):
        if number not in covered and number <= len(lines):
            run.append((number, line))
            continue
        run = _without_legal_notice(run)
        if not all(_FRAME_LINE.fullmatch(each) for _, each in run):
            filled = [place for place, (_, each) in enumerate(run) if each.strip()]
            yield _without_repeated_blanks(run[filled[0] : filled[-1] + 1])
        run = []


def _without_legal_notice(run: _Numbered) -> _Numbered:
    """Leave out the comments at a file's top that say who holds the rights: each file has the same."""
    if not run or run[0][0] > _TOP:
        return run
    text = "\n".join(line for _, line in run)
    end = 0
    while (found := _COMMENT.match(text, end)) and _LEGAL.search(found[0]):
        end = found.end()
    return run[text.count("\n", 0, end) + (text[end - 1 : end] not in {"", "\n"}) :]


def _without_repeated_blanks(lines: _Numbered) -> _Numbered:
    return [pair for n, pair in enumerate(lines) if pair[1].strip() or (n and lines[n - 1][1].strip())]
