from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from inspector import opening
from langchain_context_engine import ConfigError
from langchain_context_engine.cli import inspect as inspecting
from tests.inspector.walking import answers, launched

ROOT = Path(inspecting.__file__).parents[2]


def _flags(**settings):
    command = inspecting.inspect_command(Path("app.py"), **settings)
    return command, dict(flag.removeprefix("--").split("=", 1) for flag in command[5:])


def test_it_listens_on_this_machine_alone_and_sends_no_statistics():
    command, flags = _flags()
    assert command[:2] == [sys.executable, "-m"]
    assert flags["server.address"] == "127.0.0.1"
    assert flags["browser.gatherUsageStats"] == "false"
    assert flags["server.enableXsrfProtection"] == "true"
    assert flags["client.showErrorLinks"] == "false"
    assert [f for f in command if "allowedHosts" in f] == [
        "--server.allowedHosts=127.0.0.1",
        "--server.allowedHosts=localhost",
    ]


def test_streamlit_knows_every_flag():
    from streamlit import config

    known = config.get_config_options()
    assert [name for name in _flags()[1] if name not in known] == []


def test_paths_are_passed_on_outside_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trace = tmp_path / "t.json"
    trace.write_text("{}")
    environment = inspecting.inspect_environment(Path("j.db"), Path("t.json"))
    assert environment[opening.JOURNAL_VARIABLE] == str(tmp_path / "j.db")
    assert environment[opening.TRACE_VARIABLE] == str(trace)
    with pytest.raises(ConfigError, match="there is no trace"):
        inspecting.inspect_environment(None, Path("gone.json"))


def test_the_app_is_found_where_a_wheel_puts_it_and_imports_beside_a_foreign_inspector(tmp_path):
    """An installed wheel: the files lie inside the package, and an unrelated `inspector.py` is installed."""
    site = tmp_path / "site"
    archive = tmp_path / "wheel.zip"
    with zipfile.ZipFile(archive, "w") as wheel:
        for path in (ROOT / "langchain_context_engine").rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                wheel.write(path, path.relative_to(ROOT))
        for path in (ROOT / "inspector").rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                wheel.write(path, Path("langchain_context_engine") / path.relative_to(ROOT))
    with zipfile.ZipFile(archive) as wheel:
        wheel.extractall(site)
    (site / "inspector.py").write_text("raise SystemExit('the wrong inspector')")
    code = (
        "from langchain_context_engine.cli.inspect import app_path\n"
        "from streamlit.testing.v1 import AppTest\n"
        "at = AppTest.from_file(str(app_path()), default_timeout=60)\n"
        "at.query_params['trace'] = 'sample-latest'\n"
        "at.run()\n"
        "from streamlit.util import calc_hash\n"
        "at._page_hash = calc_hash('explain')\n"
        "at.run()\n"
        "drawn = [e.proto.body for e in at.main.children.values() if e.type == 'html']\n"
        "print(app_path(), len(at.exception), any('ce-facts' in html for html in drawn))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.stdout.split()[-3:] == [
        str(site / "langchain_context_engine" / "inspector" / "app.py"),
        "0",
        "True",
    ], done.stderr[-2000:]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_launcher_that_is_told_to_end_ends_its_server():
    with launched() as url:
        assert answers(url)
    assert not answers(url)


def test_files_that_are_missing_are_told_by_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(inspecting, "__file__", str(tmp_path / "package" / "cli" / "inspect.py"))
    with pytest.raises(ConfigError, match="install"):
        inspecting.app_path()
