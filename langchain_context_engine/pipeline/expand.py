"""Expand: follow the links and neighbours of the strongest, within scope, in a bounded number of calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_context_engine.executor import answer_of, run
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import SupportsLinks, readers
from langchain_context_engine.models.types import Candidate, Decision, Key, Reason, Verdict
from langchain_context_engine.pipeline.collect import Collected, admit, bounded, read_answer
from langchain_context_engine.ranking.fusion import NAMING, Fusion, strongest
from langchain_context_engine.ranking.links import links_of

LINK_DECAY = 0.8
"""A linked candidate's relevance is that of the one that links to it, times this, for each step."""

STRONGEST = 10
"""How many of the best candidates bring their neighbours."""

LEAST_LINKS = 10
"""Links may bring so many records even where sources may offer fewer: a limit of 1 asks for one start."""

_ASKED_PER_PLACE = 4
"""So many links are read for each linked record that may come in: some lead to nothing."""

Wanted = Mapping[Key, tuple[Key, Reason]]
"""Records to read → who brings them, and why."""


def expand(
    candidates: Sequence[Candidate],
    request: ContextRequest,
    sources: Sequence[Any],
    deadline: float,
    *,
    fusion: Fusion,
) -> Collected:
    """Return the candidates with what the strongest lead to.

    Records that the request pins by key are read first. Neighbours of the strongest and what they name
    come once; links go breadth-first to `request.depth`, each record once at its shortest distance, at
    most `limit` of them or `LEAST_LINKS`, whichever is more. Each step asks a source once. A link to
    nothing, to something deleted and to something out of scope look the same: skipped, and counted in
    one warning.

    Args:
        candidates: From collect.
        request: The question.
        sources: Those with `get` can be expanded.
        deadline: On `time.monotonic()`'s clock.
        fusion: Says who is strongest.
    """
    reach = _Reach(candidates, request, sources, deadline)
    reach.pin()
    reach.bring_neighbours(fusion)
    reach.follow_links()
    return reach.result()


def _pinned(candidate: Candidate) -> Candidate:
    """Return the candidate as one that the asker wants: wholly relevant, whatever a search says of it."""
    return replace(candidate, relevance=1.0, claims={}, is_pinned=True)


