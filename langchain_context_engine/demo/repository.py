"""The bundled repository of the fictional Harbor, for when the demo runs outside of a checkout."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from langchain_context_engine.errors import ConfigError

_BRANCH = "refs/heads/main"


def create_demo_repository(directory: str | Path) -> Path:
    """Return a git repository with the commits of `data/harbor.jsonl`, made in a directory or renewed there.

    Files, dates and hashes are the same everywhere and every time.

    Raises:
        ConfigError: It cannot be written there.
    """
    import pygit2
    from pygit2.enums import CheckoutStrategy, FileMode

    root = Path(directory)
    lines = (
        files("langchain_context_engine.demo").joinpath("data", "harbor.jsonl").read_text(encoding="utf-8")
    )
    try:
        root.mkdir(parents=True, exist_ok=True)
        repository = pygit2.init_repository(str(root), initial_head="main")
        # No conversion of line ends: the files are to be the same on every system.
        repository.config["core.autocrlf"] = False
        index, parents = pygit2.Index(), list[pygit2.Oid]()
        for commit in map(json.loads, lines.splitlines()):
            for path, text in commit["files"].items():
                index.add(pygit2.IndexEntry(path, repository.create_blob(text.encode()), FileMode.BLOB))
            who = pygit2.Signature(
                commit["author"], commit["email"], commit["seconds"], commit["offset"], "utf-8"
            )
            tree = index.write_tree(repository)
            parents = [repository.create_commit(None, who, who, commit["message"], tree, parents)]
        repository.references.create(_BRANCH, parents[0], force=True)
        repository.set_head(_BRANCH)
        repository.checkout("HEAD", strategy=CheckoutStrategy.FORCE)
    except (pygit2.GitError, OSError) as error:
        raise ConfigError(f"the demo's repository cannot be made in {root}: {error}") from error
    return root
