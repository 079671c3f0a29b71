"""A store's record as the index keeps it, and vectors as bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from langchain_context_engine.searching import background
from langchain_context_engine.searching.bags import Bag, Words
from langchain_context_engine.searching.rows import Record
from langchain_context_engine.values.errors import SourceError


def to_record(id_: str, fields: Mapping[str, Any]) -> Record:
    """Return a store's record as the index keeps it."""
    metadata, text = fields.get("metadatas") or {}, fields.get("documents") or ""
    words = Words.of(text, metadata)
    return Record(0, id_, digest_of(fields), metadata, text, Bag.of(words), words)


def digest_of(fields: Mapping[str, Any]) -> bytes:
    """Return what tells a record's text and metadata from others."""
    metadata = json.dumps(fields.get("metadatas") or {}, sort_keys=True, default=str)
    text = fields.get("documents") or ""
    return hashlib.blake2b(
        f"{len(text)}\x00{text}{metadata}".encode("utf-8", "replace"), digest_size=16
    ).digest()


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
