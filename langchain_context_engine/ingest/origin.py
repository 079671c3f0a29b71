"""Which collections mirror a folder, and under which name: it may have moved, or the store hold another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_context_engine.errors import ConfigError

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

_FOLDER, _FROM_STORE = "indexed_folder", "indexed_from_store"
_KINDS = ("code", "commits", "docs")
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")
_LONGEST_NAME, _SHORTEST_NAME = 60, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What is indexed, and how a collection that mirrors it remembers it.

    Attributes:
        path: The folder, or a single file.
        from_store: The way to it from the store; "" where that is in memory or a server's.
    """

    path: Path
    from_store: str = ""

    @property
    def remembered(self) -> dict[str, Any]:
        """What a collection remembers of it."""
        return {_FOLDER: str(self.path)} | ({_FROM_STORE: self.from_store} if self.from_store else {})

    def is_of(self, metadata: Mapping[str, Any]) -> bool:
        """Say whether a collection mirrors this: the same folder, or one that moved here with its store."""
        if _FOLDER not in metadata:
            return False
        has_moved = bool(self.from_store) and metadata.get(_FROM_STORE) == self.from_store
        return has_moved or metadata[_FOLDER] == str(self.path)


def origin_of(path: Path, client: ClientAPI) -> Origin:
    """Return what is indexed, as a store sees it."""
    settings = client.get_settings()
    if not settings.is_persistent:
        return Origin(path=path)
    return Origin(path=path, from_store=os.path.relpath(path, Path(settings.persist_directory).resolve()))


def choose_prefix(client: ClientAPI, origin: Origin, kinds: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return what goes before the collections' names, and a warning where it is none that anybody chose.

    It is what an earlier run over the same folder used, else nothing, else the folder's name.
    """
    known = _metadata(client)
    earlier = {
        name.removesuffix(kind)
        for name, metadata in known.items()
        for kind in _KINDS
        if name.endswith(kind) and origin.is_of(metadata)
    }
    for prefix in sorted(earlier) or [""]:
        if not _taken(known, origin, prefix, kinds):
            return prefix, ()
    names = _names(origin.path.name, "-")
    prefix = next(name for name in names if not any(f"{name}{kind}" in known for kind in _KINDS))
    others = sorted({folder for _, folder in _taken(known, origin, "", kinds)})
    own = ", ".join(f"{prefix}{kind}" for kind in kinds)
    told = (
        f"this store holds {' and '.join(others)} already: {origin.path} goes into collections of its own,"
        f" {own}; --name gives it another name"
    )
    return prefix, (told,)


def choose_name(client: ClientAPI, origin: Origin) -> str:
    """Return the collection of a single file: that of an earlier run, else its name without the suffix."""
    known = _metadata(client)
    for name, metadata in known.items():
        if origin.is_of(metadata):
            return name
    stem = _UNFIT.sub("-", origin.path.stem)[:_LONGEST_NAME].strip("-_")
    if len(stem) >= _SHORTEST_NAME and _FOLDER not in known.get(stem, {}):
        return stem
    return next(name for name in _names(origin.path.name, "") if name not in known)


def require_free(client: ClientAPI, origin: Origin, prefix: str, kinds: Sequence[str]) -> None:
    """Refuse names whose collections mirror another folder, unless that is gone: it has moved here.

    Args:
        client: The store's.
        origin: What is indexed.
        prefix: What goes before the names.
        kinds: Of the collections.

    Raises:
        ConfigError: One does.
    """
    for name, other in _taken(_metadata(client), origin, prefix, kinds):
        if not os.path.lexists(other):
            continue
        raise ConfigError(
            f"collection {name!r} mirrors another folder, {other}; index this one under a name of its own"
            " (--name, or prefix in Python), or delete the collection first (context-engine rm)"
        )


def _taken(
    known: Mapping[str, Mapping[str, Any]], origin: Origin, prefix: str, kinds: Sequence[str]
) -> list[tuple[str, str]]:
    """Return (collection, folder) of those that mirror something else."""
    found = [(name, known.get(name, {})) for name in (f"{prefix}{kind}" for kind in kinds)]
    return [(name, str(m[_FOLDER])) for name, m in found if _FOLDER in m and not origin.is_of(m)]


def _metadata(client: ClientAPI) -> dict[str, Mapping[str, Any]]:
    return {str(c.name): c.metadata or {} for c in client.list_collections()}


def _names(name: str, end: str) -> Iterable[str]:
    fit = _UNFIT.sub("-", name)[:_LONGEST_NAME].strip("-_") or "folder"
    fit = fit if end or len(fit) >= _SHORTEST_NAME else f"file-{fit}"
    return (f"{fit}{f'-{number}' if number > 1 else ''}{end}" for number in count(1))
