"""How records refer to each other: by the ids in their `links`, and by the names that stand in a text."""

from __future__ import annotations

import re

from langchain_context_engine.metadata import read_list
from langchain_context_engine.types import Candidate

WORD = re.compile(r"\w+")


def links_of(candidate: Candidate) -> tuple[str, ...]:
    """Return the ids that a record's `links` metadata names: a list, a JSON list, or split at commas.

    Example:
        >>> links_of(Candidate(id="a", metadata={"links": "b, c"}))
        ('b', 'c')
    """
    links = read_list(candidate.metadata.get("links"))
    return tuple(dict.fromkeys(str(link) for link in links if link != candidate.id))


def candidate_names(candidate: Candidate) -> list[tuple[str, ...]]:
    """Return the names by which a text may refer to a candidate, as words: its title, its path and symbol."""
    metadata = candidate.metadata
    title, path, symbol = (str(metadata.get(key) or "") for key in ("title", "path", "symbol"))
    full = (title, f"{path} {symbol}" if path and symbol else "")
    return [name for text in full if text and (name := tuple(WORD.findall(text)))]
