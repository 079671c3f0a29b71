"""What people call the candidates of a context, no two alike; and whom they mean by a name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from langchain_context_engine.models.types import Candidate, Key
from langchain_context_engine.rendering.citations import excerpt
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.spellings import lines_of, spellings

__all__ = ["label_of", "labels", "meant"]

_HASH = re.compile(r"[0-9a-f]{12,}(?:-\d+)?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHORT = re.compile(r"[0-9a-f]{6,40}")
_EXCERPT = 40


def label_of(candidate: Candidate) -> str:
    """Return what a person knows a candidate by: its place, its title, its id, or how its text begins.

    Example:
        >>> label_of(Candidate(id="m1", text="Tea.")), label_of(Candidate(id="0f" * 16, text="Tea at four."))
        ('m1', '“Tea at four.”')
    """
    title = candidate.metadata.get("title")
    shown = candidate.place or (" ".join(title.split()) if isinstance(title, str) else "")
    if shown:
        return shown
    if _HASH.fullmatch(candidate.id) and (start := excerpt(candidate.text, _EXCERPT)):
        return f"“{start}”"
    return candidate.id


def labels(context: Context) -> dict[Key, str]:
    """Return the label of every candidate, no two alike; one without a place has its source before it.

    Where several have one, their lines are told, else which of them each is in its source's order.
    """
    named = {candidate.key: _with_source(candidate) for candidate in context.candidates}
    alike = Counter(named.values())
    seen: Counter[str] = Counter()
    found: dict[Key, str] = {}
    for candidate in sorted(context.candidates, key=lambda c: (c.position or ("", 0.0), c.key)):
        label = named[candidate.key]
        if alike[label] > 1:
            seen[label] += 1
            lines = _lines(candidate)
            told = f"{label} ({lines})" if lines and f":{lines.partition(' ')[2]}" not in label else ""
            label = told if told and told not in found.values() else f"{label} ({seen[label]})"
        found[candidate.key] = label
    return found


def _with_source(candidate: Candidate) -> str:
    return candidate.place or f"{candidate.source}/{label_of(candidate)}"


def _lines(candidate: Candidate) -> str:
    first, last = (candidate.metadata.get(name) for name in ("start_line", "end_line"))
    if not isinstance(first, int) or not isinstance(last, int):
        return ""
    return f"lines {first}-{last}" if first < last else f"line {first}"


def meant(named: str, context: Context) -> list[Key]:
    """Return the keys of the candidates that a person or a model may mean by a name, [] for a stranger.

    A marker, with or without its brackets, before all; then a whole key, id, label, place or title; then a
    path, or a path with its symbol; then the end or the beginning of one of these, or a path with a line.
    What was copied with its marker, in quotes or with what stood behind it is tried without them.
    """
    for wanted in spellings(named):
        if found := _called(wanted, context):
            return found
    return []


def _called(wanted: str, context: Context) -> list[Key]:
    for marker, key in context.citations.items():
        if wanted in {marker, marker.strip("[]")}:
            return [(key[0], key[1])]
    told = labels(context)
    names = {c.key: [[*_exact(c), told[c.key]], list(_of_file(c))] for c in context.candidates}
    for level in (0, 1):
        if found := [key for key, levels in names.items() if wanted in levels[level]]:
            return found
    if found := [key for key, levels in names.items() if _ends_with(levels, wanted)]:
        return found
    return _at_lines(wanted, context) or [c.key for c in context.candidates if _begins_with(c, wanted)]


def _at_lines(wanted: str, context: Context) -> list[Key]:
    """Return what stands at exactly these lines of a file, else the smallest pieces that hold the first."""
    if (asked := lines_of(wanted)) is None:
        return []
    path, first, last = asked
    spans: dict[Key, tuple[int, int]] = {}
    for candidate in context.candidates:
        start, end = (candidate.metadata.get(name) for name in ("start_line", "end_line"))
        own = str(candidate.metadata.get("path") or "")
        if not (isinstance(start, int) and isinstance(end, int) and start <= first <= end and own):
            continue
        if own.endswith(path) or path.endswith(f"/{own}"):
            spans[candidate.key] = (start, end)
    exact = [key for key, span in spans.items() if span == (first, last)]
    least = min((end - start for start, end in spans.values()), default=0)
    return exact or [key for key, (start, end) in spans.items() if end - start == least]


def _begins_with(candidate: Candidate, wanted: str) -> bool:
    """Tell whether a name is the beginning of a commit's or an id's hash, or a path with folders above it."""
    path = str(candidate.metadata.get("path") or "")
    if path and wanted.endswith(f"/{path}"):
        return True
    hashes = (candidate.id, str(candidate.metadata.get("commit") or ""), candidate.place)
    return _SHORT.fullmatch(wanted) is not None and any(name.startswith(wanted) for name in hashes)


def _exact(candidate: Candidate) -> Iterator[str]:
    yield from (candidate.id, "/".join(candidate.key), label_of(candidate), candidate.place)
    yield from (f"{candidate.origin}/{candidate.id}", f"{candidate.source}/{candidate.place}")
    yield from (f"{candidate.source}/{label_of(candidate)}", str(candidate.metadata.get("title") or ""))


def _of_file(candidate: Candidate) -> Iterator[str]:
    path, symbol = (str(candidate.metadata.get(name) or "") for name in ("path", "symbol"))
    for name in filter(None, (path, f"{path}:{symbol}" if path and symbol else "", symbol)):
        yield from (name, f"{candidate.source}/{name}")


def _ends_with(levels: Sequence[Sequence[str]], wanted: str) -> bool:
    return any(name.endswith(wanted) for names in levels for name in names)
