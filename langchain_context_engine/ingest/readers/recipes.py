"""Outlines of files whose definitions begin lines: Dockerfiles, Makefiles, jq, awk, CMake."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from langchain_context_engine.ingest.outline import Definition, Outline


def _stages(text: str) -> Outline:
    """A Dockerfile's build stages; what stands before the first is left over."""
    return _cut_at(
        text, re.compile(r"FROM[ \t]+(\S{1,200})(?:[ \t]+AS[ \t]+(\S{1,100}))?", re.IGNORECASE), "stage"
    )


def _targets(text: str) -> Outline:
    """A Makefile's targets with their recipes."""
    return _cut_at(
        text,
        re.compile(r"(?!\.PHONY)([\w.%/$()-][\w.%/$() -]{0,120}?)[ \t]*::?(?!=)"),
        "target",
        is_indented=True,
    )


def _jq_functions(text: str) -> Outline:
    return _cut_at(text, re.compile(r"def[ \t]+(\w{1,100}(?:::\w{1,100})?)"), "function")


def _awk_functions(text: str) -> Outline:
    return _cut_at(text, re.compile(r"func(?:tion)?[ \t]+(\w{1,100})"), "function")


def _cmake_functions(text: str) -> Outline:
    return _cut_at(
        text,
        re.compile(r"(?:function|macro)[ \t]*\([ \t]*(\w{1,100})", re.IGNORECASE),
        "function",
        end=re.compile(r"end(?:function|macro)[ \t]*\(", re.IGNORECASE),
    )


RECIPE_OUTLINES: Mapping[str, Callable[[str], Outline]] = {
    "dockerfile": _stages,
    "makefile": _targets,
    "jq": _jq_functions,
    "awk": _awk_functions,
    "cmake": _cmake_functions,
}


def _cut_at(
    text: str,
    opening: re.Pattern[str],
    unit_type: str,
    *,
    is_indented: bool = False,
    end: re.Pattern[str] | None = None,
) -> Outline:
    """Return a definition for each line that an expression opens, up to where the next thing begins.

    Args:
        text: The source.
        opening: Its last group that is set is the name.
        unit_type: Of the definitions.
        is_indented: A definition ends before the first line that is not indented.
        end: The line that ends a definition; by default it ends before the next one's comments.
    """
    lines = text.split("\n")
    starts = [(n, found) for n, line in enumerate(lines) if (found := opening.match(line))]
    definitions = []
    followings = [*(number for number, _ in starts[1:]), len(lines)]
    for (number, found), following in zip(starts, followings, strict=False):
        first, last = _with_comments(lines, number), _with_comments(lines, following) - 1
        if is_indented:
            last = _while_indented(lines, number, last)
        if end is not None:
            last = next((n for n in range(number, last + 1) if end.match(lines[n])), last)
        while last > number and not lines[last].strip():
            last -= 1
        names = [name for name in found.groups() if name]
        definitions.append(
            Definition(
                symbol=" ".join(names[-1].split()),
                unit_type=unit_type,
                start_line=first + 1,
                end_line=last + 1,
                signature=" ".join(lines[number].split())[:300],
            )
        )
    return Outline(definitions=tuple(definitions))


def _with_comments(lines: list[str], number: int) -> int:
    """Return where the comment right above a line begins, or the line."""
    while (
        number
        and number <= len(lines)
        and lines[number - 1].startswith("#")
        and lines[number - 1][:2] != "#!"
    ):
        number -= 1
    return number


def _while_indented(lines: list[str], number: int, last: int) -> int:
    end = number
    while end < last and (
        lines[end].endswith("\\") or not lines[end + 1].strip() or lines[end + 1][:1] in " \t#"
    ):
        end += 1
    return end