class _Reach:
    """One run of expand: who is known, who asked for whom."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        request: ContextRequest,
        sources: Sequence[Any],
        deadline: float,
    ) -> None:
        self.most_links = max(request.limit or 0, LEAST_LINKS)
        self.request = replace(request, limit=None, offset=0)
        self.known = {candidate.key: candidate for candidate in candidates}
        self.sources = readers(sources)
        self.namers = {
            name: source for name, source in self.sources.items() if isinstance(source, SupportsLinks)
        }
        self.deadline = deadline
        self.decisions: list[Decision] = []
        self.warnings: list[str] = []

    def pin(self) -> None:
        """Add the records that the request pins by key, and pin those that are here already."""
        keys = [(item[0], item[1]) for item in self.request.pinned if isinstance(item, tuple)]
        missing = {key: (key, Reason.PINNED) for key in keys if key not in self.known}
        # What is pinned must come in: only the scope and exclusions keep it out.
        unfiltered = replace(
            self.request,
            where={},
            kinds=None,
            since=None,
            until=None,
            min_confidence=None,
            conversation_id=None,
        )
        read = self._add(missing, unfiltered)
        for key in keys:
            if key in self.known:
                self.known[key] = _pinned(self.known[key])
        if len(read) < len(missing):
            self.warnings.append(
                f"{len(missing) - len(read)} pinned records cannot be read; they were skipped"
            )

    def bring_neighbours(self, fusion: Fusion) -> None:
        """Add the neighbours of the strongest, and what the very best name."""
        pool = list(self.known.values())
        if not self.sources or not any(c.neighbours or c.source in self.namers for c in pool):
            return
        best = strongest(pool, fusion, self.request.query)
        wanted: dict[Key, tuple[Key, Reason]] = {}
        for candidate in best[:STRONGEST] if fusion.neighbour else ():
            for neighbour in candidate.neighbours:
                wanted.setdefault((candidate.source, neighbour), (candidate.key, Reason.NEIGHBOUR))
        for candidate in best[:NAMING] if fusion.link else ():
            for source in self.namers:
                for id_ in self._named(source, candidate.text):
                    wanted.setdefault((source, id_), (candidate.key, Reason.LINKED))
        self._add({key: why for key, why in wanted.items() if key not in self.known})

    def _named(self, source: str, text: str) -> Sequence[str]:
        names = answer_of(self.namers[source].link_named, text, self.request)
        if isinstance(names, Exception):
            self.warnings.append(f"source {source!r} could not look up names: {safe_message(names)}")
            return ()
        found: Sequence[str] = names
        return found

    def follow_links(self) -> None:
        """Go breadth-first through `links`, level by level."""
        level = list(self.known.values())
        room = self.most_links
        dangling = 0
        for depth in range(1, self.request.depth + 1):
            wanted: dict[Key, tuple[Key, Reason]] = {}
            for candidate in level:
                for link in links_of(candidate):
                    key = (candidate.source, link)
                    if key not in self.known and len(wanted) < room * _ASKED_PER_PLACE:
                        wanted.setdefault(key, (candidate.key, Reason.EXPANDED))
            if not wanted:
                break
            read = self._read(wanted)
            dangling += len(wanted) - len(read)
            level = self._enter(read[:room], wanted, depth=depth)
            room -= len(level)
        if dangling:
            self.warnings.append(f"{dangling} links lead to nothing that can be read; they were skipped")

    def _add(self, wanted: Wanted, request: ContextRequest | None = None) -> list[Candidate]:
        return self._enter(self._read(wanted, request), wanted)

    def _read(self, wanted: Wanted, request: ContextRequest | None = None) -> list[Candidate]:
        """Read wanted records, one call for each source; return those that may come in, in wanted order."""
        request = request or self.request
        by_source: dict[str, list[str]] = {}
        for source, id_ in wanted:
            if source in self.sources:
                by_source.setdefault(source, []).append(id_)
        calls = [_reader(self.sources[name], ids, request.apart()) for name, ids in by_source.items()]
        read: dict[Key, Candidate] = {}
        owners = [self.sources[name] for name in by_source]
        for name, answer in zip(by_source, run(calls, owners, self.deadline)[0], strict=True):
            problem, items = read_answer(answer)
            if problem:
                self.warnings.append(f"source {name!r} could not be expanded: {problem}")
            if items is None:
                continue
            admitted = admit([(self.sources[name].name, items)], request, stage="expand")
            self.warnings += admitted.warnings
            self.decisions += admitted.decisions
            read.update((candidate.key, candidate) for candidate in admitted.candidates)
        return [read[key] for key in wanted if key in read]

    def _enter(self, read: Sequence[Candidate], wanted: Wanted, *, depth: int = 0) -> list[Candidate]:
        """Add what was read to those who are known."""
        added = [self._told(candidate, *wanted[candidate.key], depth) for candidate in read]
        self.known.update((candidate.key, candidate) for candidate in added)
        return added

    def _told(self, candidate: Candidate, by: Key, reason: Reason, depth: int) -> Candidate:
        """Return the candidate with a relevance, and note who brought it."""
        self.decisions.append(
            Decision(
                stage="expand",
                key=candidate.key,
                verdict=Verdict.CHANGED,
                reason=Reason.EXPANDED,
                details={"by": by, "through": reason, "depth": depth or 1},
            )
        )
        if reason is Reason.PINNED:
            return _pinned(candidate)
        if candidate.claims or candidate.relevance or reason is not Reason.EXPANDED:
            return candidate
        return replace(candidate, relevance=LINK_DECAY * self.known[by].relevance)

    def result(self) -> Collected:
        """Return everyone known, the expanded after the collected."""
        found = Collected(
            candidates=tuple(self.known.values()),
            decisions=tuple(self.decisions),
            warnings=tuple(self.warnings),
        )
        return bounded(found, self.request, stage="expand")


def _reader(source: Any, ids: Sequence[str], request: ContextRequest) -> Callable[[], Any]:
    return lambda: source.get(ids, request)
