"""The house's layers, read from its imports."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.unmeasured

PACKAGE = "langchain_context_engine"

# Lowest first. A room is a folder with all that is in it; each design is a room of its own. The landing is
# what stands beside the rooms.
ROOMS = [
    "values",
    "telemetry",
    "text",
    "writing",
    "ranking",
    "filtering",
    "stages",
    "answering",
    "searching",
    "sources",
    "blocks",
    "embeddings",
    "ingest",
    "journal",
    "langchain",
    "engine",
    "evaluation",
    "designs",
    "designs.memory",
    "designs.plan",
    "designs.prime",
    "designs.workspace",
    "designs.learning",
    "demo",
    "serving",
    "commands",
    "cli",
    "__init__",
]
LANDING = {"__init__.py", "cli.py", "engine.py", "py.typed"}
MOST_FOLDERS = 20

HEAVY = ("chromadb", "langchain", "pydantic", "streamlit")


def _files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def _module(path: Path) -> str:
    """Return a file's dotted path below the package; a folder's first file is the folder."""
    parts = path.relative_to(ROOT / PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _room(module: str) -> str:
    """Return the room that a module stands in."""
    first, *rest = module.split(".")
    inner = f"{first}.{rest[0]}" if rest else ""
    return inner if inner in ROOMS else first


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


MODULES = {_module(path): path for path in _files(PACKAGE)}


def _own(name: str) -> str | None:
    """Return the module of this package that an imported name is, or stands in."""
    package, _, module = name.partition(".")
    while package == PACKAGE and module and module not in MODULES:
        module = module.rpartition(".")[0]
    return module or None if package == PACKAGE else None


def _arrows(*, for_types: bool) -> dict[str, set[str]]:
    """Return module → the modules of this package that it imports, wherever in the file."""
    return {
        module: {own for name, _ in _imports(path, for_types=for_types) if (own := _own(name))} - {module}
        for module, path in MODULES.items()
    }


def _offered(room: str) -> set[str]:
    """Return what a room's first file names in `__all__`."""
    tree = ast.parse(MODULES[room].read_text(encoding="utf-8"))
    listed = next(
        (n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__"),
        None,
    )
    return set(ast.literal_eval(listed)) if isinstance(listed, ast.List) else set()


def test_the_landing_is_small():
    found = [path for path in (ROOT / PACKAGE).iterdir() if path.name != "__pycache__"]
    assert {path.name for path in found if path.is_file()} == LANDING
    folders = {path.name for path in found if path.is_dir()}
    assert len(folders) <= MOST_FOLDERS
    assert folders == {room for room in ROOMS if "." not in room} - {"cli", "engine", "__init__"}


def test_each_room_says_what_lives_there():
    silent = []
    for room in set(ROOMS) - {"cli", "engine", "__init__"}:
        said = ast.get_docstring(ast.parse(MODULES[room].read_text(encoding="utf-8"))) or ""
        if len(said) < (40 if "." in room else 120):
            silent.append(room)
    assert silent == []


def test_a_room_imports_only_rooms_below_it():
    wrong = [
        f"{module} imports {other}"
        for module, others in _arrows(for_types=True).items()
        for other in others
        if ROOMS.index(_room(other)) > ROOMS.index(_room(module)) and other != "__init__"
    ]
    assert sorted(wrong) == []


def test_of_another_room_only_what_its_first_file_names_is_imported():
    wrong = []
    inspector = {
        str(path.relative_to(ROOT)): {
            own for name, _ in _imports(path, for_types=True) if (own := _own(name))
        }
        for path in _files("inspector")
    }
    for module, others in {**_arrows(for_types=True), **inspector}.items():
        for other in others:
            room = _room(other)
            is_outer = module.startswith(f"{room}.") or (module in MODULES and _room(module) == room)
            if other in {room, "__init__"} or is_outer or module == "__init__":
                continue
            if not {other[len(room) + 1 :], other[len(room) + 1 :].partition(".")[0]} & _offered(room):
                wrong.append(f"{module} imports {other}")
    assert sorted(wrong) == []


def test_what_a_room_names_is_there():
    missing = []
    for room in set(ROOMS) - {"__init__"}:
        for name in _offered(room):
            if not hasattr(import_module(f"{PACKAGE}.{room}"), name):
                try:
                    import_module(f"{PACKAGE}.{room}.{name}")
                except ImportError:
                    missing.append(f"{room}.{name}")
    assert missing == []


def _circles(arrows: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of modules that reach each other."""
    reach = {module: _reached(module, arrows) for module in arrows}
    tied = {module: {other for other in reach[module] if module in reach[other]} for module in arrows}
    return [set(circle) for circle in {frozenset(tied[m]) for m in arrows if m in reach[m]}]


def _reached(module: str, arrows: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        new = arrows.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def test_no_circle_of_files_goes_beyond_one_folder_and_none_is_in_a_design():
    circles = _circles(_arrows(for_types=True))
    wide = [sorted(circle) for circle in circles if len({_room(module) for module in circle}) > 1]
    assert wide == []
    assert [sorted(circle) for circle in circles if any(m.startswith("designs") for m in circle)] == []


def test_values_parts_and_stages_know_no_library_of_the_world_above():
    below = ROOMS[: ROOMS.index("stages") + 1]
    pure = [path for module, path in MODULES.items() if _room(module) in below]
    assert len(pure) > 30
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in pure
        for name, _ in _imports(path, for_types=True)
        if name.startswith(HEAVY) and not name.startswith(PACKAGE)
    ]
    assert wrong == []


def test_the_inspector_uses_only_public_names():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in _files("inspector")
        for name, _ in _imports(path, for_types=True)
        if name.split(".")[0] == PACKAGE
        and (
            any(part.startswith("_") for part in name.split("."))
            or (_own(name) or "").startswith(("commands", "cli", "answering.assemble", "sources.asking"))
        )
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
