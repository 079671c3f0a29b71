"""Options that several commands share, and reading what stands in them."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate

import typer

from langchain_context_engine.cli.embedders import AUTO
from langchain_context_engine.cli.store import DEFAULT_STORE, Store, nearest_store
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.kept import kept_property

if TYPE_CHECKING:
    from langchain_context_engine.config import SettingsFile
    from langchain_context_engine.engine import ContextEngine

StoreOption = Annotated[
    Path,
    typer.Option(
        "--store",
        "-s",
        metavar="DIR",
        callback=nearest_store,
        help="Folder of the store, or of any persistent Chroma; by default here or in a folder above.",
    ),
]
EmbeddingsOption = Annotated[
    str,
    typer.Option(
        "--embeddings", "-e", metavar="NAME", help="auto, local, openai or openai:MODEL; what embeds."
    ),
]
CollectionsOption = Annotated[
    list[str] | None,
    typer.Option("--collection", "-c", metavar="NAME", help="Ask only this collection; repeatable."),
]
ScopeOption = Annotated[
    list[str] | None,
    typer.Option("--scope", metavar="KEY=VALUE", help="Metadata that must match; repeatable."),
]
RecordsOption = Annotated[
    bool, typer.Option("--journal/--no-journal", help="Record the traces, for explain and inspect.")
]
JournalOption = Annotated[
    Path | None, typer.Option("--journal", "-j", help="A journal of your application; else the store's.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, nothing else.")]

_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kmg]?)(?P<binary>i?)b?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What a command was told of the store and of the engine over it; each field is an option."""

    store: StoreOption = DEFAULT_STORE
    collections: CollectionsOption = None
    weights: Annotated[
        list[str] | None,
        typer.Option("--weight", "-w", metavar="SIGNAL=NUMBER", help="Weigh a signal; repeatable."),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any setting of the engine, as JSON; repeatable."),
    ] = None
    settings_file: Annotated[
        Path | None, typer.Option("--settings", metavar="FILE", help="Settings in TOML or JSON.")
    ] = None
    embeddings: EmbeddingsOption = AUTO

    @property
    def home(self) -> Store:
        """The store."""
        return Store(self.store)

    @kept_property
    def file(self) -> SettingsFile:
        """What the file of settings says: nothing where none is named."""
        from langchain_context_engine.config import SettingsFile, read_settings

        return SettingsFile() if self.settings_file is None else read_settings(self.settings_file)

    def refuse_request(self) -> None:
        """Raise where the file says something of the question, which the caller asks."""
        if self.file.request:
            raise ConfigError(
                f"{self.settings_file}: the table 'request' is the caller's to send; leave it out here"
            )

    def given(self, *, records: bool) -> Mapping[str, Any]:
        """Return the engine's settings: those of the file, then `--set` and `--weight`, and its journal."""
        settings = {**self.file.settings, **read_pairs("--set", self.settings)}
        if weights := read_pairs("--weight", self.weights):
            settings["weights"] = weights
        return {"journal": str(self.home.journal_path) if records else None, **settings}

    def engine(self, *, records: bool) -> ContextEngine:
        """Return the engine over the store, which records its answers or not."""
        return self.home.engine(
            names=self.collections, embeddings=self.embeddings, **self.given(records=records)
        )


def with_engine_options(command: Callable[Concatenate[EngineOptions, ...], None]) -> Callable[..., None]:
    """Return a command that takes the options of `EngineOptions` beside its own, which come first."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    shared = inspect.signature(EngineOptions, eval_str=True).parameters

    @wraps(command)
    def taking(**told: Any) -> None:
        options = EngineOptions(**{name: told.pop(name) for name in shared})
        command(options, **told)

    parameters = [each.replace(kind=each.KEYWORD_ONLY) for each in (*own, *shared.values())]
    taking.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    taking.__annotations__ = {each.name: each.annotation for each in parameters}
    return taking


def read_pairs(option: str, pairs: Iterable[str] | None) -> dict[str, Any]:
    """Return NAME=VALUE options as a dictionary; a value that is JSON is read as JSON, else as a string.

    Example:
        >>> read_pairs("--scope", ["workspace_id=acme", "level=3", 'code="3"'])
        {'workspace_id': 'acme', 'level': 3, 'code': '3'}
    """
    found = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{option} takes NAME=VALUE, got {pair!r}")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value
    return found


def read_size(option: str, size: str) -> int:
    """Return a size in bytes.

    Example:
        >>> read_size("--max-size", "2MB"), read_size("--max-size", "1.5 KiB"), read_size("--max-size", "10")
        (2000000, 1536, 10)
    """
    found = _SIZE.fullmatch(size.strip())
    if found is None:
        raise ConfigError(f"{option} takes a size such as 500kB, 2MB or 1GiB, got {size!r}")
    step = 1024 if found["binary"] else 1000
    return int(float(found["number"]) * step ** " kmg".index(found["unit"].lower() or " "))
