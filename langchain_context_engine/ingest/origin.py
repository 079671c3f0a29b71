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

    @classmethod
    def of(cls, path: Path, client: ClientAPI) -> Origin:
        """Return what is indexed, as a store sees it."""
        settings = client.get_settings()
        store = Path(settings.persist_directory).resolve() if settings.is_persistent else None
        known = {str(c.name): c.metadata or {} for c in client.list_collections()}
        return cls(path=path, from_store=os.path.relpath(path, store) if store else "", known=known)

    @property
    def remembered(self) -> dict[str, Any]:
        """What a collection remembers of it."""
        return {_FOLDER: str(self.path)} | ({_FROM_STORE: self.from_store} if self.from_store else {})

    def choose_prefix(self, kinds: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """Return what goes before the collections' names, and a warning where it is none that anybody chose.

        It is what an earlier run over the same folder used, else nothing, else the folder's name.
        """
        own = {n.removesuffix(k) for n in self.known for k in KINDS if n.endswith(k) and self._owns(n)}
        for prefix in sorted(own) or [""]:
            if not self._taken(f"{prefix}{kind}" for kind in kinds):
                return prefix, ()
        names = (f"{name}-" for name in _names(self.path.name))
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
        names = (name for stem in (self.path.stem, self.path.name) for name in [next(_names(stem))])
        free = (
            name for name in names if len(name) >= _SHORTEST_NAME and _FOLDER not in self.known.get(name, {})
        )
        numbered = (f"file-{name}" for name in _names(self.path.name))
        return next(free, None) or next(name for name in numbered if name not in self.known)

    def require_free(self, *names: str) -> None:
        """Refuse (ConfigError) names whose collections mirror another folder, unless that has moved here."""
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


def _names(name: str) -> Iterator[str]:
    fit = _UNFIT.sub("-", name)[:_LONGEST_NAME].strip("-_") or "folder"
    return (f"{fit}{f'-{number}' if number > 1 else ''}" for number in count(1))
