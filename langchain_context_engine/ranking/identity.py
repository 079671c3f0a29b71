"""Rules that say what a candidate is: what makes two candidates one thing, whatever else they are.

A rule is `candidate -> value`: the same value is the same thing, None says nothing. `Versions` is a rule
that also asks the texts to be somewhat alike, and keeps the newest. `AcrossKinds` joins only what is of
different kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.metadata import read_list
from langchain_context_engine.models.types import Candidate

DedupeRule = Callable[[Candidate], Hashable | None]
"""Says what a candidate is: the same value is the same thing, None says nothing."""

_UNDATED = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SameMetadata:
    """A rule: candidates with the same values of these metadata keys are one thing.

    A candidate that lacks one of them, or whose value is empty, says nothing.

    Example:
        >>> rule = SameMetadata(("ghap_id",))
        >>> rule(Candidate(id="a", metadata={"ghap_id": "g1"})), rule(Candidate(id="b"))
        (('g1',), None)
    """

    names: tuple[str, ...]

    def __call__(self, candidate: Candidate) -> Hashable | None:
        """Return the values, or None."""
        metadata = candidate.metadata
        if not all(map(metadata.__contains__, self.names)):
            return None  # the usual case, told at once
        values = tuple(_hashable(metadata[name]) for name in self.names)
        return None if any(value in {None, "", ()} for value in values) else values


def same_metadata(*names: str) -> SameMetadata:
    """Return the rule that candidates with the same values of these metadata keys are one thing.

    Example:
        >>> same_metadata("ghap_id")
        SameMetadata(names=('ghap_id',))
    """
    return SameMetadata(names)


@dataclass(frozen=True, slots=True)
class Versions:
    """A rule: candidates with the same values of these metadata keys, somewhat alike, are versions of one.

    The newest is kept in its own place, however the others rank. Newest is by `updated_at` in the
    metadata, else `created_at`: of a piece of code, that may be when its first line was written. The
    undated are oldest; at a tie the better ranked is kept.

    Attributes:
        names: Metadata keys; a candidate that lacks one of them says nothing.
        within: Metadata keys that must agree as well; lacking one is a value like any other.
        margin: How much less alike than the threshold the texts may be, 0–100.
        tells_apart: Different values of `names` are different things, however near their texts: the
            functions `put` and `patch` may differ by their names alone. Only equal texts are then one.

    Example:
        >>> rule = Versions(("symbol",), within=("path",))
        >>> rule(Candidate(id="a", metadata={"path": "api.py", "symbol": "get"}))
        ('api.py', 'get')
    """

    names: tuple[str, ...]
    within: tuple[str, ...] = ("workspace",)
    margin: float = 15.0
    tells_apart: bool = False

    def __call__(self, candidate: Candidate) -> Hashable | None:
        """Return the values, or None."""
        values = self.name(candidate)
        if not isinstance(values, tuple):
            return None
        return (*(_hashable(candidate.metadata.get(name)) for name in self.within), *values)

    def name(self, candidate: Candidate) -> Hashable | None:
        """Return the values of `names` alone, or None."""
        return SameMetadata(self.names)(candidate)


@dataclass(frozen=True, slots=True)
class AcrossKinds:
    """A rule: candidates of different kinds that share a value are one thing; two of one kind never are.

    Attributes:
        keys: Kind → the metadata key whose value, or any of whose values, is compared. Other kinds say
            nothing.

    Example:
        >>> rule = AcrossKinds({"code": "file_path", "commit": "files_changed"})
        >>> rule(Candidate(id="a", kind="commit", metadata={"files_changed": "a.py, b.py"}))
        ('a.py', 'b.py')
    """

    keys: Mapping[str, str]

    def __call__(self, candidate: Candidate) -> tuple[Hashable, ...] | None:
        """Return the values, or None."""
        stated = candidate.metadata.get(self.keys.get(candidate.kind, ""))
        values = read_list(stated if isinstance(stated, (str, list, tuple)) else [stated])
        return tuple(map(_hashable, values)) or None

    def own(self, candidate: Candidate) -> list[Hashable]:
        """Return what a candidate is found by."""
        return [(candidate.kind, value) for value in self(candidate) or ()]

    def others(self, candidate: Candidate) -> list[Hashable]:
        """Return by what those of other kinds that are the same thing are found."""
        kinds = [kind for kind in self.keys if kind != candidate.kind]
        return [(kind, value) for value in self(candidate) or () for kind in kinds]


DEDUPE_RULES: Mapping[str, DedupeRule] = {
    "versions_of_symbol": Versions(("symbol",), within=("workspace", "path"), tells_apart=True),
    "notes_of_one_origin": Versions(("derived_from",)),
}
"""The built-in rules by name: versions of one function, and notes of one origin that say the same."""

DEFAULT_RULES = tuple(DEDUPE_RULES.values())


def changed_at(candidate: Candidate) -> datetime:
    """Return when a candidate was last changed: its `updated_at`, else when it was created, else long ago.

    Example:
        >>> changed_at(Candidate(id="a", created_at="2024-01-01", metadata={"updated_at": "2025-01-01"})).year
        2025
    """
    return read_instant(candidate.metadata.get("updated_at")) or candidate.created_at or _UNDATED


def _hashable(value: Any) -> Hashable:
    if isinstance(value, (list, tuple)):
        return tuple(map(_hashable, value))
    return value if isinstance(value, Hashable) else repr(value)
