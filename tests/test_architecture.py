"""The house's layers, read from its imports."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = "langchain_context_engine"

# Lowest first; a name is a module, or a folder with all that is in it.
LAYERS = {
    "values": "errors clock freeze registry request types verdicts metadata settings redact",
    "parts": (
        "where filters calls links highlights trigrams tokens words sentences"
        " boundaries signals fusion pseudo_feedback latest truncate units templates"
        " citations compact layout orders budget identity shingles similarity wire codec telemetry"
        " result_cache analysis"
    ),
    "stages": "stages assemble",
    "stores": "sources embeddings journal ingest",
    "engine": "config asking engine",
    "beside the engine": "explain traces whatif demo evaluation evaluate tune designs",
    "faces": (
        "events retriever runnable tool middleware pytest_plugin inspect_command server server_bodies"
        " mcp_server commands cli __init__"
    ),
}
LAYER_OF = {name: number for number, names in enumerate(LAYERS.values()) for name in names.split()}

# Values that explain and write themselves; a face that an engine offers: all of them load when called.
UPWARD = {
    ("types", "explain"),
    ("types", "wire"),
    ("engine", "retriever"),
    ("engine", "runnable"),
    ("engine", "tool"),
}

HEAVY = ("chromadb", "langchain", "pydantic", "streamlit")
INSIDE = {"commands", "cli", "asking", "assemble"}


def _files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def _module(path: Path) -> str:
    """Return what a file is called in LAYERS: its module, or the folder of the package it is in."""
    return path.relative_to(ROOT / PACKAGE).parts[0].removesuffix(".py")


def _imports(path: Path, *, for_types: bool = False) -> list[tuple[str, bool]]:
    """Return the modules a file imports, and whether only when a function runs."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []

    def visit(node: ast.AST, is_deferred: bool) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not for_types:
            return
        if isinstance(node, ast.Import):
            found.extend((alias.name, is_deferred) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports relatively"
            found.append((node.module or "", is_deferred))
            found.extend((f"{node.module}.{alias.name}", is_deferred) for alias in node.names)
        inner = is_deferred or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for child in ast.iter_child_nodes(node):
            visit(child, inner)

    visit(tree, False)
    return found


def _own(name: str) -> str | None:
    parts = name.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else None


def test_every_module_has_a_layer():
    assert sorted({_module(path) for path in _files(PACKAGE)} - set(LAYER_OF)) == []


def test_a_file_imports_only_its_own_layer_and_lower_ones():
    wrong = []
    for path in _files(PACKAGE):
        module = _module(path)
        for name, is_deferred in _imports(path):
            imported = _own(name)
            if imported not in LAYER_OF or LAYER_OF[imported] <= LAYER_OF.get(module, len(LAYERS)):
                continue
            if not (is_deferred and (module, imported) in UPWARD):
                wrong.append(f"{path.relative_to(ROOT)} imports {imported}, which is above it")
    assert sorted(set(wrong)) == []


def test_every_upward_import_that_is_allowed_is_there():
    found = {
        (_module(path), _own(name)) for path in _files(PACKAGE) for name, later in _imports(path) if later
    }
    assert found >= UPWARD


def test_values_parts_and_stages_know_no_library_of_the_world_above():
    pure = [path for path in _files(PACKAGE) if LAYER_OF.get(_module(path), 99) <= LAYER_OF["stages"]]
    assert len(pure) > 30
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in pure
        for name, _ in _imports(path, for_types=True)
        if name.startswith(HEAVY) and _own(name) is None and not name.startswith(PACKAGE)
    ]
    assert wrong == []


def test_the_inspector_uses_only_public_names():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in _files("inspector")
        for name, _ in _imports(path, for_types=True)
        if name.split(".")[0] == PACKAGE
        and (any(part.startswith("_") for part in name.split(".")) or _own(name) in INSIDE)
    ]
    assert wrong == []


def test_no_file_reaches_300_lines():
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in _files(PACKAGE, "inspector", "tests", "examples")
    }
    assert {name: length for name, length in lengths.items() if length >= 300} == {}


def test_no_file_has_a_name_that_says_nothing():
    nothing = {"utils", "util", "helpers", "helper", "base", "common", "manager", "misc"}
    named = _files(PACKAGE, "inspector", "tests", "examples")
    assert [path for path in named if path.stem in nothing] == []


def test_building_a_context_fits_on_one_screen():
    tree = ast.parse((ROOT / PACKAGE / "engine.py").read_text(encoding="utf-8"))
    build = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "build")
    assert (build.end_lineno or 0) - build.lineno < 40
