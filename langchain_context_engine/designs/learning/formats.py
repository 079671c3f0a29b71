"""How a memory, a piece of code, an experience, a value and a commit are shown, line by line, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.freeze import longest_run
from langchain_context_engine.models.metadata import read_list, read_mapping
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate

SAID = "said"
"""The metadata key of a record's own text, by which two records are compared."""

METADATA_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "memory": ("category", "importance", "created_at"),
        "code": ("file_path", "start_line", "end_line", "language", "qualified_name"),
        "experience": ("domain", "strategy", "outcome_status", "confidence_tier", "iteration_count"),
        "value": ("axis", "cluster_id", "cluster_size", "similarity_to_centroid"),
        "commit": ("sha", "author", "timestamp", "files_changed", "insertions", "deletions"),
    }
)
"""Kind → what an item tells of its record; all but code and commit tell the `id` as well."""

NOTES: Mapping[str, str] = MappingProxyType(
    {
        "code": "...\n\n*(truncated, see full at {{title}})*",
        "experience": "...\n\n*(truncated, full experience ID: {{title}})*",
    }
)
"""Kind → what stands after a cut item; other kinds have `NOTE`."""

NOTE = "...\n\n*(truncated)*"

_FULL = ("goal", "hypothesis", "action", "prediction", "outcome", "surprise", "lesson")

FIELDS_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "full": _FULL,
        "strategy": _FULL,
        "surprise": ("goal", "prediction", "outcome", "surprise"),
        "root_cause": ("goal", "hypothesis", "outcome", "root_cause"),
    }
)
"""Axis → what is shown of an experience: on two of them, what the axis is about."""

_MOST_FILES = 5


def shown(axis: str = "full") -> Callable[[Sequence[Candidate], ContextRequest], list[Candidate]]:
    """Return what gives candidates the text and the title that they are shown with.

    Args:
        axis: Which fields of an experience; see `FIELDS_OF`.
    """

    def shape(found: Sequence[Candidate], request: ContextRequest) -> list[Candidate]:
        del request
        return [_shown(candidate, axis) for candidate in found]

    return shape


def _shown(candidate: Candidate, axis: str) -> Candidate:
    metadata = candidate.metadata
    told: dict[str, Any] = {SAID: candidate.text, "title": _title(candidate)}
    created = candidate.created_at
    if candidate.kind == "experience":
        told["ghap_id"] = told["title"] = str(metadata.get("ghap_id") or candidate.id)
        text = _experience(candidate, axis)
    else:
        text = _FORMATS[candidate.kind](candidate) if candidate.kind in _FORMATS else candidate.text
    if candidate.kind == "code":
        told["symbol"] = _name(candidate)
    if candidate.kind == "commit":
        created = read_instant(metadata.get("timestamp")) or created
    return replace(candidate, text=text, created_at=created, metadata={**metadata, **told})


def _memory(candidate: Candidate) -> str:
    stated = (("Category", "category"), ("Importance", "importance"))
    told = [f"{name}: {value}" for name, key in stated if (value := _line(candidate, key))]
    return f"**Memory**: {candidate.text}" + (f"\n*{', '.join(told)}*" if told else "")


def _code(candidate: Candidate) -> str:
    told = (str(candidate.metadata.get(key) or "").strip("\n") for key in ("signature", "docstring"))
    body = "\n".join(part for part in told if part) or candidate.text
    # A fence inside a docstring must not end this one.
    fence = "`" * max(3, longest_run(body, "`") + 1)
    language = _line(candidate, "language") or "python"
    heading = f"**{_line(candidate, 'unit_type') or 'code'}** `{_name(candidate)}` in `{_title(candidate)}`"
    return f"{heading}\n{fence}{language}\n{body}\n{fence}"


def _experience(candidate: Candidate, axis: str) -> str:
    metadata = candidate.metadata
    status, result = _line(candidate, "outcome_status"), str(metadata.get("outcome_result") or "")
    if axis == "strategy" and status == "falsified":
        status = "**falsified**"
    values = {
        **{name: str(metadata.get(name) or "") for name in _FULL},
        "outcome": " - ".join(part for part in (status, result) if part),
        "lesson": _part_of(metadata, "lesson", "what_worked"),
        "root_cause": _part_of(metadata, "root_cause", "description"),
    }
    heading = f"**Experience**: {_line(candidate, 'domain')} | {_line(candidate, 'strategy')}"
    lines = [
        f"- **{name.replace('_', ' ').capitalize()}**: {values[name]}"
        for name in FIELDS_OF[axis]
        if values[name]
    ]
    return "\n".join([heading, *(lines or [candidate.text])])


def _value(candidate: Candidate) -> str:
    told = f"{_line(candidate, 'axis')}, cluster size: {_line(candidate, 'cluster_size')}"
    return f"**Value** ({told}):\n{candidate.text}"


def _commit(candidate: Candidate) -> str:
    files = [" ".join(str(name).split()) for name in read_list(candidate.metadata.get("files_changed"))]
    listed = ", ".join([*files[:_MOST_FILES], *(["..."] if len(files) > _MOST_FILES else [])])
    sha = _line(candidate, "sha")[:7]
    heading = f"**Commit** `{sha}` by {_line(candidate, 'author')} on {_line(candidate, 'timestamp')}"
    return f"{heading}\n{candidate.text}" + (f"\n*Files: {listed}*" if listed else "")


_FORMATS: Mapping[str, Callable[[Candidate], str]] = MappingProxyType(
    {"memory": _memory, "code": _code, "value": _value, "commit": _commit}
)


def _name(candidate: Candidate) -> str:
    return _line(candidate, "name") or _line(candidate, "qualified_name")


def _title(candidate: Candidate) -> str:
    """Return where the whole can be read, of code; of others what a record calls itself."""
    if candidate.kind != "code":
        return _line(candidate, "title")
    return f"{_line(candidate, 'file_path')}:{_line(candidate, 'start_line')}"


def _line(candidate: Candidate, key: str) -> str:
    """Return a metadata value on one line; "" where there is none."""
    value = candidate.metadata.get(key)
    return "" if value is None else " ".join(str(value).split())


def _part_of(metadata: Mapping[str, Any], key: str, part: str) -> str:
    """Return a part of a nested value: a JSON object, keys joined by a dot, or the value itself."""
    nested = read_mapping(metadata.get(key))
    return str((nested.get(part) if nested else metadata.get(f"{key}.{part}", metadata.get(key))) or "")
