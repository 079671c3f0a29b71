"""The house's layers, read from its imports."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = "langchain_context_engine"

# Lowest first: a room imports itself and what stands before it.
ROOMS = [
    "errors",
    "models",
    "telemetry",
    "executor",
    "text",
    "rendering",
    "ranking",
    "filters",
    "pipeline",
    "config",
    "trace",
    "embeddings",
    "search",
    "sources",
    "ingest",
    "journal",
    "langchain",
    "engine",
    "evaluation",
    "designs",
    "demo",
    "serving",
    "cli",
    "__init__",
]
PURE = ROOMS[: ROOMS.index("pipeline") + 1]
HEAVY = ("chromadb", "langchain", "streamlit")


def _files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def _module(path: Path) -> str:
    """Return a file's dotted path below the package; a folder's first file is the folder."""
    parts = path.relative_to(ROOT / PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {_module(path): path for path in _files(PACKAGE)}


def _room(module: str) -> str:
    first, *rest = module.split(".")
    inner = f"{first}.{rest[0]}" if rest else ""
    return inner if inner in ROOMS else first


@cache
def _imports(path: Path) -> set[str]:
    """Return every module and name that a file imports, wherever in it, for types too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports relatively"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def _own(name: str) -> str | None:
    """Return the module of this package that an imported name is, or stands in."""
    package, _, module = name.partition(".")
    while package == PACKAGE and module and module not in MODULES:
        module = module.rpartition(".")[0]
    return module or None if package == PACKAGE else None


def test_a_room_imports_only_rooms_below_it():
    wrong = [
        f"{module} imports {other}"
        for module, path in MODULES.items()
        for other in set(map(_own, _imports(path))) - {None}
        if ROOMS.index(_room(other)) > ROOMS.index(_room(module))
    ]
    assert sorted(wrong) == []


def test_values_parts_and_stages_know_no_library_of_the_world_above():
    pure = [path for module, path in MODULES.items() if _room(module) in PURE]
    assert len(pure) > 15
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in pure
        for name in _imports(path)
        if name.startswith(HEAVY) and not name.startswith(PACKAGE)
    ]
    assert wrong == []


def test_the_inspector_uses_only_public_names():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in _files("inspector")
        for name in _imports(path)
        if name.split(".")[0] == PACKAGE
        and (any(part.startswith("_") for part in name.split(".")) or (_own(name) or "").startswith("cli"))
    ]
    assert wrong == []
