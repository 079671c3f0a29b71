"""Which programming language a file is in: by its name, its first line, its content where that decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from langchain_context_engine.ingest.places import without_mark
from langchain_context_engine.ingest.readers.decoding import HEAD_BYTES
from langchain_context_engine.ingest.suffixes import (
    LANGUAGES_BY_INTERPRETER,
    LANGUAGES_BY_NAME,
    LANGUAGES_BY_SUFFIX,
)

_INTERPRETER = re.compile(rb"#![ \t]*(\S{1,200})([^\r\n]{0,300})")
_COMPLETIONS = (b"#compdef ", b"#autoload\n", b"#autoload ")
"""How a function of zsh begins, whose name is a command's and has no suffix."""
_VERSION = re.compile(r"(?<![\d.])[\d.]++$")


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
    if plain in LANGUAGES_BY_NAME:
        return LANGUAGES_BY_NAME[plain]
    if plain.startswith(("dockerfile.", "makefile.")) and suffix not in {".md", ".txt", ".rst"}:
        return LANGUAGES_BY_NAME[plain.partition(".")[0]]
    if suffix in _DECIDED_BY_CONTENT:
        return _DECIDED_BY_CONTENT[suffix](head.decode("latin-1"))
    if suffix in LANGUAGES_BY_SUFFIX:
        return LANGUAGES_BY_SUFFIX[suffix]
    if suffix:
        return None
    return "shell" if head.startswith(_COMPLETIONS) else _interpreted(head)


def _interpreted(head: bytes) -> str | None:
    found = _INTERPRETER.match(head)
    if found is None:
        return None
    words = [found[1].decode("latin-1"), *found[2].decode("latin-1").split()]
    program = PurePosixPath(words[0]).name
    if program == "env":
        program = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
    return LANGUAGES_BY_INTERPRETER.get(_VERSION.sub("", PurePosixPath(program).name.lower()))


_CPP = re.compile(
    r"^[ \t]*(?:namespace\s+[\w:]*\s*\{|using\s+(?:namespace|\w+\s*=)|template\s*<"
    r"|(?:enum\s+)?class\s+\w[^;\n(]*[{:\n]|(?:public|private|protected)[ \t]*:)"
    r"|\bstd::\w|\bconstexpr\b|^#[ \t]*include[ \t]*<[a-z_]+>",
    re.MULTILINE,
)
_OBJECTIVE_C = re.compile(
    r"^[ \t]*(?:@(?:interface|implementation|protocol|class|import|property|end)\b|#[ \t]*import\b)",
    re.MULTILINE,
)
_MATLAB = re.compile(r"^[ \t]*(?:%|function\b|classdef\b|clear\b|clc\b|end\b)", re.MULTILINE)
_PERL = re.compile(
    r"^[ \t]*(?:use\s+(?:strict|warnings|\w+::|v?5)|package\s+\w|sub\s+\w|my\s*[$@%(])|^#![^\n]*perl",
    re.MULTILINE,
)
_PROLOG = re.compile(r"^(?::-|\w[^\n%]{0,200}:-|%)", re.MULTILINE)
_COQ = re.compile(r"^[ \t]*(?:Require|Theorem|Lemma|Definition|Inductive|Fixpoint)\s", re.MULTILINE)
_V = re.compile(r"^(?:pub )?fn (?:\([^()\n]{1,80}\) )?\w", re.MULTILINE)
_MATHEMATICA = re.compile(
    r"\A\s*(?:\(\*|BeginPackage\[|Needs\[|Get\[|<<)|^[A-Za-z]\w*\[[^\n]{0,200}\] ?:=", re.MULTILINE
)
_OPENCL = re.compile(r"\b(?:__kernel|__global|get_global_id)\b|^kernel void\b", re.MULTILINE)
_SHADER = re.compile(
    r"^[ \t]*#version \d|\bgl_(?:FragColor|Position|FragCoord)\b|^void main\s*\(", re.MULTILINE
)
_REBOL = re.compile(r"\A\s*REBOL\s*\[", re.IGNORECASE)
_VERILOG = re.compile(
    r"^[ \t]*(?:(?:end)?module\b|`(?:timescale|include|define)\b|always\b|assign\b)", re.MULTILINE
)
_D = re.compile(r"^[ \t]*(?:(?:public[ \t]+)?import\s+\w[\w.]*\s*[;:=,]|module\s+[\w.]+;)", re.MULTILINE)
_LATEX_CLASS = re.compile(r"\\(?:ProvidesClass|NeedsTeXFormat|LoadClass)\b")
_LEGACY_TEST = re.compile(r"^#![^\n]*(?:sh|bash)\b")


