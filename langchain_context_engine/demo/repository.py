"""The bundled repository of the fictional Harbor, for when the demo runs outside of a checkout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import pygit2
from pygit2.enums import CheckoutStrategy, FileMode

from langchain_context_engine.models.errors import ConfigError

_BRANCH = "refs/heads/main"


def create_demo_repository(directory: str | Path) -> Path:
    """Return a git repository with the eight commits of Harbor, made in a directory or renewed there.

    Files, dates and hashes are the same everywhere and every time.

    Args:
        directory: Where the working tree goes; created if need be.

    Raises:
        ConfigError: It cannot be written there.
    """
    root = Path(directory)
    stream = files("langchain_context_engine.demo").joinpath("data", "harbor.fast-export").read_bytes()
    try:
        root.mkdir(parents=True, exist_ok=True)
        repository = pygit2.init_repository(str(root), initial_head="main")
        # No conversion of line ends: the files are to be the same on every system.
        repository.config["core.autocrlf"] = False
        head = _Import(repository).commits(stream)
        repository.references.create(_BRANCH, head, force=True)
        repository.set_head(_BRANCH)
        repository.checkout("HEAD", strategy=CheckoutStrategy.FORCE)
    except (pygit2.GitError, OSError) as error:
        raise ConfigError(f"the demo's repository cannot be made in {root}: {error}") from error
    return root


@dataclass(slots=True)
class _Import:
    """Makes commits of what `git fast-export` wrote of files on one branch.

    Attributes:
        repository: Where they go.
        marks: Number in the stream → object.
        index: The files of the last commit.
    """

    repository: pygit2.Repository
    marks: dict[bytes, pygit2.Oid] = field(default_factory=dict)
    index: pygit2.Index = field(default_factory=pygit2.Index)

    def commits(self, stream: bytes) -> pygit2.Oid:
        """Return the last commit."""
        head = None
        for kind, fields, data, changes in _commands(stream):
            if kind == b"blob":
                self.marks[fields[b"mark"]] = self.repository.create_blob(data)
            elif kind == b"commit":
                head = self.marks[fields[b"mark"]] = self._commit(fields, data.decode(), changes)
        if head is None:
            raise ConfigError("the demo's repository holds no commit")
        return head

    def _commit(self, fields: dict[bytes, bytes], message: str, changes: list[bytes]) -> pygit2.Oid:
        for change in changes:
            _, mode, mark, path = change.split(b" ", 3)
            entry = pygit2.IndexEntry(path.decode(), self.marks[mark], FileMode(int(mode, 8)))
            self.index.add(entry)
        return self.repository.create_commit(
            None,
            _signature(fields[b"author"]),
            _signature(fields[b"committer"]),
            message,
            self.index.write_tree(self.repository),
            [self.marks[fields[b"from"]]] if b"from" in fields else [],
        )


def _commands(stream: bytes) -> Iterator[tuple[bytes, dict[bytes, bytes], bytes, list[bytes]]]:
    """Yield (kind, fields, data, changed files) of each blob and commit."""
    position = 0
    kind, fields, data, changes = b"", dict[bytes, bytes](), b"", list[bytes]()
    while position < len(stream):
        end = stream.index(b"\n", position)
        name, _, value = stream[position:end].partition(b" ")
        position = end + 1
        if name in {b"blob", b"commit"}:
            yield kind, fields, data, changes
            kind, fields, data, changes = name, {}, b"", []
        elif name == b"data":
            data = stream[position : position + int(value)]
            position += int(value)
        elif name == b"M":
            changes.append(name + b" " + value)
        elif name:
            fields[name] = value
    yield kind, fields, data, changes


def _signature(line: bytes) -> pygit2.Signature:
    name, _, rest = line.decode().partition(" <")
    email, _, when = rest.partition("> ")
    seconds, zone = when.split()
    minutes = int(zone[1:3]) * 60 + int(zone[3:5])
    return pygit2.Signature(name, email, int(seconds), -minutes if zone[0] == "-" else minutes, "utf-8")
