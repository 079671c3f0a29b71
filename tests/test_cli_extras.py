"""What `doctor` says of the extras is what they hold, and what of it is here (C3)."""

from __future__ import annotations

import sys
import tomllib

import pytest

from langchain_context_engine.cli import main
from langchain_context_engine.cli.extras import EXTRAS, packages_of
from tests.conftest import ROOT

NO_EXTRAS_OF_USERS = {"all", "bench", "test"}


def test_every_extra_is_looked_at():
    """C3: `documents` was not."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(stated) - NO_EXTRAS_OF_USERS


def line_of(extra, capsys):
    main(["doctor", "--store", "nowhere"])
    return next(line for line in capsys.readouterr().out.splitlines() if f"extra {extra} " in line)


@pytest.mark.parametrize("extra", ["code", "server", "mcp", "local"])
def test_doctor_looks_for_what_an_extra_holds(extra, capsys):
    """C3: it asked for a package that the extra does not hold."""
    assert packages_of(extra)
    assert "not installed" not in line_of(extra, capsys)


def install(folder, name, version, *requirements):
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    stated = "".join(f"Requires-Dist: {requirement}\n" for requirement in requirements)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{stated}")


@pytest.mark.parametrize(
    ("requirements", "told"),
    [
        (["harbor>=1; extra == 'local'"], "✓ extra local: harbor 1.5"),
        (['Harbor[x]>=1 ; (extra == "local")'], "✓ extra local: Harbor 1.5"),
        (["harbor>=1; extra == 'local'", "absent; sys_platform == 'win32' and extra == 'local'"], "✓ extra local: harbor 1.5"),
        (["harbor>=1; extra == 'local'", "absent>=2; extra == 'local'"], "not whole (absent missing, >=2 is needed): pip install"),
        (["harbor>=2; extra == 'local'"], "not whole (harbor 1.5, >=2 is needed): pip install"),
        (["absent; extra == 'local'"], "not installed: pip install"),
        (["harbor>=1", "harbor>=1; extra == 'locale'"], "not known to what is installed"),
    ],
    ids=["there", "spelt otherwise", "of another system", "half", "too old", "absent", "unknown"],
)  # fmt: skip
def test_what_is_here_and_what_is_missing_is_told(requirements, told, tmp_path, monkeypatch, capsys):
    """C3."""
    install(tmp_path, "langchain_context_engine", "9.9", *requirements)
    install(tmp_path, "harbor", "1.5")
    monkeypatch.syspath_prepend(tmp_path)
    line = " ".join(line_of("local", capsys).split())
    assert told.replace("local:", "local") in line


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("x = 1", "extra local harbor 1.5"),
        ("import no_such_module_at_all", "broken (harbor 1.5: ModuleNotFoundError: No module named"),
        (
            "raise ImportError('libharbor.so.3: cannot open shared object file')",
            "libharbor.so.3: cannot open",
        ),
        ("raise SystemExit(3)", "broken (harbor 1.5: SystemExit"),
        ("def (", "broken (harbor 1.5: SyntaxError"),
        (None, "broken (harbor 1.5: ModuleNotFoundError: No module named 'harbor'"),
    ],
    ids=[
        "well",
        "what it needs is gone",
        "a library is gone",
        "it ends the program",
        "torn",
        "its files are gone",
    ],
)
def test_what_is_here_but_cannot_be_loaded_is_told_with_the_reason(code, told, tmp_path, monkeypatch, capsys):
    """C3: installed in the right version, and broken all the same."""
    install(tmp_path, "langchain_context_engine", "9.9", "harbor>=1; extra == 'local'")
    install(tmp_path, "harbor", "1.5")
    (tmp_path / "harbor-1.5.dist-info" / "RECORD").write_text(
        "harbor/__init__.py,,\nharbor-1.5.dist-info/METADATA,,\n"
    )
    if code is not None:
        (tmp_path / "harbor").mkdir()
        (tmp_path / "harbor" / "__init__.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "harbor", raising=False)
    code_of_exit = main(["doctor", "--store", "nowhere"])
    said = " ".join(capsys.readouterr().out.split())
    sys.modules.pop("harbor", None)
    assert told in said
    is_broken = code != "x = 1"
    assert ("--force-reinstall" in said, "✗ extra local" in said, code_of_exit == 1) == (is_broken,) * 3


def test_papers_that_are_half_there_are_no_reason_to_end(tmp_path, monkeypatch, capsys):
    """C3: a folder that an interrupted pip left behind."""
    install(tmp_path, "langchain_context_engine", "9.9", "harbor>=1; extra == 'local'")
    (tmp_path / "harbor-1.5.dist-info").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert "not installed" in line_of("local", capsys)
