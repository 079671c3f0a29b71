"""The options of every command that asks a store: which store, what of it, and how it is ranked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate

from langchain_context_engine.cli import embedders
from langchain_context_engine.cli.options import (
    DEFAULT_STORE,
    CollectionsOption,
    EmbeddingsOption,
    SettingsFileOption,
    SettingsOption,
    StoreOption,
    WeightsOption,
    read_pairs,
)
from langchain_context_engine.cli.store import Store
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.kept import kept_property

if TYPE_CHECKING:
    from langchain_context_engine.engine import ContextEngine
    from langchain_context_engine.trace.settings_file import SettingsFile


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What a command was told of the store and of the engine over it; each field is an option."""

    store: StoreOption = DEFAULT_STORE
    collections: CollectionsOption = None
    weights: WeightsOption = None
    settings: SettingsOption = None
    settings_file: SettingsFileOption = None
    embeddings: EmbeddingsOption = embedders.AUTO

    @property
    def home(self) -> Store:
        """The store."""
        return Store(self.store)

    @kept_property
    def file(self) -> SettingsFile:
        """What the file of settings says: nothing where none is named."""
        from langchain_context_engine.trace.settings_file import SettingsFile, read_settings

        return SettingsFile() if self.settings_file is None else read_settings(self.settings_file)

    def refuse_request(self) -> None:
        """Raise where the file says something of the question, which the caller asks.

        Raises:
            ConfigError: It does.
        """
        if self.file.request:
            raise ConfigError(
                f"{self.settings_file}: the table 'request' is the caller's to send; leave it out here"
            )

    def given(self, *, records: bool) -> Mapping[str, Any]:
        """Return the engine's settings: those of the file, over them `--set` and `--weight`, and its journal.

        Args:
            records: Keep the store's journal.

        Raises:
            ConfigError: One is not NAME=VALUE.
        """
        settings = {**self.file.settings, **read_pairs("--set", self.settings)}
        if weights := read_pairs("--weight", self.weights):
            settings["weights"] = weights
        return {"journal": str(self.home.journal_path) if records else None, **settings}

    def engine(self, *, records: bool) -> ContextEngine:
        """Return the engine over the store.

        Args:
            records: Keep the store's journal.
        """
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
