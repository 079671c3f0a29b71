"""A store's record as the index keeps it, and vectors as bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.models.errors import SourceError
from langchain_context_engine.ranking.links import names_of
from langchain_context_engine.search import background
from langchain_context_engine.search.bags import Bag, Words, bags_of

Sequencing = tuple[str, str]
"""The metadata keys (group, order) that say what adjoins what."""

_SHORTEST_NAME = 4
_LOOKED_UP_EVERY = 100


@dataclass(frozen=True, slots=True)
class Record:
    """One record as the index knows it.

    Attributes:
        row: Its row; 0 is none yet.
        id: Chroma's id.
        digest: Of text and metadata.
        metadata: Its metadata.
        document: Its text; None of one that is gone.
        bag: Its words, counted.
        words: Its words, of one that is still to be written.
    """

    row: int
    id: str
    digest: bytes
    metadata: Mapping[str, Any]
    document: str | None
    bag: Bag
    words: Words | None = field(default=None, compare=False, repr=False)

    @property
    def cost(self) -> int:
        """About how many bytes it takes in memory."""
        return 1000 + 2 * len(self.document or "") + len(self.bag.packed)


def to_records(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Record]:
    """Return a store's records, id → fields, as the index keeps them."""
    words: list[Words] = []
    for number, fields in enumerate(found.values()):
        if number % _LOOKED_UP_EVERY == 0:
            ending_soon()
        words.append(Words.of(fields.get("documents") or "", fields.get("metadatas") or {}))
    return {
        id_: Record(
            row=0,
            id=id_,
            digest=digest_of(fields),
            metadata=fields.get("metadatas") or {},
            document=fields.get("documents") or "",
            bag=bag,
            words=each,
        )
        for (id_, fields), each, bag in zip(found.items(), words, bags_of(words), strict=True)
    }


def digest_of(fields: Mapping[str, Any]) -> bytes:
    """Return what tells a record's text and metadata from others."""
    metadata = json.dumps(fields.get("metadatas") or {}, sort_keys=True, default=str)
    text = fields.get("documents") or ""
    return hashlib.blake2b(
        f"{len(text)}\x00{text}{metadata}".encode("utf-8", "replace"), digest_size=16
    ).digest()


def name_starts(metadata: Mapping[str, Any]) -> set[str]:
    """Return how the names begin that tell a record apart: a single short word does not."""
    return {
        "\x1f".join(name.start)
        for name in names_of(metadata)
        if len(name.words) > 1 or len(name.words[0]) >= _SHORTEST_NAME
    }


def packed(vector: Any) -> bytes:
    """Return a vector as 32-bit numbers."""
    import numpy as np

    return np.asarray(vector, dtype=np.float32).tobytes()


def unpacked(vector: bytes | None) -> Any:
    """Return the numbers of a vector, or None where there is none."""
    import numpy as np

    return None if vector is None else np.frombuffer(vector, dtype=np.float32)


def ending_soon() -> None:
    """Stop reading where the program ends.

    Raises:
        SourceError: It does.
    """
    if background.is_ending():
        raise SourceError("the program ends")
