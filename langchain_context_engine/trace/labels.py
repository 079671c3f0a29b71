"""What people call the candidates of a context, no two alike; and whom they mean by a name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from langchain_context_engine.models.types import Candidate, Key
from langchain_context_engine.rendering.citations import excerpt
from langchain_context_engine.trace.context import Context

_HASH = re.compile(r"[0-9a-f]{12,}(?:-\d+)?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HASH = re.compile(r"[0-9a-f]{6,40}")
"""A hash as people write it: in full, or its beginning."""

_EXCERPT = 40
_LONGEST_LABEL = 200
_LONGEST = 1000
_QUOTES = "\"'`“”‘’«»*"
_MARKED = re.compile(r"\[[^\[\]\s]{1,20}\]")
_NUMBER = re.compile(r"\[?\d{1,9}\]?")
_LINES = re.compile(r"[:#]L?(\d{1,9})(?:[-\u2013]L?(\d{1,9})|:\d{1,9})?$")


def label_of(candidate: Candidate) -> str:
    """Return what a person knows a candidate by: its place, its title, its id, or how its text begins.

    What is longer than a line or two is cut.
    """
    title = candidate.metadata.get("title")
    shown = candidate.place or (" ".join(title.split()) if isinstance(title, str) else "")
    if not shown and _HASH.fullmatch(candidate.id) and (start := excerpt(candidate.text, _EXCERPT)):
        return f"“{start}”"
    shown = shown or candidate.id
    return shown if len(shown) <= _LONGEST_LABEL else f"{excerpt(shown, _LONGEST_LABEL)}…"


def labels(context: Context) -> dict[Key, str]:
    """Return the label of every candidate, no two alike; one without a place has its source before it.

    Where several have one, their lines are told, else which of them each is in its source's order.
    """
    named = {c.key: label_of(c) if c.place else f"{c.source}/{label_of(c)}" for c in context.candidates}
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


def _lines(candidate: Candidate) -> str:
    first, last = (candidate.metadata.get(name) for name in ("start_line", "end_line"))
    if not isinstance(first, int) or not isinstance(last, int):
        return ""
    return f"lines {first}-{last}" if first < last else f"line {first}"


def looks_like_a_marker(named: str) -> bool:
    """Return whether a name is a number, in brackets or not: a citation, and no end of another name."""
    return _NUMBER.fullmatch(named.strip()) is not None


def meant(named: str, context: Context) -> list[Key]:
    """Return the keys of the candidates that a person or a model may mean by a name, [] for a stranger.

    A marker, with or without its brackets, before all; then a whole key, id, label, place or title; then a
    path, or a path with its symbol; then the end or the beginning of one of these, or a path with a line.
    What was copied with its marker, in quotes or with what stood behind it is tried without them.
    """
    told = labels(context)
    whole = {c.key: {*_names(c), told[c.key]} for c in context.candidates}
    files = {c.key: set(_of_file(c)) for c in context.candidates}
    for wanted in filter(None, dict.fromkeys(_spellings(named))):
        for marker, key in context.citations.items():
            if wanted in {marker, marker.strip("[]")}:
                return [(key[0], key[1])]
        found = [key for key, names in whole.items() if wanted in names]
        if not found and not looks_like_a_marker(wanted):
            found = (
                [key for key, names in files.items() if wanted in names]
                or [k for k in whole if any(name.endswith(wanted) for name in (*whole[k], *files[k]))]
                or _at_lines(wanted, context)
                or [c.key for c in context.candidates if _begins_with(c, wanted)]
            )
        if found:
            return found
    return []


def _spellings(named: str) -> Iterator[str]:
    """Yield how a name may have been written that was printed elsewhere, the name itself first."""
    name = named.strip()
    yield name
    if len(name) > _LONGEST:
        return
    bare = name.strip(_QUOTES + ",; ")
    yield bare
    if marked := _MARKED.match(bare):
        yield marked[0]
        bare = bare[marked.end() :].strip().strip(_QUOTES)
    tidy = bare.replace("\\", "/").replace(" > ", " › ")
    yield from (tidy, tidy.removeprefix("./"), tidy.removesuffix("()"), tidy.strip("… "))
    core = tidy.strip(",;.:)]>}([{< ")
    yield from (core, f"[{core}]")


def _names(candidate: Candidate) -> Iterator[str]:
    yield from (candidate.id, "/".join(candidate.key), label_of(candidate), candidate.place)
    yield from (f"{candidate.origin}/{candidate.id}", f"{candidate.source}/{candidate.place}")
    yield from (f"{candidate.source}/{label_of(candidate)}", str(candidate.metadata.get("title") or ""))


def _of_file(candidate: Candidate) -> Iterator[str]:
    path, symbol = (str(candidate.metadata.get(name) or "") for name in ("path", "symbol"))
    for name in filter(None, (path, f"{path}:{symbol}" if path and symbol else "", symbol)):
        yield from (name, f"{candidate.source}/{name}")


def _at_lines(wanted: str, context: Context) -> list[Key]:
    """Return what stands at exactly these lines of a file, else the smallest pieces that hold the first."""
    asked = _LINES.search(wanted)
    if len(wanted) > _LONGEST or asked is None:
        return []
    path, first = wanted[: asked.start()], int(asked[1])
    spans: dict[Key, tuple[int, int]] = {}
    for candidate in context.candidates:
        start, end = (candidate.metadata.get(name) for name in ("start_line", "end_line"))
        own = str(candidate.metadata.get("path") or "")
        is_file = own.endswith(path) or path.endswith(f"/{own}")
        if own and is_file and isinstance(start, int) and isinstance(end, int) and start <= first <= end:
            spans[candidate.key] = (start, end)
    exact = [key for key, span in spans.items() if span == (first, int(asked[2] or first))]
    least = min((end - start for start, end in spans.values()), default=0)
    return exact or [key for key, (start, end) in spans.items() if end - start == least]


def _begins_with(candidate: Candidate, wanted: str) -> bool:
    """Tell whether a name is the beginning of a commit's or an id's hash, or a path with folders above it."""
    path = str(candidate.metadata.get("path") or "")
    if path and wanted.endswith(f"/{path}"):
        return True
    hashes = (candidate.id, str(candidate.metadata.get("commit") or ""), candidate.place)
    return HASH.fullmatch(wanted) is not None and any(name.startswith(wanted) for name in hashes)
