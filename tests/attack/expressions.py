"""Every regular expression of the package, found in its source, with the methods that it is used by."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = ("langchain_context_engine", "inspector")
METHODS = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression and how it is used."""

    place: str
    pattern: re.Pattern[str]
    methods: tuple[str, ...]


def expressions() -> list[Expression]:
    """Return the expressions that stand at the top of a module, in tuples and mappings too."""
    found: dict[tuple[str, int], Expression] = {}
    used = _methods_by_name()
    for path in _files():
        if "re.compile(" not in path.read_text():
            continue
        module = importlib.import_module(_module_name(path))
        for name, value in vars(module).items():
            for pattern in _patterns(value):
                methods = tuple(sorted(used.get(name, set()))) or ("sub", "search")
                key = (pattern.pattern, pattern.flags)
                known = found.get(key)
                if known is not None:
                    methods = tuple(sorted({*known.methods, *methods}))
                place = known.place if known else f"{path.relative_to(ROOT)}:{name}"
                found[key] = Expression(place, pattern, methods)
    return sorted(found.values(), key=lambda expression: (expression.place, expression.pattern.pattern))


def made_while_running() -> set[tuple[str, str]]:
    """Return (file, function) of every expression that is made or used by `re` within a function."""
    made = set()
    for path in _files():
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                continue
            for call in ast.walk(function):
                if _is_call_of_re(call):
                    made.add((str(path.relative_to(ROOT)), getattr(function, "name", "lambda")))
    return made


def calls(expression: Expression) -> Iterator[Callable[[str], Any]]:
    """Yield what runs the expression over a whole text, once for each method."""
    pattern = expression.pattern
    run: Mapping[str, Callable[[str], Any]] = {
        "search": pattern.search,
        "match": pattern.match,
        "fullmatch": pattern.fullmatch,
        "findall": lambda text: sum(1 for _ in pattern.finditer(text)),
    }
    for method in {"findall" if m in {"sub", "subn", "split", "finditer"} else m for m in expression.methods}:
        yield run[method]


def _files() -> list[Path]:
    return sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py") if p.name != "app.py")


def _module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _patterns(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif isinstance(value, (tuple, list, set, frozenset)):
        for item in value:
            yield from _patterns(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _patterns(item)


def _methods_by_name() -> dict[str, set[str]]:
    used: dict[str, set[str]] = {}
    for path in _files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in METHODS:
                used.setdefault(node.value.id, set()).add(node.attr)
    return used


def _is_call_of_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in {*METHODS, "compile"}
    )
