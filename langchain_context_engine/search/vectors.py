"""The vectors of one collection in memory, measured all at once.

Up to some ten thousand vectors one product costs less than a question to the store's index, needs no
lock, and is exact: nothing is out of reach, whatever filter is applied afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.search.records import steady

_FIRST_ROOM = 64
_MOST_ALONE = 8192
"""Numbers of a matrix that BLAS multiplies in the thread that asks."""

_UNSURE = 1e-5
"""What 32-bit sums may be off, of the largest number in them."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """What readers see at one moment: rows are added and marked dead, never changed."""

    matrix: Any
    lengths: Any
    inverse: Any
    is_dead: Any
    ids: list[str]
    places: dict[str, int]


@dataclass(slots=True)
class Vectors:
    """Vectors by id. One writer at a time, readers at any time without a lock.

    Attributes:
        most_bytes: What they may take; where they would take more, none are kept.
        missing: Ids that the store gave no vector of.
        is_too_large: There were more than may be kept.
    """

    most_bytes: int
    missing: set[str] = field(default_factory=set)
    is_too_large: bool = False
    _rows: _Rows | None = None
    _dead: int = 0

    @property
    def bytes(self) -> int:
        """How many bytes they take."""
        rows = self._rows
        return 0 if rows is None else int(rows.matrix.nbytes)

    def has_all(self, known: int) -> bool:
        """Return whether the vectors of all of so many records are here."""
        rows = self._rows
        return rows is not None and not self.missing and len(rows.places) >= known

    def serves(self, vector: Sequence[float], known: int) -> bool:
        """Return whether all of so many records can be measured against a vector here."""
        rows = self._rows
        return rows is not None and self.has_all(known) and rows.matrix.shape[1] == len(vector)

    def put(self, vectors: Mapping[str, Any]) -> None:
        """Take vectors in; None where the store has none of an id."""
        import numpy as np

        self.remove(vectors)
        given = {id_: vector for id_, vector in vectors.items() if vector is not None}
        self.missing.update(vectors.keys() - given.keys())
        if not given or self.is_too_large:
            return
        block = np.asarray(list(given.values()), dtype=np.float32)
        rows = self._roomy(len(block), block.shape[1])
        if self.is_too_large:
            return
        start = len(rows.ids)
        rows.matrix[start : start + len(block)] = block
        lengths = np.sqrt((block.astype(np.float64) ** 2).sum(axis=1))
        rows.lengths[start : start + len(block)] = lengths
        # Of a vector without a length, every cosine is 0.
        rows.inverse[start : start + len(block)] = np.divide(
            1, lengths, out=np.zeros_like(lengths), where=lengths > 0
        )
        rows.is_dead[start : start + len(block)] = False
        rows.ids.extend(given)
        rows.places.update(zip(given, range(start, start + len(block)), strict=True))

    def remove(self, ids: Iterable[str]) -> None:
        """Forget vectors."""
        ids = list(ids)
        self.missing.difference_update(ids)
        rows = self._rows
        if rows is None:
            return
        for id_ in ids:
            place = rows.places.pop(id_, None)
            if place is not None:
                rows.is_dead[place] = True
                self._dead += 1

    def _roomy(self, more: int, dimensions: int) -> _Rows:
        """Return rows with room for more, without the dead where there was none; or say it is too large."""
        import numpy as np

        rows = self._rows
        if rows is not None and rows.matrix.shape[1] != dimensions:
            rows, self._dead = None, 0  # filled anew by another embedder
        used = len(rows.ids) if rows else 0
        block = _block(dimensions)
        most = self.most_bytes // (4 * dimensions)
        if rows is not None and used + more <= min(most, len(rows.matrix)):
            return rows
        living = used - self._dead
        if living + more > most:
            self.is_too_large, self._rows = True, None
            return _Rows(None, None, None, None, [], {})
        room = min(most, max(_FIRST_ROOM, (living + more) * 5 // 4))
        kept = np.flatnonzero(~rows.is_dead[:used]) if rows is not None else np.empty(0, dtype=int)
        room = -(-room // block) * block
        matrix, lengths = np.zeros((room, dimensions), dtype=np.float32), np.zeros(room)
        inverse = np.zeros(room, dtype=np.float32)
        ids = [rows.ids[place] for place in kept] if rows is not None else []
        if rows is not None:
            matrix[:living], lengths[:living] = rows.matrix[kept], rows.lengths[kept]
            inverse[:living] = rows.inverse[kept]
        places = {id_: place for place, id_ in enumerate(ids)}
        self._rows, self._dead = _Rows(matrix, lengths, inverse, np.zeros(room, dtype=bool), ids, places), 0
        return self._rows

    def nearest(
        self, vector: Sequence[float], space: str, among: Sequence[str] | None = None
    ) -> Callable[[int], list[tuple[str, float]]]:
        """Return n → (id, distance) of the n nearest and all as near, nearest first, ties by id.

        Args:
            vector: What they are near to.
            space: The metric.
            among: The ids that count; None is all.
        """
        import numpy as np

        rows = self._rows
        if rows is None:
            return lambda _: []
        size = len(rows.ids)
        query = np.asarray(vector, dtype=np.float32)
        far, unsure = _distances(rows, query, size, space)
        if rows.is_dead[:size].any():
            far[rows.is_dead[:size]] = np.inf
        if among is not None:
            given = [place for id_ in among if (place := rows.places.get(id_)) is not None and place < size]
            others = np.ones(size, dtype=bool)
            others[given] = False
            far[others] = np.inf

        def first(n: int) -> list[tuple[str, float]]:
            bound = np.inf if n >= size else float(np.partition(far, n)[n]) + unsure
            # Within twice of what may be off lies all that belongs before the bound.
            places = np.flatnonzero((far <= bound + unsure) & np.isfinite(far))
            exact = self._exact(rows, places, vector, space)
            hits = [
                (rows.ids[place], distance)
                for place, distance in zip(places.tolist(), exact, strict=True)
                if distance <= bound
            ]
            hits.sort(key=lambda hit: (hit[1], hit[0]))
            return hits

        return first

    def measure(
        self, vector: Sequence[float], ids: Sequence[str], space: str
    ) -> dict[str, tuple[float, float]]:
        """Return id → (distance, cosine similarity) of those ids that are here."""
        import numpy as np

        rows = self._rows
        if rows is None:
            return {}
        found = [(id_, place) for id_ in ids if (place := rows.places.get(id_)) is not None]
        places = np.asarray([place for _, place in found], dtype=int)
        distances = self._exact(rows, places, vector, space)
        if space == "cosine":
            return {id_: (d, 1 - d) for (id_, _), d in zip(found, distances, strict=True)}
        cosines = self._exact(rows, places, vector, "cosine")
        return {id_: (d, 1 - c) for (id_, _), d, c in zip(found, distances, cosines, strict=True)}

    @staticmethod
    def _exact(rows: _Rows, places: Any, vector: Sequence[float], space: str) -> list[float]:
        """Return distances in double precision, as `compare` measures them one by one."""
        import numpy as np

        query = np.asarray(vector, dtype=np.float64)
        block = rows.matrix[places].astype(np.float64)
        if space == "l2":
            return [steady(d) for d in ((block - query) ** 2).sum(axis=1).tolist()]
        dots = block @ query
        if space == "ip":
            return [steady(1 - dot) for dot in dots.tolist()]
        lengths = rows.lengths[places] * np.sqrt(query @ query)
        cosines = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
        return [steady(1 - cosine) for cosine in cosines.tolist()]


def _block(dimensions: int) -> int:
    """Return how many rows one product takes without threads."""
    return max(1, _MOST_ALONE // dimensions)


def _distances(rows: _Rows, query: Any, size: int, space: str) -> tuple[Any, float]:
    """Return the distances of all rows in single precision, and by how much they may be off."""
    import numpy as np

    # Block by block, not `matrix @ query`: BLAS would start threads for that, which on a busy machine wait
    # for each other a hundred times longer than the product takes.
    block = _block(len(query))
    blocks = rows.matrix[: -(-size // block) * block].reshape(-1, block, len(query))
    dots = (blocks @ query).reshape(-1)[:size]
    own = float(np.sqrt(query.astype(np.float64) @ query))
    if space == "cosine":
        return 1 - dots * rows.inverse[:size] * np.float32(1 / own if own else 0.0), _UNSURE
    lengths = rows.lengths[:size]
    longest = float(lengths.max()) if size else 0.0
    if space == "ip":
        return 1 - dots.astype(np.float64), _UNSURE * (1 + own * longest)
    return lengths**2 + own**2 - 2 * dots.astype(np.float64), _UNSURE * (1 + (own + longest) ** 2)
