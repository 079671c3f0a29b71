"""Which file is in which language, and what a definition looks like there."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser

DOCUMENT_SUFFIXES = frozenset({".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".asciidoc"})
DOCUMENT_NAMES = frozenset({"README", "CHANGELOG", "CHANGES", "CONTRIBUTING", "LICENSE", "NOTICE"})

LANGUAGES_BY_SUFFIX: Mapping[str, str] = {
    suffix: language
    for language, suffixes in {
        "python": ".py .pyi .pyw",
        "javascript": ".js .jsx .mjs .cjs",
        "typescript": ".ts .mts .cts",
        "tsx": ".tsx",
        "go": ".go",
        "rust": ".rs",
        "java": ".java",
        "c": ".c .h",
        "cpp": ".cc .cpp .cxx .hpp .hh .hxx",
        "csharp": ".cs",
        "ruby": ".rb",
        "php": ".php",
        # Without a grammar: cut by lines.
        "kotlin": ".kt .kts",
        "swift": ".swift",
        "scala": ".scala",
        "lua": ".lua",
        "r": ".r",
        "julia": ".jl",
        "elixir": ".ex .exs",
        "shell": ".sh .bash .zsh",
        "sql": ".sql",
        "protobuf": ".proto",
        "graphql": ".graphql",
    }.items()
    for suffix in suffixes.split()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A tree-sitter grammar and the node types that matter in it.

    Attributes:
        module: The Python module that bundles it.
        factory: The function in it that gives the language.
        functions: Node types of functions and methods.
        classes: Node types of what holds methods or fields.
        scopes: Node types that lend their name but are no unit: namespaces, modules.
        wrappers: Node types around a definition that belong to it.
        imports: Node types that only import.
    """

    module: str
    factory: str = "language"
    functions: frozenset[str]
    classes: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    wrappers: frozenset[str] = field(default_factory=frozenset)
    imports: frozenset[str] = frozenset()


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _javascript(module: str, factory: str = "language") -> Grammar:
    return Grammar(
        module=module,
        factory=factory,
        functions=_names(
            "function_declaration generator_function_declaration method_definition "
            "arrow_function function_expression"
        ),
        classes=_names(
            "class_declaration abstract_class_declaration interface_declaration "
            "type_alias_declaration enum_declaration"
        ),
        scopes=_names("internal_module module"),
        wrappers=_names("export_statement ambient_declaration lexical_declaration variable_declaration"),
        imports=_names("import_statement"),
    )


GRAMMARS: Mapping[str, Grammar] = {
    "javascript": _javascript("tree_sitter_javascript"),
    "typescript": _javascript("tree_sitter_typescript", "language_typescript"),
    "tsx": _javascript("tree_sitter_typescript", "language_tsx"),
    "go": Grammar(
        module="tree_sitter_go",
        functions=_names("function_declaration method_declaration"),
        classes=_names("type_spec"),
        wrappers=_names("type_declaration"),
        imports=_names("package_clause import_declaration"),
    ),
    "rust": Grammar(
        module="tree_sitter_rust",
        functions=_names("function_item macro_definition"),
        classes=_names("struct_item enum_item union_item trait_item impl_item"),
        scopes=_names("mod_item"),
        imports=_names("use_declaration extern_crate_declaration"),
    ),
    "java": Grammar(
        module="tree_sitter_java",
        functions=_names("method_declaration constructor_declaration"),
        classes=_names(
            "class_declaration interface_declaration enum_declaration record_declaration "
            "annotation_type_declaration"
        ),
        imports=_names("package_declaration import_declaration"),
    ),
    "c": Grammar(
        module="tree_sitter_c",
        functions=_names("function_definition"),
        classes=_names("struct_specifier union_specifier enum_specifier"),
        wrappers=_names("type_definition"),
        imports=_names("preproc_include"),
    ),
    "cpp": Grammar(
        module="tree_sitter_cpp",
        functions=_names("function_definition"),
        classes=_names("class_specifier struct_specifier union_specifier enum_specifier"),
        scopes=_names("namespace_definition"),
        wrappers=_names("template_declaration type_definition"),
        imports=_names("preproc_include using_declaration"),
    ),
    "csharp": Grammar(
        module="tree_sitter_c_sharp",
        functions=_names("method_declaration constructor_declaration local_function_statement"),
        classes=_names(
            "class_declaration interface_declaration struct_declaration record_declaration enum_declaration"
        ),
        scopes=_names("namespace_declaration"),
        imports=_names("using_directive file_scoped_namespace_declaration"),
    ),
    "ruby": Grammar(
        module="tree_sitter_ruby",
        functions=_names("method singleton_method"),
        classes=_names("class"),
        scopes=_names("module"),
    ),
    "php": Grammar(
        module="tree_sitter_php",
        factory="language_php",
        functions=_names("function_definition method_declaration"),
        classes=_names("class_declaration interface_declaration trait_declaration enum_declaration"),
        imports=_names("namespace_use_declaration namespace_definition php_tag"),
    ),
}


def language_of(path: str) -> str | None:
    """Return the programming language of a file by its name, or None.

    Example:
        >>> language_of("src/app.tsx"), language_of("notes.md")
        ('tsx', None)
    """
    return LANGUAGES_BY_SUFFIX.get(PurePosixPath(path).suffix.lower())


def is_document(path: str) -> bool:
    """Say whether a file is prose, by its name.

    Example:
        >>> is_document("docs/guide.md"), is_document("LICENSE"), is_document("app.py")
        (True, True, False)
    """
    name = PurePosixPath(path)
    return name.suffix.lower() in DOCUMENT_SUFFIXES or name.name in DOCUMENT_NAMES


@cache
def load_parser(language: str) -> Parser | None:
    """Return the tree-sitter parser of a language, or None where the extra `code` is not installed."""
    grammar = GRAMMARS.get(language)
    if grammar is None:
        return None
    try:
        from tree_sitter import Language, Parser

        module = importlib.import_module(grammar.module)
    except ImportError:
        return None
    return Parser(Language(getattr(module, grammar.factory)()))
