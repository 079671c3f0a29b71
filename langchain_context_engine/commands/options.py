"""Options that several commands share, and reading what stands in them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from langchain_context_engine.answering.settings_file import SettingsFile
from langchain_context_engine.values.errors import ConfigError

DEFAULT_STORE = Path(".context-engine")

StoreOption = Annotated[
    Path,
    typer.Option("--store", "-s", metavar="DIR", help="Folder of the store, or of any persistent Chroma."),
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
WeightsOption = Annotated[
    list[str] | None,
    typer.Option("--weight", "-w", metavar="SIGNAL=NUMBER", help="Weigh a signal; repeatable."),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any setting of the engine, as JSON; repeatable."),
]

SettingsFileOption = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE", help="Settings in TOML or JSON."),
]


def read_pairs(option: str, pairs: Iterable[str] | None) -> dict[str, Any]:
    """Return NAME=VALUE options as a dictionary; a value that is JSON is read as JSON, else as a string.

    Raises:
        ConfigError: One has no `=`, or nothing before it.

    Example:
        >>> read_pairs("--scope", ["workspace_id=acme", "level=3", 'code="3"'])
        {'workspace_id': 'acme', 'level': 3, 'code': '3'}
    """
    found = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{option} takes NAME=VALUE, got {pair!r}")
        found[name.strip()] = _read_value(value)
    return found


def read_settings(
    settings: Iterable[str] | None, weights: Iterable[str] | None, file: SettingsFile | None = None
) -> dict[str, Any]:
    """Return the engine's settings that a file, and over it `--set` and `--weight` name.

    Raises:
        ConfigError: One is not NAME=VALUE.
    """
    given = {**(file.settings if file else {}), **read_pairs("--set", settings)}
    weighed = read_pairs("--weight", weights)
    return {**given, "weights": weighed} if weighed else given


def _read_value(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value
