"""The README runs: its Python as written, its printed output as printed, its commands as named."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from dataclasses import dataclass

import pytest

from langchain_context_engine.cli import main
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A block of Python, and what stands under it as its output, or None."""

    code: str
    output: str | None


def _sections() -> dict[str, list[Step]]:
    """Return the blocks of Python by section, each with the block of text that directly follows it."""
    found: dict[str, list[Step]] = {}
    starts = [(0, "first screen"), *((m.start(), m.group(1)) for m in _HEADING.finditer(README))]
    blocks = list(_BLOCK.finditer(README))
    for number, block in enumerate(blocks):
        if block.group(1) != "python":
            continue
        after = blocks[number + 1] if number + 1 < len(blocks) else None
        is_output = after and after.group(1) == "text" and not README[block.end() : after.start()].strip()
        section = next(title for start, title in reversed(starts) if start <= block.start())
        found.setdefault(section, []).append(
            Step(block.group(2), after.group(2) if after and is_output else None)
        )
    return found


SECTIONS = _sections()


@pytest.mark.parametrize("section", SECTIONS)
def test_the_python_of_a_section_runs_and_prints_what_the_readme_shows(section, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__readme__"}
    # Later sections go on with the engine of the first.
    steps = [*(SECTIONS["first screen"] if section != "first screen" else []), *SECTIONS[section]]
    for step in steps:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(step.code, f"README.md, {section}", "exec"), namespace)
        if step.output is not None:
            assert printed.getvalue().strip() == step.output.strip()


def test_the_first_screen_shows_a_context_and_why_a_candidate_was_dropped():
    first = README[: _HEADING.search(README).start()]
    assert len(first.splitlines()) <= 60
    assert SECTIONS["first screen"][0].output is not None
    assert "dropped:" in SECTIONS["first screen"][0].output


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


@pytest.mark.parametrize("marker", ["demo", "test"])
def test_the_two_setup_commands_are_one_line_of_shell_each(marker):
    block = _BLOCK.search(README, README.index(f"<!-- command: {marker} -->"))
    assert block.group(1) == "bash"
    joined = block.group(2).replace("\\\n", " ").strip()
    assert "\n" not in joined
    assert joined.startswith("python3 -m venv .venv && ")


def test_what_the_readme_links_to_in_this_repository_is_there():
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", README + CHANGELOG)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_links_within_the_readme_lead_to_a_heading():
    anchors = {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.+)$", README, re.MULTILINE)
    }
    assert [target for target in re.findall(r"\]\(#([^)]+)\)", README) if target not in anchors] == []
