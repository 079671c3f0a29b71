"""The wheel as strangers get it: with the lowest versions that it allows, and with each extra alone.

    python -m tests.packaged [lowest|EXTRA …]

Builds the wheel, installs it into fresh environments outside the checkout, and runs there what it is for. Needs a
package index and uv (the extra `test`); about two minutes where the packages are cached.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LOWEST = [
    "test_engine", "search/test_hybrid_search", "search/test_segment", "journal/test_journal",
    "rendering/test_templates", "trace/test_replay",
]  # fmt: skip
"""Tests that need the core and exact tokens alone."""

TOOLS = [
    "pytest>=8.3",
    "pytest-asyncio>=0.24",
    "pytest-socket>=0.7",
    "pytest-timeout>=2.3",
    "hypothesis>=6.100",
]

NOTE = "# Billing\n\nInvoices go out monthly.\n"
ASKED = [["index", "notes.md"], ["ask", "when do invoices go out?", "--text"]]
COMMANDS: dict[str, list[list[str]]] = {
    "local": ASKED,
    "inspector": [["inspect", "--help"]],
    "server": [["serve", "--help"]],
    "mcp": [["mcp", "--help"]],
}
"""What an extra's command line is tried with; every one of them gets `doctor` too."""

BESIDE = {
    "local": ("cli", "ingest"),
    "inspector": ("cli",),
    "server": ("cli",),
    "mcp": ("cli",),
    "code": ("ingest",),
    "documents": ("ingest",),
}
"""Extras that an extra's commands and imports need beside it."""

IMPORTS = {
    "cli": "from langchain_context_engine.cli import main; main(['--help'])",
    "ingest": "from langchain_context_engine.ingest import index_repository",
    "openai": "from langchain_context_engine import OpenAIEmbeddings; OpenAIEmbeddings(api_key='x')",
    "agents": "from langchain_context_engine.langchain.middleware import ContextEngineMiddleware",
    "inspector": "from langchain_context_engine.cli.inspect import app_path; import streamlit\n"
    "assert app_path().is_file()",
    "server": "from langchain_context_engine.serving.server import create_app; import fastapi, uvicorn",
    "mcp": "import langchain_context_engine.serving.mcp_server",
    "code": "import tree_sitter, tree_sitter_rust",
    "documents": "import kreuzberg, pypdfium2, python_calamine",
    "local": "from langchain_context_engine import LocalEmbeddings; assert len(LocalEmbeddings().embed_query('x'))",
}


def run(*command: str | Path, folder: Path) -> None:
    """Run a command outside the checkout.

    Raises:
        SystemExit: It failed.
    """
    told = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
    )
    if told.returncode:
        sys.stderr.write(told.stdout[-4000:] + told.stderr[-4000:])
        raise SystemExit(f"failed: {' '.join(map(str, command))}")


def environment(folder: Path, *packages: str, lowest: bool = False) -> Path:
    """Return the folder of the programs of a fresh environment with some packages."""
    run("uv", "venv", "-q", "--python", sys.executable, folder, folder=folder.parent)
    how = ["--resolution", "lowest-direct"] if lowest else []
    run(
        "uv",
        "pip",
        "install",
        "-q",
        "--python",
        folder / "bin" / "python",
        *how,
        *packages,
        folder=folder.parent,
    )
    return folder / "bin"


def with_the_lowest(wheel: Path, work: Path) -> None:
    """Run tests of the core with the lowest versions of what it depends on."""
    programs = environment(work / "lowest", f"{wheel}[cli,ingest,local]", *TOOLS, lowest=True)
    tests = [f"tests/{name}.py" for name in LOWEST]
    # From the checkout for its tests, without it in the path: the package is the installed one.
    python = [
        programs / "python",
        "-P",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
        "-k",
        "not langchain_store",
    ]
    run(*python, *tests, folder=ROOT)


def with_one_extra(extra: str, wheel: Path, work: Path) -> None:
    """Install one extra alone and run what it is for."""
    programs = environment(
        work / extra, f"{wheel}[{','.join(dict.fromkeys((extra, *BESIDE.get(extra, ()))))}]"
    )
    place = work / f"{extra}-place"
    place.mkdir()
    (place / "notes.md").write_text(NOTE)
    run(programs / "python", "-c", IMPORTS[extra], folder=place)
    for arguments in [*COMMANDS.get(extra, []), ["--help"]]:
        if extra == "cli" or "cli" in BESIDE.get(extra, ()):
            run(programs / "context-engine", *arguments, folder=place)


def main() -> None:
    """Do all of it, saying what took how long."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        run("uv", "build", "-q", "--wheel", "--out-dir", work, ROOT, folder=work)
        (wheel,) = work.glob("*.whl")
        for name in sys.argv[1:] or ("lowest", *IMPORTS):
            start = time.monotonic()
            if name == "lowest":
                with_the_lowest(wheel, work)
            else:
                with_one_extra(name, wheel, work)
            sys.stdout.write(f"{name}: {time.monotonic() - start:.0f} s\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
