"""Which programming language a file is in: by its name, its first line, its content where that decides."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

_OBJECTIVE_C = (
    r"^[ \t]*(?:@(?:interface|implementation|protocol|class|import|property|end)\b|#[ \t]*import\b)"
)
_CPP = (
    r"^[ \t]*(?:namespace\s+[\w:]*\s*\{|using\s+(?:namespace|\w+\s*=)|template\s*<"
    r"|(?:enum\s+)?class\s+\w[^;\n(]*[{:\n]|(?:public|private|protected)[ \t]*:)"
    r"|\bstd::\w|\bconstexpr\b|^#[ \t]*include[ \t]*<[a-z_]+>"
)
_PERL = r"^[ \t]*(?:use\s+(?:strict|warnings|\w+::|v?5)|package\s+\w|sub\s+\w|my\s*[$@%(])|^#![^\n]*perl"
_QUOTED_HTML = re.compile(
    r"<!--.*?(?:-->|\Z)|<(pre|code|script|style|textarea)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
# A template makes pages and is none: what a browser would show of it is in pieces.
_TEMPLATE = r"\{%[^%]{0,300}%\}|\{\{[^{}]{0,300}\}\}|<%[^%]{0,300}%>|<\?(?:php\b|=)"
_BY_CONTENT: Mapping[str, Sequence[tuple[str | None, str]]] = {
    ".h": [("objc", _OBJECTIVE_C), ("cpp", _CPP), ("c", "")],
    ".m": [
        ("objc", rf"{_OBJECTIVE_C}|#include"),
        ("wolfram", r"\A\s*(?:\(\*|BeginPackage\[|Needs\[|Get\[|<<)|^[A-Za-z]\w*\[[^\n]{0,200}\] ?:="),
        ("matlab", r"^[ \t]*(?:%|function\b|classdef\b|clear\b|clc\b|end\b)"),
        ("objc", ""),
    ],
    ".pl": [("perl", _PERL), ("prolog", r"^(?::-|\w[^\n%]{0,200}:-|%)"), ("perl", "")],
    ".t": [("perl", _PERL), ("shell", r"^#![^\n]*(?:sh|bash)\b"), (None, "")],
    ".v": [
        ("coq", r"^[ \t]*(?:Require|Theorem|Lemma|Definition|Inductive|Fixpoint)\s"),
        ("v", r"^(?:pub )?fn (?:\([^()\n]{1,80}\) )?\w"),
        ("verilog", r"^[ \t]*(?:(?:end)?module\b|`(?:timescale|include|define)\b|always\b|assign\b)"),
        ("v", ""),
    ],
    # What a compiler notes of a file's dependencies has this suffix too.
    ".d": [("d", r"^[ \t]*(?:(?:public[ \t]+)?import\s+\w[\w.]*\s*[;:=,]|module\s+[\w.]+;)"), (None, "")],
    ".cls": [
        ("tex", r"\\(?:ProvidesClass|NeedsTeXFormat|LoadClass)\b"),
        ("basic", r"\AVERSION "),
        ("apex", ""),
    ],
    ".cl": [("opencl", r"\b(?:__kernel|__global|get_global_id)\b|^kernel void\b"), ("lisp", "")],
    ".fs": [
        ("shader", r"^[ \t]*#version \d|\bgl_(?:FragColor|Position|FragCoord)\b|^void main\s*\("),
        ("fsharp", ""),
    ],
    ".r": [("rebol", r"\A\s*(?i:REBOL)\s*\["), ("r", "")],
    # A translation of Qt and a video have this suffix too.
    ".ts": [(None, r"\A(?:\xef\xbb\xbf)?\s*(?:<\?xml|<!DOCTYPE|<TS )|\AG[^\0]*\0"), ("typescript", "")],
    ".html": [("template", _TEMPLATE), (None, "")],
    ".htm": [("template", _TEMPLATE), (None, "")],
}
"""Suffix that several share → languages and what tells each, the first of which is taken."""

_TO_FILL_IN = frozenset({"in", "dist", "sample", "example", "default", "template"})
_INTERPRETER = re.compile(rb"#![ \t]*(\S{1,200})([^\r\n]{0,300})")
_ANY_OF_SUFFIX = re.compile(r"\*\.\w+")
_VERSION = re.compile(r"(?<![\d.])[\d.]++$")
_COMPLETIONS = (b"#compdef ", b"#autoload\n", b"#autoload ")
"""How a function of zsh begins, whose name is a command's and has no suffix."""
_HEAD = 8192


_TABLES: dict[str, dict[str, str]] = tomllib.loads(
    (files(__package__) / "languages.toml").read_text(encoding="utf-8")
)
_BY_SUFFIX, _BY_NAME, _BY_INTERPRETER = (
    {word: language for language, words in _TABLES[name].items() for word in words.split()}
    for name in ("suffixes", "names", "interpreters")
)


def language_of(path: str, head: bytes = b"") -> str | None:
    """Return the programming language of a file, or None where it is no code.

    Args:
        path: The file's path; its name decides where it can.
        head: How the file begins: decides between languages that share a suffix, and names the
            interpreter of a script without one.

    Example:
        >>> language_of("src/app.tsx"), language_of("notes.md"), language_of("run", b"#!/usr/bin/env python3")
        ('tsx', None, 'python')
    """
    name = PurePosixPath(without_mark(path))
    suffix, plain = name.suffix.lower(), name.name.lower()
    if plain in _BY_NAME:
        return _BY_NAME[plain]
    if plain.startswith(("dockerfile.", "makefile.")) and suffix not in {".md", ".txt", ".rst"}:
        return plain.partition(".")[0]
    if suffix in _BY_CONTENT:
        return _by_content(suffix, head.decode("latin-1"))
    if suffix:
        return _BY_SUFFIX.get(suffix) or _known_to_pygments().get(suffix)
    return "shell" if head.startswith(_COMPLETIONS) else _interpreted(head)


def without_mark(path: str) -> str:
    """Return a file's path without the suffix that says it is one to copy and fill in."""
    stem, mark, suffix = path.rpartition(".")
    return stem if mark and suffix.lower() in _TO_FILL_IN and stem.rpartition("/")[2].strip(".") else path


def _by_content(suffix: str, text: str) -> str | None:
    if suffix in {".html", ".htm"}:
        text = _QUOTED_HTML.sub("", text[:_HEAD])
    return next(language for language, tells in _BY_CONTENT[suffix] if re.search(tells, text, re.MULTILINE))


@cache
def _known_to_pygments() -> Mapping[str, str]:
    """Return suffix → language of those that but one of Pygments' lexers is for; {} without it."""
    try:
        from pygments.lexers import get_all_lexers
    except ImportError:
        return {}
    others = set(_TABLES["not_programs"]["pygments"].split())
    found = defaultdict(set)
    for _, aliases, patterns, _ in get_all_lexers(plugins=False):
        for pattern in patterns if aliases else ():
            found[pattern.lower()].add(aliases[0])
    return {
        pattern[1:]: next(iter(names))
        for pattern, names in found.items()
        if _ANY_OF_SUFFIX.fullmatch(pattern) and len(names) == 1 and not names & others
    }


def _interpreted(head: bytes) -> str | None:
    found = _INTERPRETER.match(head)
    if found is None:
        return None
    words = [found[1].decode("latin-1"), *found[2].decode("latin-1").split()]
    program = PurePosixPath(words[0]).name
    if program == "env":
        program = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
    name = _VERSION.sub("", PurePosixPath(program).name.lower())
    return _BY_INTERPRETER.get(name)
