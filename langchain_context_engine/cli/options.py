"""Options that several commands share, and reading what stands in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.store import Store, here
from langchain_context_engine.models.errors import ConfigError

DEFAULT_STORE = Path(".context-engine")


def nearest_store(store: Path) -> Path:
    """Return the default store here or, as git does, in the nearest folder above; a named one as it is."""
    if store != DEFAULT_STORE or Store(store).exists:
        return store
    found = next((f / store for f in here().parents if Store(f / store).exists), None)
    if found is None:
        return store
    output.note(f"the store is {found}")
    return found


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
RecordsOption = Annotated[
    bool, typer.Option("--journal/--no-journal", help="Record the traces, for explain and inspect.")
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


_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kmg]?)(?P<binary>i?)b?", re.IGNORECASE)


def read_size(option: str, size: str) -> int:
    """Return a size in bytes.

    Raises:
        ConfigError: It is none.

    Example:
        >>> read_size("--max-size", "2MB"), read_size("--max-size", "1.5 KiB"), read_size("--max-size", "10")
        (2000000, 1536, 10)
    """
    found = _SIZE.fullmatch(size.strip())
    if found is None:
        raise ConfigError(f"{option} takes a size such as 500kB, 2MB or 1GiB, got {size!r}")
    step = 1024 if found["binary"] else 1000
    return int(float(found["number"]) * step ** " kmg".index(found["unit"].lower() or " "))


def _read_value(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value
