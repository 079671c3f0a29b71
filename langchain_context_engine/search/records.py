"""A store's record as a candidate, and a store's distance as a relevance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.signals import clamp, read_number

_PLAIN = frozenset({str, int, float, bool, list, type(None)})

Rows = dict[str, dict[str, Any]]
"""Id → {field: value} of what a store gave."""


def relevance_of(distance: float, space: str) -> float:
    """Return a distance as 0–1, nearer being more.

    cosine: 1 − d, clamped (d is 0–2). l2 (Chroma's is squared): 1 / (1 + d). ip: the logistic of the
    dot product 1 − d.

    Example:
        >>> relevance_of(0.25, "cosine"), relevance_of(1.0, "l2"), relevance_of(1.0, "ip")
        (0.75, 0.5, 0.5)
    """
    if space == "cosine":
        return clamp(1 - distance)
    if space == "ip":
        return 1 / (1 + math.exp(min(700.0, distance - 1)))
    return 1 / (1 + max(0.0, distance))


def steady(distance: float) -> float:
    """Return a distance without the noise of 32-bit floats, which would order equals at random.

    Example:
        >>> steady(1.1920929e-07), steady(0.25), steady(123.45678)
        (0.0, 0.25, 123.457)
    """
    return round(distance, 6) if -10 < distance < 10 else float(f"{distance:.6g}")  # noqa: PLR2004


def steady_all(distances: Sequence[float]) -> list[float]:
    """Return `steady` of each distance; of most answers all are small."""
    if len(distances) and max(distances) < 10 and min(distances) > -10:  # noqa: PLR2004
        return [round(distance, 6) for distance in map(float, distances)]
    return [steady(distance) for distance in map(float, distances)]


def compare(query: Any, vector: Any, space: str) -> tuple[float, float]:
    """Return the distance of two vectors of one length as Chroma measures it, and their cosine similarity.

    Args:
        query: An array of 64-bit floats.
        vector: The other vector.
        space: The metric: cosine, l2 or ip.
    """
    other = np.asarray(vector, dtype=np.float64)
    dot, lengths = float(query @ other), math.sqrt((query @ query) * (other @ other))
    cosine = dot / lengths if lengths else 0.0
    if space == "cosine":
        return steady(1 - cosine), cosine
    return steady(1 - dot if space == "ip" else float(((query - other) ** 2).sum())), cosine


def kind_of(metadata: Mapping[str, Any], default: str) -> str:
    """Return the record's own `kind`, else its `type`, else the default."""
    for key in ("kind", "type"):
        value = metadata.get(key)
        if isinstance(value, str) and value:
            return value
    return default


def position_of(metadata: Mapping[str, Any], sequence: tuple[str, str]) -> tuple[str, float] | None:
    """Return where a record stands in what it was cut from, by the keys named (group, order)."""
    if metadata.get(sequence[0]) is None:
        return None
    order = read_number(metadata.get(sequence[1]))
    return None if order is None else (str(metadata[sequence[0]]), order)


def to_candidate(
    id_: str,
    fields: Mapping[str, Any],
    *,
    source: str,
    kind: str = "",
    sequence: tuple[str, str] | None = None,
    **more: Any,
) -> Candidate:
    """Return a store's record, its fields `documents` and `metadatas`, as a candidate."""
    metadata = fields.get("metadatas") or {}
    return Candidate(
        id=id_,
        text=fields.get("documents") or "",
        source=source,
        kind=kind_of(metadata, kind),
        created_at=metadata.get("created_at"),
        metadata=metadata,
        position=None if sequence is None else position_of(metadata, sequence),
        **more,
    )


def without_sparse(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return a record's metadata without the sparse vectors that Chroma keeps among them; None is empty."""
    if not metadata:
        return {}
    for value in metadata.values():
        if type(value) not in _PLAIN:
            from chromadb.base_types import SparseVector

            return {key: each for key, each in metadata.items() if type(each) is not SparseVector}
    return metadata


def rows_of(answer: Any, include: Sequence[str]) -> Rows:
    """Return id → {field: value} of what Chroma answered: those fields of `include` that it gave."""
    # Compared with None, never by truth: embeddings are an array.
    columns = {name: answer[name] for name in include if answer[name] is not None}
    if "metadatas" in columns:
        columns["metadatas"] = [each and without_sparse(each) for each in columns["metadatas"]]
    if not columns:
        return {id_: {} for id_ in answer["ids"]}
    names, records = tuple(columns), zip(*columns.values(), strict=True)
    return {
        id_: dict(zip(names, record, strict=True)) for id_, record in zip(answer["ids"], records, strict=True)
    }
