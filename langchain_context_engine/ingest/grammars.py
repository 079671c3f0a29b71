"""What a definition looks like in each language that has a tree-sitter grammar."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser


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
        macros: Node types of macros, units where they are long.
        calls: Node types of calls, which declare tests in some languages.
        words: Words whose call defines something → "function" or "class".
    """

    module: str
    factory: str = "language"
    functions: frozenset[str]
    classes: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    wrappers: frozenset[str] = field(default_factory=frozenset)
    imports: frozenset[str] = frozenset()
    macros: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    words: Mapping[str, str] = field(default_factory=dict)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _javascript(module: str, factory: str = "language") -> Grammar:
    return Grammar(
        module=module,
        factory=factory,
        functions=_names(
            "function_declaration generator_function_declaration method_definition "
            "arrow_function function_expression generator_function"
        ),
        classes=_names(
            "class_declaration abstract_class_declaration interface_declaration "
            "type_alias_declaration enum_declaration"
        ),
        scopes=_names("internal_module module"),
        wrappers=_names("export_statement ambient_declaration lexical_declaration variable_declaration"),
        imports=_names("import_statement"),
        calls=_names("call_expression"),
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
        macros=_names("preproc_function_def preproc_def"),
    ),
    "cpp": Grammar(
        module="tree_sitter_cpp",
        functions=_names("function_definition"),
        classes=_names("class_specifier struct_specifier union_specifier enum_specifier"),
        scopes=_names("namespace_definition"),
        wrappers=_names("template_declaration type_definition"),
        imports=_names("preproc_include using_declaration"),
        macros=_names("preproc_function_def preproc_def"),
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
        calls=_names("call"),
    ),
    "php": Grammar(
        module="tree_sitter_php",
        factory="language_php",
        functions=_names("function_definition method_declaration"),
        classes=_names("class_declaration interface_declaration trait_declaration enum_declaration"),
        imports=_names("namespace_use_declaration namespace_definition declare_statement php_tag"),
    ),
    "kotlin": Grammar(
        module="tree_sitter_kotlin",
        functions=_names("function_declaration"),
        classes=_names("class_declaration object_declaration"),
        imports=_names("package_header import"),
    ),
    "swift": Grammar(
        module="tree_sitter_swift",
        functions=_names("function_declaration init_declaration deinit_declaration"),
        classes=_names("class_declaration protocol_declaration"),
        imports=_names("import_declaration"),
    ),
    "scala": Grammar(
        module="tree_sitter_scala",
        functions=_names("function_definition"),
        classes=_names("class_definition object_definition trait_definition enum_definition"),
        imports=_names("package_clause import_declaration"),
    ),
    "lua": Grammar(
        module="tree_sitter_lua",
        functions=_names("function_declaration function_definition"),
        calls=_names("function_call"),
    ),
    "elixir": Grammar(
        module="tree_sitter_elixir",
        functions=frozenset(),
        calls=_names("call"),
        words=dict.fromkeys(_names("def defp defmacro defmacrop defguard defguardp defdelegate"), "function")
        | dict.fromkeys(_names("defmodule defprotocol defimpl"), "class"),
    ),
    "shell": Grammar(module="tree_sitter_bash", functions=_names("function_definition")),
}


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
