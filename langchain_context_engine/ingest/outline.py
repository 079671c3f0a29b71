"""The outline of a source file, and the units that it is cut into by that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A function, a method or a class, and where it stands.

    Attributes:
        symbol: The qualified name within the file, for example `Engine.build`.
        unit_type: function, method, class (which also stands for struct, trait, interface, …), object,
            macro, target, stage.
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
class Unit:
    """Lines of a file that are one thing.

    Attributes:
        definition: What they define.
        lines: Without the indentation that all of them have.
        numbers: The 1-based number of each line in the file, rising.
    """

    definition: Definition
    lines: tuple[str, ...]
    numbers: tuple[int, ...]

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)


# A stretch outside of definitions that is shorter is joined with others: alone it would say nothing.
_LONG_ENOUGH = 400
_MOST_JOINED = 1000
_LEGAL = re.compile(r"copyright|licen[sc]ed?\b|SPDX-", re.IGNORECASE)
_COMMENT_LINE = re.compile(r"[ \t]*(?://|#|--|;|%|!|'|\"|\\ |dnl\b|rem\b)", re.IGNORECASE)
_COMMENT_BLOCKS = {
    "/*": "*/",
    "(*": "*)",
    "{-": "-}",
    "--[[": "]]",
    "<!--": "-->",
    "#|": "|#",
    "#=": "=#",
    "<#": "#>",
    "{{!": "}}",
    "=begin": "=end",
}
"""How a comment of several lines begins, and how it ends."""
# Lines that only frame others: brackets, conditionals of a preprocessor, a mode.
_FRAME_LINE = re.compile(
    r"[ \t]*+(?:#[ \t]*(?:if|ifdef|ifndef|else|elif|endif|pragma|undef)\b.*|\W{0,20}"
    r"|end|fi|done|['\"]use strict['\"];?|<\?php|#!.*|#[ \t]*(?:frozen_string_literal|-\*-).*"
    r"|require(?:_relative)?[ \t][^\n]*)[ \t]*"
)


def units_of(lines: Sequence[str], outline: Outline, class_size: int = 0) -> list[Unit]:
    """Return the units of a source file in reading order.

    A function or method is its lines; a small class too, its methods with it, and a larger one is its
    lines with each method's signature in place of the method; what is left of the module, imports
    aside, is one unit for each long stretch and one for short ones together.

    Args:
        lines: The file's, cut at line feeds only: parsers count no other marks.
        outline: What is defined in it.
        class_size: Most characters of a small class.
    """
    flat = _flatten(outline.definitions, lines, class_size)
    units = [_definition_unit(definition, lines) for definition in flat]
    units += _module_units(lines, outline)
    units = [unit for unit in units if any(line.strip() for line in unit.lines)]
    return sorted(units, key=lambda unit: (unit.definition.start_line, -unit.definition.end_line))


def _flatten(
    definitions: Iterable[Definition], lines: Sequence[str], class_size: int
) -> Iterator[Definition]:
    waiting = list(definitions)
    while waiting:
        definition = waiting.pop()
        if definition.children and _size(definition, lines) <= class_size:
            # Its members by themselves would say less, and its outline what they say.
            definition = replace(definition, children=())
        yield definition
        waiting.extend(definition.children)


def _size(definition: Definition, lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines[definition.start_line - 1 : definition.end_line])


def _definition_unit(definition: Definition, lines: Sequence[str]) -> Unit:
    if definition.children:
        return _unit(definition, _skeleton(definition, lines))
    numbers = range(definition.start_line, min(definition.end_line, len(lines)) + 1)
    return _unit(definition, [(number, lines[number - 1]) for number in numbers])


def _skeleton(definition: Definition, lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return a class's lines with each child replaced by its signature."""
    kept: list[tuple[int, str]] = []
    line = definition.start_line
    for child in definition.children:
        kept.extend((number, lines[number - 1]) for number in range(line, child.start_line))
        opening = lines[child.start_line - 1]
        indent = opening[: len(opening) - len(opening.lstrip())]
        kept.append((child.start_line, f"{indent}{child.signature or child.symbol} ..."))
        line = max(line, child.end_line + 1)
    last = min(definition.end_line, len(lines))
    kept.extend((number, lines[number - 1]) for number in range(line, last + 1))
    return _without_repeated_blanks(kept)


