"""What is built: one wheel with the package, its data and the inspector in it, and nothing else."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the names in a wheel that is built from a copy of what git knows, without a network."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed: pip install hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("langchain_context_engine", "inspector"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = ["pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", folder / "dist", folder]
    subprocess.run([sys.executable, "-m", *map(str, build)], check=True, timeout=100)
    (built,) = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        return archive.namelist()


def _is_cache(path):
    return any(part == "__pycache__" or part.startswith(".") for part in path.relative_to(ROOT).parts)


def test_the_wheel_has_every_file_of_the_package(wheel):
    package = ROOT / "langchain_context_engine"
    files = [p for p in package.rglob("*") if p.is_file() and not _is_cache(p)]
    assert [p for p in files if str(p.relative_to(ROOT)) not in wheel] == []


def test_the_wheel_has_types_the_command_the_licence_and_the_inspector_under_no_name_of_its_own(wheel):
    assert "langchain_context_engine/py.typed" in wheel
    assert "langchain_context_engine/inspector/app.py" in wheel
    tops = {name.split("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"langchain_context_engine"}
    assert any(name.endswith(".dist-info/entry_points.txt") for name in wheel)
    assert any(re.search(r"\.dist-info/(licenses/)?LICENSE$", name) for name in wheel)


def test_the_command_leads_to_a_function_that_is_there():
    module, _, function = PROJECT["scripts"]["context-engine"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_everything_the_extra_all_promises_is_an_extra():
    extras = PROJECT["optional-dependencies"]
    promised, *more = extras["all"]
    names = re.search(r"\[(.*)\]", promised).group(1).split(",")
    assert set(names) == set(extras) - {"all", "bench", "test"}
    assert [name for name in more if "langchain-chroma" not in name] == []


def test_the_engine_alone_needs_few_libraries_each_with_a_lower_bound():
    assert len(PROJECT["dependencies"]) <= 12
    assert [each for each in PROJECT["dependencies"] if ">=" not in each] == []
