"""Which programming language a file is in: by its name, its first line, its content where that decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from langchain_context_engine.ingest.marks import without_mark
from langchain_context_engine.ingest.readers.decoding import HEAD_BYTES

_BY_SUFFIX_TEXT: Mapping[str, str] = {
    "python": ".py .pyi .pyw",
    "javascript": ".js .jsx .mjs .cjs",
    "typescript": ".ts .mts .cts",
    "tsx": ".tsx",
    "go": ".go",
    "rust": ".rs",
    "java": ".java",
    "c": ".c .h",
    "cpp": ".cc .cpp .cxx .hpp .hh .hxx .ipp .cu .cuh .ino",
    "csharp": ".cs",
    "ruby": ".rb .rake .gemspec .podspec .ru .builder .jbuilder .rabl",
    "php": ".php .phtml",
    "shell": ".sh .bash .zsh .ksh .bats",
    "kotlin": ".kt .kts",
    "swift": ".swift",
    "scala": ".scala .sc",
    "lua": ".lua",
    # Without a grammar: cut by lines.
    "haskell": ".hs .lhs .hsc",
    "elixir": ".ex .exs",
    "r": ".r",
    "julia": ".jl",
    "perl": ".pl .pm .t",
    "objc": ".m .mm",
    "dart": ".dart",
    "clojure": ".clj .cljs .cljc .edn",
    "erlang": ".erl .hrl",
    "ocaml": ".ml .mli",
    "fsharp": ".fs .fsx",
    "zig": ".zig",
    "nim": ".nim",
    "groovy": ".groovy .gradle",
    "powershell": ".ps1 .psm1",
    "batch": ".bat .cmd",
    "fish": ".fish",
    "sql": ".sql",
    "protobuf": ".proto",
    "graphql": ".graphql .gql",
    "terraform": ".tf .hcl",
    "nix": ".nix",
    "cmake": ".cmake",
    "makefile": ".mk .mak",
    "dockerfile": ".dockerfile",
    "jq": ".jq",
    "awk": ".awk",
    "lisp": ".lisp .el .scm .rkt",
    "vim": ".vim",
    "vue": ".vue",
    "svelte": ".svelte",
    "template": ".erb .erubis .hamlit .ejs .hbs .haml .slim .j2 .jinja .jinja2 .tmpl .mustache .pug .twig"
    " .liquid",
    "css": ".css .scss .sass .less",
    "assembly": ".s .asm",
    "m4": ".m4 .ac",
    "yacc": ".y .yy",
    "lex": ".l .ll",
}
LANGUAGES_BY_SUFFIX: Mapping[str, str] = {
    suffix: language for language, suffixes in _BY_SUFFIX_TEXT.items() for suffix in suffixes.split()
}
_BY_NAME: Mapping[str, str] = {
    "makefile": "makefile",
    "gnumakefile": "makefile",
    "justfile": "makefile",
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "cmakelists.txt": "cmake",
    "rakefile": "ruby",
    "gemfile": "ruby",
    "vagrantfile": "ruby",
    "jenkinsfile": "groovy",
    **dict.fromkeys(
        [
            ".aliases",
            ".bash_aliases",
            ".bash_login",
            ".bash_logout",
            ".bash_profile",
            ".bash_prompt",
            ".bashrc",
            ".envrc",
            ".exports",
            ".functions",
            ".kshrc",
            ".login",
            ".profile",
            ".xinitrc",
            ".xprofile",
            ".zlogin",
            ".zlogout",
            ".zprofile",
            ".zshenv",
            ".zshrc",
            "apkbuild",
            "bashrc",
            "pkgbuild",
            "zshrc",
        ],
        "shell",
    ),
    **dict.fromkeys([".exrc", ".gvimrc", ".ideavimrc", ".vimrc", "vimrc"], "vim"),
    ".emacs": "lisp",
    ".irbrc": "ruby",
    ".pryrc": "ruby",
    ".rprofile": "r",
    ".pythonrc": "python",
    "brewfile": "ruby",
    "fastfile": "ruby",
    "guardfile": "ruby",
    "podfile": "ruby",
    "sconstruct": "python",
    "wscript": "python",
}
_BY_INTERPRETER: Mapping[str, str] = {
    "python": "python",
    "node": "javascript",
    "nodejs": "javascript",
    "deno": "typescript",
    "bun": "typescript",
    "sh": "shell",
    "bash": "shell",
    "dash": "shell",
    "ksh": "shell",
    "zsh": "shell",
    "bats": "shell",
    "fish": "fish",
    "ruby": "ruby",
    "perl": "perl",
    "php": "php",
    "lua": "lua",
    "luajit": "lua",
    "awk": "awk",
    "gawk": "awk",
    "jq": "jq",
    "make": "makefile",
    "rscript": "r",
    "julia": "julia",
    "elixir": "elixir",
    "groovy": "groovy",
    "pwsh": "powershell",
}
_INTERPRETER = re.compile(rb"#![ \t]*(\S{1,200})([^\r\n]{0,300})")
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
    if plain in _BY_NAME:
        return _BY_NAME[plain]
    if plain.startswith(("dockerfile.", "makefile.")) and suffix not in {".md", ".txt", ".rst"}:
        return _BY_NAME[plain.partition(".")[0]]
    if suffix in _DECIDED_BY_CONTENT:
        return _DECIDED_BY_CONTENT[suffix](head.decode("latin-1"))
    if suffix in LANGUAGES_BY_SUFFIX:
        return LANGUAGES_BY_SUFFIX[suffix]
    return _interpreted(head) if not suffix else None


def _interpreted(head: bytes) -> str | None:
    found = _INTERPRETER.match(head)
    if found is None:
        return None
    words = [found[1].decode("latin-1"), *found[2].decode("latin-1").split()]
    program = PurePosixPath(words[0]).name
    if program == "env":
        program = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
    return _BY_INTERPRETER.get(_VERSION.sub("", PurePosixPath(program).name.lower()))


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
_LEGACY_TEST = re.compile(r"^#![^\n]*(?:sh|bash)\b")


def _header_language(text: str) -> str:
    if _OBJECTIVE_C.search(text):
        return "objc"
    return "cpp" if _CPP.search(text) else "c"


def _m_language(text: str) -> str:
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
    ".ts": _ts_language,
    ".html": _html_language,
    ".htm": _html_language,
}
