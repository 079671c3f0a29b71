"""Options that several commands share, and reading what stands in them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate

import typer

from langchain_context_engine.cli.embedders import AUTO
from langchain_context_engine.cli.store import DEFAULT_STORE, Store, nearest_store
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.metadata import read_pairs

if TYPE_CHECKING:
    from langchain_context_engine.config import SettingsFile
    from langchain_context_engine.engine import ContextEngine

Texts = list[str] | None
"""What is said by a repeatable option."""

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
    str, typer.Option("--embeddings", "-e", metavar="NAME", help="auto, local, openai or openai:MODEL.")
]
CollectionsOption = Annotated[
    Texts, typer.Option("--collection", "-c", metavar="NAME", help="Ask only this collection; repeatable.")
]
ScopeOption = Annotated[
    Texts, typer.Option("--scope", metavar="KEY=VALUE", help="Metadata that must match; repeatable.")
]
RecordsOption = Annotated[
    bool, typer.Option("--journal/--no-journal", help="Record the traces, for explain and inspect.")
]
JournalOption = Annotated[
    Path | None, typer.Option("--journal", "-j", help="A journal of your application; else the store's.")
]


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What a command was told of the store and of the engine over it; each field is an option."""

    store: StoreOption = DEFAULT_STORE
    collections: CollectionsOption = None
    weights: Annotated[
        Texts, typer.Option("--weight", "-w", metavar="SIGNAL=NUMBER", help="Weigh a signal; repeatable.")
    ] = None
    settings: Annotated[
        Texts, typer.Option("--set", metavar="NAME=VALUE", help="Any setting, as JSON; repeatable.")
    ] = None
    settings_file: Annotated[
        Path | None, typer.Option("--settings", metavar="FILE", help="Settings in TOML or JSON.")
    ] = None
    embeddings: EmbeddingsOption = AUTO

    @property
    def home(self) -> Store:
        """The store."""
        return Store(self.store)

    @property
    def file(self) -> SettingsFile:
        """What the file of settings says: nothing where none is named."""
        from langchain_context_engine.config import SettingsFile, read_settings

        return SettingsFile({}, {}) if self.settings_file is None else read_settings(self.settings_file)

    def engine(self, *, records: bool, is_asked_by_others: bool = False) -> ContextEngine:
        """Return the engine over the store."""
        given = self.given(records=records, is_asked_by_others=is_asked_by_others)
        return self.home.engine(names=self.collections, embeddings=self.embeddings, **given)

    def given(self, *, records: bool, is_asked_by_others: bool = False) -> dict[str, Any]:
        """Return the engine's settings: those of the file, then `--set` and `--weight`, and its journal.

        Who answers others takes no question from the file.
        """
        if is_asked_by_others and self.file.request:
            raise ConfigError(
                f"{self.settings_file}: the table 'request' is the caller's to send; leave it out here"
            )
        settings = {**self.file.settings, **read_pairs("--set", self.settings)}
        if weights := read_pairs("--weight", self.weights):
            settings["weights"] = weights
        settings.setdefault("journal", str(self.home.journal_path) if records else None)
        return settings


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
