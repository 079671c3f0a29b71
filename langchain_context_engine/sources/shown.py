"""How a source and an engine print: what tells them apart, no record, no secret."""

from __future__ import annotations

from typing import Any

__all__ = ["shown_engine", "shown_source"]


def shown_source(source: Any) -> str:
    """Return a source's class, name and kind, as its `__repr__`."""
    kind = getattr(source, "kind", "")
    return f"{type(source).__name__}(name={source.name!r}{f', kind={kind!r}' if kind else ''})"


def shown_engine(engine: Any) -> str:
    """Return an engine's class, its sources by name, its budget and tokenizer, as its `__repr__`."""
    names = [getattr(source, "name", type(source).__name__) for source in engine.sources]
    tokenizer = engine.config.tokenizer
    counter = tokenizer if isinstance(tokenizer, str) else type(tokenizer).__name__
    budget = engine.config.budget.tokens
    return f"{type(engine).__name__}(sources={names!r}, budget={budget}, tokenizer={counter!r})"
