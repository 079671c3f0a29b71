"""Tree-sitter grammars by language, each with the query that marks what is defined in a source.

A query, `queries/<name>.scm`, speaks as the grammars' own `tags.scm` do, which mark where a name stands but
not how far its definition reaches:

- `@definition.<kind>` is a node that defines: function, class, object (kept where it holds functions), scope
  (a namespace: it lends its name), macro and value (kept from three lines on), test, group (of tests).
- `@name`, `@owner` (the type that a method belongs to), `@doc` and `@body` say more of it, `@start` where it
  begins before its node; a `name` property names what has none. Several patterns may tell of one node.
- `@comment`, `@attribute` belong to what stands below them; `@wrap` to the definition that it ends with.
- `@import` only imports; what an `@anonymous` function holds is its own.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Query

GRAMMARS: Mapping[str, tuple[str, str, str]] = {
    "python": ("tree_sitter_python", "language", "python"),
    "javascript": ("tree_sitter_javascript", "language", "ecmascript javascript"),
    "typescript": ("tree_sitter_typescript", "language_typescript", "ecmascript typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx", "ecmascript typescript"),
    "go": ("tree_sitter_go", "language", "go"),
    "rust": ("tree_sitter_rust", "language", "rust"),
    "java": ("tree_sitter_java", "language", "java"),
    "c": ("tree_sitter_c", "language", "c"),
    "cpp": ("tree_sitter_cpp", "language", "c cpp"),
    "csharp": ("tree_sitter_c_sharp", "language", "csharp"),
    "ruby": ("tree_sitter_ruby", "language", "ruby"),
    "php": ("tree_sitter_php", "language_php", "php"),
    "kotlin": ("tree_sitter_kotlin", "language", "kotlin"),
    "swift": ("tree_sitter_swift", "language", "swift"),
    "scala": ("tree_sitter_scala", "language", "scala"),
    "lua": ("tree_sitter_lua", "language", "lua"),
    "elixir": ("tree_sitter_elixir", "language", "elixir"),
    "shell": ("tree_sitter_bash", "language", "shell"),
}
"""Language → the module that bundles its grammar, the function that gives it, and its queries."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """What a parser of a language needs, and the query that marks what is defined in what it parsed."""

    language: Language
    query: Query


@cache
def load_grammar(language: str) -> Grammar | None:
    """Return a language's grammar, or None where there is none, or the extra `code` is not installed."""
    if language not in GRAMMARS:
        return None
    module, factory, names = GRAMMARS[language]
    try:
        from tree_sitter import Language, Query

        grammar = Language(getattr(importlib.import_module(module), factory)())
    except ImportError:
        return None
    folder = files(__package__) / "queries"
    source = "\n".join((folder / f"{name}.scm").read_text(encoding="utf-8") for name in names.split())
    return Grammar(grammar, Query(grammar, source))