def _module_units(lines: Sequence[str], outline: Outline) -> list[Unit]:
    """Return what stands outside of definitions, imports, frames and legal notices aside."""
    units: list[Unit] = []
    short: list[tuple[int, str]] = []

    def close() -> None:
        if short:
            units.append(_module_unit(short, outline.docstring if not units else ""))
            short.clear()

    for run in _runs(lines, outline):
        size = sum(len(line) for _, line in run)
        if size >= _LONG_ENOUGH:
            close()
            units.append(_module_unit(run, outline.docstring if not units else ""))
            continue
        if sum(len(line) for _, line in short) + size > _MOST_JOINED:
            close()
        if short:
            short.append((run[0][0] - 1, ""))
        short.extend(run)
    close()
    return units


def _runs(lines: Sequence[str], outline: Outline) -> Iterator[list[tuple[int, str]]]:
    """Yield the stretches of lines that no definition covers, without blank lines around them."""
    covered = set(outline.import_lines)
    for definition in outline.definitions:
        covered.update(range(definition.start_line, definition.end_line + 1))
    run: list[tuple[int, str]] = []
    for number, line in enumerate([*lines, ""], 1):
        if number not in covered and number <= len(lines):
            run.append((number, line))
            continue
        if kept := _worth_keeping(run):
            yield kept
        run = []


def _worth_keeping(run: list[tuple[int, str]]) -> list[tuple[int, str]]:
    run = _without_legal_notice(run)
    if all(_FRAME_LINE.fullmatch(line) for _, line in run):
        return []
    filled = [place for place, (_, line) in enumerate(run) if line.strip()]
    return _without_repeated_blanks(run[filled[0] : filled[-1] + 1])


def _without_legal_notice(run: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Leave out the comments at a file's top that say who holds the rights: each file has the same."""
    if not run or run[0][0] > 3:  # noqa: PLR2004
        return run
    while run:
        end = _comment_end(run)
        if not _LEGAL.search("\n".join(line for _, line in run[:end])):
            break
        run = run[end:]
    return run


def _comment_end(run: list[tuple[int, str]]) -> int:
    """Return how many lines the comment takes with which a stretch begins, blank ones above it too."""
    end = 0
    while end < len(run) and not run[end][1].strip():
        end += 1
    first = run[end][1].lstrip() if end < len(run) else ""
    close = next((closes for opens, closes in _COMMENT_BLOCKS.items() if first.startswith(opens)), None)
    if close is not None:
        while end < len(run) and close not in run[end][1]:
            end += 1
        return end + 1
    while end < len(run) and run[end][1].strip() and _COMMENT_LINE.match(run[end][1]):
        end += 1
    return end


def _module_unit(run: list[tuple[int, str]], docstring: str) -> Unit:
    module = Definition(
        symbol="", unit_type="module", start_line=run[0][0], end_line=run[-1][0], docstring=docstring
    )
    return _unit(module, run)


def _unit(definition: Definition, numbered: list[tuple[int, str]]) -> Unit:
    common = _common_indent([line for _, line in numbered])
    return Unit(
        definition=definition,
        lines=tuple(line[common:] if line.strip() else "" for _, line in numbered),
        numbers=tuple(number for number, _ in numbered),
    )


def _common_indent(lines: Sequence[str]) -> int:
    """Return how many characters of indentation all lines with text have alike."""
    filled = [line for line in lines if line.strip()]
    if not filled:
        return 0
    first, last = min(filled), max(filled)
    indent = len(first) - len(first.lstrip(" \t"))
    return next((n for n in range(indent) if first[n] != last[n : n + 1]), indent)


def _without_repeated_blanks(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return [pair for n, pair in enumerate(lines) if pair[1].strip() or (n and lines[n - 1][1].strip())]
