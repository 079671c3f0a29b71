"""Which programming language a file is in: by its name, its first line, its content where that decides."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

_QUOTED_HTML = re.compile(
    r"<!--.*?(?:-->|\Z)|<(pre|code|script|style|textarea)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
# A template makes pages and is none: what a browser would show of it is in pieces. A page of prose with a
# mark or two is still one: in 27 repositories those have 30 and more words a mark, templates mostly under 20.
_TEMPLATE = re.compile(r"\{%[^%]{0,300}%\}|\{\{[^{}]{0,300}\}\}|<%[^%]{0,300}%>|<\?(?:php\b|=)")
_MARKUP, _WORD = re.compile(r"<[^>]{0,1000}>"), re.compile(r"\w+")
_WORDS_A_MARK = 30
_TO_FILL_IN = frozenset({"in", "dist", "sample", "example", "default", "template"})
# The program that runs a script, or the one that `env` finds; zsh's functions begin in another way.
_INTERPRETER = re.compile(
    rb"#![ \t]*(?:\S{0,200}/)?(?:env(?:[ \t]+(?:-\S*|\w+=\S*))*[ \t]+)?(?:\S{0,200}/)?([A-Za-z]+)"
    rb"|#(?:compdef |autoload[ \n])"
)
_ANY_OF_SUFFIX = re.compile(r"\*\.\w+")
_HEAD = 8192

TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    (files(__package__) / "languages.toml").read_text(encoding="utf-8")
)
"""Languages, formats and grammars, and the names of files by which they are told."""
_BY_SUFFIX, _BY_NAME, _BY_INTERPRETER = (
    {word: language for language, words in TABLES[name].items() for word in words.split()}
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
    if suffix in {".html", ".htm"}:
        page = _QUOTED_HTML.sub("", head[:_HEAD].decode("latin-1"))
        shown, marks = _TEMPLATE.subn(" ", page)
        return "template" if len(_WORD.findall(_MARKUP.sub(" ", shown))) < marks * _WORDS_A_MARK else None
    if shared := TABLES["shared"].get(suffix):
        text = head.decode("latin-1")
        return next(language for language, tells in shared if re.search(tells, text, re.MULTILINE)) or None
    if suffix:
        return _BY_SUFFIX.get(suffix) or _known_to_pygments().get(suffix)
    found = _INTERPRETER.match(head)
    return _BY_INTERPRETER.get(found[1].decode().lower() if found[1] else "zsh") if found else None


def without_mark(path: str) -> str:
    """Return a file's path without the suffix that says it is one to copy and fill in."""
    stem, mark, suffix = path.rpartition(".")
    return stem if mark and suffix.lower() in _TO_FILL_IN and stem.rpartition("/")[2].strip(".") else path


@cache
def _known_to_pygments() -> Mapping[str, str]:
    """Return suffix → language of those that but one of Pygments' lexers is for; {} without it."""
    try:
        from pygments.lexers import get_all_lexers
    except ImportError:
        return {}
    others = set(TABLES["not_programs"]["pygments"].split())
    found = defaultdict(set)
    for _, aliases, patterns, _ in get_all_lexers(plugins=False):
        for pattern in filter(_ANY_OF_SUFFIX.fullmatch, patterns if aliases else ()):
            found[pattern.lower()[1:]].add(aliases[0])
    return {suffix: min(names) for suffix, names in found.items() if len(names) == 1 and not names & others}
