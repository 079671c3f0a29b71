"""The README runs: its Python as written, its printed output as printed, its commands as named."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

import pytest

from langchain_context_engine.cli import main
from tests.conftest import ROOT

DOCUMENTS = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in (
        "README.md",
        "langchain_context_engine/designs/README.md",
        "tests/benchmarks/README.md",
        ".github/CONTRIBUTING.md",
        ".github/SECURITY.md",
    )
}
README = DOCUMENTS["README.md"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A block of Python, and what stands under it as its output, or None."""

    code: str
    output: str | None


def _steps(text: str) -> list[Step]:
    """Return the blocks of Python in order, each with the block of text that directly follows it."""
    found = []
    blocks = list(_BLOCK.finditer(text))
    for number, block in enumerate(blocks):
        if block.group(1) != "python":
            continue
        after = blocks[number + 1] if number + 1 < len(blocks) else None
        is_output = after and after.group(1) == "text" and not text[block.end() : after.start()].strip()
        found.append(Step(block.group(2), after.group(2) if after and is_output else None))
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_python_of_a_document_runs_from_top_to_bottom_and_prints_what_it_shows(
    name, tmp_path, monkeypatch
):
    """C6: one script, as somebody pastes it."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__readme__"}
    for number, step in enumerate(_steps(DOCUMENTS[name]), 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(step.code, f"{name}, block {number}", "exec"), namespace)
        if step.output is not None:
            assert printed.getvalue().strip() == step.output.strip(), f"block {number}"


def _is_module(name: str) -> bool:
    with contextlib.suppress(ModuleNotFoundError):
        return find_spec(name) is not None
    return False


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_dotted_name_of_a_document_can_be_imported(name):
    for dotted in set(re.findall(r"langchain_context_engine(?:\.\w+)+", DOCUMENTS[name])):
        assert _is_module(dotted) or hasattr(
            import_module(dotted.rpartition(".")[0]), dotted.rpartition(".")[2]
        )


def _commands() -> list[list[str]]:
    """Return the arguments of every `context-engine` command in the README."""
    lines = [
        line
        for block in _BLOCK.finditer(README)
        if block.group(1) == "bash"
        for line in block.group(2).splitlines()
    ]
    found = [
        line.split("context-engine ", 1)[1] for line in lines if re.search(r"(^|/)context-engine ", line)
    ]
    return [shlex.split(command, comments=True) for command in found]


@pytest.mark.parametrize("command", sorted({arguments[0] for arguments in _commands()}))
def test_every_command_of_the_readme_is_there(command, capsys):
    assert main([command, "--help"]) == 0
    assert capsys.readouterr().out


def test_every_option_of_the_readme_is_there(capsys):
    for command, *arguments in _commands():
        main([command, "--help"])
        told = capsys.readouterr().out
        for option in [a for a in arguments if a.startswith("--")]:
            assert option.split("=")[0] in told, f"{command} {option}"


def test_the_address_of_the_readme_is_where_serve_answers(capsys):
    main(["serve", "--help"])
    told = capsys.readouterr().out
    assert [port for port in re.findall(r"http://127\.0\.0\.1:(\d+)", README) if port not in told] == []


@pytest.mark.parametrize("marker", ["demo", "test"])
def test_the_two_setup_commands_are_one_line_of_shell_each(marker):
    block = _BLOCK.search(README, README.index(f"<!-- command: {marker} -->"))
    assert block.group(1) == "bash"
    joined = block.group(2).replace("\\\n", " ").strip()
    assert "\n" not in joined
    assert joined.startswith("python3 -m venv .venv && ")


def test_what_the_readme_links_to_in_this_repository_is_there():
    link = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
    folders = {**{name: (ROOT / name).parent for name in DOCUMENTS}, "CHANGELOG.md": ROOT}
    texts = {**DOCUMENTS, "CHANGELOG.md": CHANGELOG}
    targets = [folders[name] / target for name, text in texts.items() for target in link.findall(text)]
    assert targets
    assert [target for target in targets if not target.exists()] == []