def _header_language(text: str) -> str:
    if _OBJECTIVE_C.search(text):
        return "objc"
    return "cpp" if _CPP.search(text) else "c"


def _m_language(text: str) -> str:
    if _MATHEMATICA.search(text) and not _OBJECTIVE_C.search(text):
        return "wolfram"
    is_matlab = _MATLAB.search(text) and not _OBJECTIVE_C.search(text) and "#include" not in text
    return "matlab" if is_matlab else "objc"


def _pl_language(text: str) -> str:
    return "prolog" if _PROLOG.search(text) and not _PERL.search(text) else "perl"


def _t_language(text: str) -> str | None:
    if _PERL.search(text):
        return "perl"
    return "shell" if _LEGACY_TEST.search(text) else None


def _ts_language(text: str) -> str | None:
    """A translation of Qt and a video have this suffix too."""
    is_other = text.lstrip("\xef\xbb\xbf \t\r\n").startswith(("<?xml", "<!DOCTYPE", "<TS ")) or (
        text[:1] == "G" and "\0" in text
    )
    return None if is_other else "typescript"


def _v_language(text: str) -> str:
    if _COQ.search(text):
        return "coq"
    if _V.search(text):
        return "v"
    return "verilog" if _VERILOG.search(text) else "v"


def _d_language(text: str) -> str | None:
    """What a compiler notes of a file's dependencies has this suffix too."""
    return "d" if _D.search(text) else None


def _cl_language(text: str) -> str:
    return "opencl" if _OPENCL.search(text) else "lisp"


def _fs_language(text: str) -> str:
    return "shader" if _SHADER.search(text) else "fsharp"


def _r_language(text: str) -> str:
    return "rebol" if _REBOL.search(text) else "r"


def _cls_language(text: str) -> str:
    if _LATEX_CLASS.search(text):
        return "tex"
    return "basic" if text.startswith("VERSION ") else "apex"


_QUOTED_HTML = re.compile(
    r"<!--.*?(?:-->|\Z)|<(pre|code|script|style|textarea)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
_HTML_TEMPLATE = re.compile(r"\{%[^%]{0,300}%\}|\{\{[^{}]{0,300}\}\}|<%[^%]{0,300}%>|<\?(?:php\b|=)")


def _html_language(text: str) -> str | None:
    """A template makes pages and is none: what a browser would show of it is in pieces."""
    head = text[:HEAD_BYTES]
    has_front_matter = head.startswith(("---\n", "---\r\n"))
    is_template = has_front_matter or _HTML_TEMPLATE.search(_QUOTED_HTML.sub("", head))
    return "template" if is_template else None


_DECIDED_BY_CONTENT: Mapping[str, Callable[[str], str | None]] = {
    ".h": _header_language,
    ".m": _m_language,
    ".pl": _pl_language,
    ".t": _t_language,
    ".v": _v_language,
    ".d": _d_language,
    ".cls": _cls_language,
    ".cl": _cl_language,
    ".fs": _fs_language,
    ".r": _r_language,
    ".ts": _ts_language,
    ".html": _html_language,
    ".htm": _html_language,
}
