"""Which collections mirror a folder, and under which name: it may have moved, or the store hold another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_context_engine.errors import ConfigError

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

KINDS = ("code", "commits", "docs")
_FOLDER, _FROM_STORE = "indexed_folder", "indexed_from_store"
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")
_LONGEST_NAME, _SHORTEST_NAME = 60, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What is indexed, and how a collection that mirrors it remembers it.

    Attributes:
        path: The folder, or a single file.
        from_store: The way to it from the store; "" where that is in memory or a server's.
        known: The store's collections: name → metadata.
    """

    path: Path
    from_store: str
    known: Mapping[str, Mapping[str, Any]]

    @property
    def remembered(self) -> dict[str, Any]:
        """What a collection remembers of it."""
        return {_FOLDER: str(self.path)} | ({_FROM_STORE: self.from_store} if self.from_store else {})

    def choose_prefix(self, kinds: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """Return what goes before the collections' names, and a warning where it is none that anybody chose.

        It is what an earlier run over the same folder used, else nothing, else the folder's name.
        """
        own = [
            (name, kind) for name in self.known for kind in KINDS if name.endswith(kind) and self._owns(name)
        ]
        for prefix in sorted({name.removesuffix(kind) for name, kind in own}) or [""]:
            if not self._taken(f"{prefix}{kind}" for kind in kinds):
                return prefix, ()
        names = _names(self.path.name, "-")
        prefix = next(name for name in names if not any(f"{name}{kind}" in self.known for kind in KINDS))
        others = sorted({folder for _, folder in self._taken(kinds)})
        told = (
            f"this store holds {' and '.join(others)} already: {self.path} goes into collections of its own,"
            f" {', '.join(f'{prefix}{kind}' for kind in kinds)}; --name gives it another name"
        )
        return prefix, (told,)

    def choose_name(self) -> str:
        """Return the collection of a single file: that of an earlier run, else it goes by its name."""
        if own := next(filter(self._owns, self.known), None):
            return own
        stem = _UNFIT.sub("-", self.path.stem)[:_LONGEST_NAME].strip("-_")
        if len(stem) >= _SHORTEST_NAME and _FOLDER not in self.known.get(stem, {}):
            return stem
        return next(name for name in _names(self.path.name, "") if name not in self.known)

    def require_free(self, *names: str) -> None:
        """Refuse names whose collections mirror another folder, unless that is gone: it has moved here.

        Raises:
            ConfigError: One does.
        """
        for name, other in self._taken(names):
            if os.path.lexists(other):
                raise ConfigError(
                    f"collection {name!r} mirrors another folder, {other}; index this one under a name of its"
                    " own (--name, or prefix in Python), or delete the collection first (context-engine rm)"
                )

    def _owns(self, name: str) -> bool:
        """Say whether a collection mirrors this: the same folder, or one that moved here with its store."""
        metadata = self.known[name]
        has_moved = bool(self.from_store) and metadata.get(_FROM_STORE) == self.from_store
        return _FOLDER in metadata and (has_moved or metadata[_FOLDER] == str(self.path))

    def _taken(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """Return (collection, folder) of those that mirror something else."""
        found = [name for name in names if _FOLDER in self.known.get(name, {})]
        return [(name, str(self.known[name][_FOLDER])) for name in found if not self._owns(name)]


def origin_of(path: Path, client: ClientAPI) -> Origin:
    """Return what is indexed, as a store sees it."""
    settings = client.get_settings()
    from_store = ""
    if settings.is_persistent:
        from_store = os.path.relpath(path, Path(settings.persist_directory).resolve())
    known = {str(c.name): c.metadata or {} for c in client.list_collections()}
    return Origin(path=path, from_store=from_store, known=known)


def _names(name: str, end: str) -> Iterator[str]:
    fit = _UNFIT.sub("-", name)[:_LONGEST_NAME].strip("-_") or "folder"
    fit = fit if end or len(fit) >= _SHORTEST_NAME else f"file-{fit}"
    return (f"{fit}{f'-{number}' if number > 1 else ''}{end}" for number in count(1))
