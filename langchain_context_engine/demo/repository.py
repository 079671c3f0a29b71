"""The bundled repository of the fictional Harbor, for when the demo runs outside of a checkout."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from langchain_context_engine.ingest.git import run_git

_BRANCH = "refs/heads/main"


def create_demo_repository(directory: str | Path) -> Path:
    """Return a git repository with the eight commits of Harbor, made in a directory or renewed there.

    Files, dates and hashes are the same everywhere and every time.

    Args:
        directory: Where the working tree goes; created if need be.

    Raises:
        ConfigError: git is not installed, or cannot write there.
    """
    root = Path(directory)
    root.mkdir(parents=True, exist_ok=True)
    history = files("langchain_context_engine.demo").joinpath("data", "harbor.fast-export").read_bytes()
    run_git(root, "init", "--quiet")
    run_git(root, "symbolic-ref", "HEAD", _BRANCH)
    run_git(root, "fast-import", "--quiet", "--force", stdin=history)
    # No conversion of line ends: the files are to be the same on every system.
    run_git(root, "-c", "core.autocrlf=false", "reset", "--quiet", "--hard", _BRANCH)
    return root
