"""The outline of a Python file, by the standard library's own parser."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from dataclasses import replace

from langchain_context_engine.ingest.outline import Definition, Outline

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def python_outline(text: str) -> Outline | None:
    r"""Return the outline of a Python source, or None where it cannot be parsed.

    Definitions inside `if`, `try`, `with` and loops count as the module's or the class's own;
    those inside functions belong to the function.

    Example:
        >>> [d.signature for d in python_outline("def add(a, b=1):\n    return a + b").definitions]
        ['def add(a, b=1)']
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in other people's strings
            tree = ast.parse(text)
        return Outline(
            definitions=_with_comments(_definitions(tree.body, ""), text.split("\n")),
            import_lines=_import_lines(tree.body),
            docstring=ast.get_docstring(tree) or "",
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _definitions(body: Iterable[ast.AST], owner: str) -> tuple[Definition, ...]:
    found: list[_Defined] = []
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*_Function, ast.ClassDef)):
            found.append(node)
        else:
            waiting.extend(
                child
                for child in ast.iter_child_nodes(node)
                if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case))
            )
    found.sort(key=lambda node: node.lineno)
    return tuple(_definition(node, owner) for node in found)


def _with_comments(definitions: tuple[Definition, ...], lines: list[str]) -> tuple[Definition, ...]:
    """Let definitions begin with the comment right above them, at their own indentation."""
    moved = []
    taken = 0
    for definition in definitions:
        start = definition.start_line
        opening = lines[start - 1]
        mark = f"{opening[: len(opening) - len(opening.lstrip())]}#"
        while (
            start - 1 > taken and lines[start - 2].startswith(mark) and not lines[start - 2].startswith("#!")
        ):
            start -= 1
        children = _with_comments(definition.children, lines)
        moved.append(replace(definition, start_line=start, children=children))
        taken = definition.end_line
    return tuple(moved)


def _definition(node: _Defined, owner: str) -> Definition:
    symbol = f"{owner}.{node.name}" if owner else node.name
    is_class = isinstance(node, ast.ClassDef)
    return Definition(
        symbol=symbol,
        unit_type="class" if is_class else "method" if owner else "function",
        start_line=min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]),
        end_line=node.end_lineno or node.lineno,
        signature=_signature(node),
        docstring=ast.get_docstring(node) or "",
        children=_definitions(node.body, symbol) if is_class else (),
    )


def _signature(node: _Defined) -> str:
    if isinstance(node, ast.ClassDef):
        parents = [ast.unparse(base) for base in (*node.bases, *node.keywords)]
        return f"class {node.name}({', '.join(parents)})" if parents else f"class {node.name}"
    prefix = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{prefix} {node.name}({ast.unparse(node.args)}){returned}"


def _import_lines(body: Iterable[ast.stmt]) -> frozenset[int]:
    return frozenset(
        line
        for node in body
        if _only_imports(node)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    )


def _only_imports(node: ast.stmt) -> bool:
    """Say whether a statement only imports, as `if TYPE_CHECKING:` blocks often do, or lists exports."""
    if isinstance(node, ast.If):
        return all(_only_imports(inner) for inner in (*node.body, *node.orelse))
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)
    return isinstance(node, (ast.Import, ast.ImportFrom))
