"""How one context differs from another: who entered, left and moved, what was cut anew, which settings."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.models.types import Key, Passage
from langchain_context_engine.trace.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """How two contexts differ, from the first to the second.

    Attributes:
        entered: Keys only in the second, in text order.
        left: Keys only in the first, in text order.
        moved: Key → (place before, place after), from 1, of passages whose place changed.
        recut: Keys of passages in both whose text differs.
        tokens: Tokens after, less tokens before.
        overlap: Shared passages over all passages of both (Jaccard), 0–1; two empty ones are 1.
        kept_prefix: Share of the first text that the second begins with, 0–1: what a prompt cache keeps.
        settings: Name → (before, after) of settings that differ.
        lines: A unified diff of the texts.
    """

    entered: tuple[Key, ...]
    left: tuple[Key, ...]
    moved: Mapping[Key, tuple[int, int]]
    recut: tuple[Key, ...]
    tokens: int
    overlap: float
    kept_prefix: float
    settings: Mapping[str, tuple[Any, Any]]
    lines: tuple[str, ...]

    def __str__(self) -> str:
        counts = (
            f"{len(self.entered)} entered, {len(self.left)} left, {len(self.moved)} moved,"
            f" {len(self.recut)} recut, {self.tokens:+d} tokens, {self.overlap:.0%} shared"
        )
        parts = [counts]
        parts += [f"+ {source}/{id_}" for source, id_ in self.entered]
        parts += [f"- {source}/{id_}" for source, id_ in self.left]
        parts += [f"↕ {source}/{id_}: {a} → {b}" for (source, id_), (a, b) in self.moved.items()]
        parts += [f"✂ {source}/{id_}" for source, id_ in self.recut]
        parts += [f"{name}: {a!r} → {b!r}" for name, (a, b) in self.settings.items()]
        return "\n".join(parts)


def diff(a: Context | Mapping[str, Any], b: Context | Mapping[str, Any]) -> Diff:
    """Return what changed from one context to another.

    Raises:
        ConfigError: One of them is not a context and not a trace.
    """
    before, after = (c if isinstance(c, Context) else Context.from_dict(c) for c in (a, b))
    first, second = _places(before.passages), _places(after.passages)
    both = [key for key in second if key in first]
    everyone = {*first, *second}
    names = dict.fromkeys((*before.settings, *after.settings))
    values = {name: (before.settings.get(name), after.settings.get(name)) for name in names}
    lines = difflib.unified_diff(
        before.text.splitlines(), after.text.splitlines(), "before", "after", lineterm="", n=1
    )
    differs = (i for i, (was, now) in enumerate(zip(before.text, after.text, strict=False)) if was != now)
    prefix = next(differs, min(len(before.text), len(after.text)))
    return Diff(
        entered=tuple(key for key in second if key not in first),
        left=tuple(key for key in first if key not in second),
        moved={key: (first[key][0], second[key][0]) for key in both if first[key][0] != second[key][0]},
        recut=tuple(key for key in both if first[key][1] != second[key][1]),
        tokens=after.tokens - before.tokens,
        overlap=len(both) / len(everyone) if everyone else 1.0,
        kept_prefix=prefix / len(before.text) if before.text else 1.0,
        settings={name: (was, now) for name, (was, now) in values.items() if was != now},
        lines=tuple(lines),
    )


def _places(passages: Sequence[Passage]) -> dict[Key, tuple[int, str]]:
    return {passage.key: (i + 1, passage.text) for i, passage in enumerate(passages)}
