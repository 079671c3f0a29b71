"""Names for parts: a mapping that suggests the nearest name and protects the built-in ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from langchain_context_engine.errors import ConfigError, UnknownNameError

T = TypeVar("T")


class Registry(dict[str, T]):
    """Parts by name.

    Args:
        kind: What the parts are, for messages: `"template"`, `"signal"`, …
        items: The built-in parts; their names cannot be taken.
    """

    def __init__(self, kind: str, items: Mapping[str, T]) -> None:
        super().__init__(items)
        self.kind = kind
        self._reserved = frozenset(items)

    def __getitem__(self, name: str) -> T:
        try:
            return super().__getitem__(name)
        except (KeyError, TypeError):
            raise UnknownNameError(self.kind, name, self) from None

    def register(self, name: str, item: T) -> None:
        """Add a part, or replace one that was added before.

        Raises:
            ConfigError: The name is not a non-empty string, or is built in.
        """
        if not isinstance(name, str) or not name:
            raise ConfigError(f"a {self.kind} needs a name, got {name!r}")
        if name in self._reserved:
            raise ConfigError(f"{name!r} is a built-in {self.kind}; choose another name")
        self[name] = item


def with_own(kind: str, built_in: Mapping[str, Any], own: Mapping[str, Any]) -> Registry[Any]:
    """Return the built-in parts and one's own by name."""
    registry: Registry[Any] = Registry(kind, built_in)
    for name, part in own.items():
        registry.register(name, part)
    return registry


def part_named(kind: str, known: Mapping[str, Any], given: Any) -> Callable[..., Any]:
    """Return the part of a name, or the callable that was given."""
    found: Callable[..., Any] = given if callable(given) else Registry(kind, known)[given]
    return found
