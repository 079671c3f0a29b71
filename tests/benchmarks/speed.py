"""How fast the engine is, as ratios to the bare store: both are timed in turn, so that noise hits both.

    python -m tests.benchmarks.speed [--only NAME ...] [--rounds 60]

The store is asked as one would without an engine: `collection.query(query_embeddings, n_results=20)` with
documents, metadata and distances. Collections are made once and kept in the cache folder. Every question
is asked once, so that no text has been seen before; what is measured again is named so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langchain_context_engine import Candidate, ChromaSource, ContextEngine, ContextRequest
from langchain_context_engine.config import EngineConfig
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.types import Ranked
from langchain_context_engine.pipeline.dedupe import dedupe
from langchain_context_engine.ranking.identity import DEFAULT_RULES
from langchain_context_engine.trace.assemble import assemble
from langchain_context_engine.trace.result_cache import ResultCache
from tests.benchmarks import process_figures
from tests.benchmarks.speed_data import Maker, Query, open_collections
from tests.benchmarks.timing import Times, milliseconds, side_by_side

K = 20
DEPTH = 100
"""Hits that a search asks of a collection's vectors at once."""
USER = {"user": "user-3"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    what: str
    found: float
    target: float
    note: str = ""
    is_least: bool = False

    def line(self) -> str:
        is_met = self.found >= self.target if self.is_least else self.found <= self.target
        sign, mark = ("≥" if self.is_least else "≤"), ("met" if is_met else "MISSED")
        return f"| {self.what} | {self.found:,.3g} | {sign} {self.target:,g} | {mark} | {self.note} |"


class Bench:
    """What the measurements share: collections, an engine over them, questions that come once."""

    def __init__(self, cache: Path, rounds: int, records: int = 10_000) -> None:
        self.cache, self.rounds = cache, rounds
        self.collections = open_collections(cache, records)
        self.maker = Maker(4711)
        self.engine = self.engine_over(self.collections)

    def engine_over(self, collections: Sequence[Any], **settings: Any) -> ContextEngine:
        """Return an engine with its defaults that has read its collections and was asked a few times."""
        sources = [ChromaSource(collection) for collection in collections]
        engine = ContextEngine(sources=sources, limit=K, timeout_seconds=60.0, **settings)
        for source in engine.sources:
            source.prepare()
        for query in self.queries(5):
            build(engine, query)
            self.bare(query)
        return engine

    def queries(self, n: int) -> list[Query]:
        return [self.maker.query() for _ in range(n)]

    def bare(self, query: Query, where: dict[str, Any] | None = None, *, of: int = 5) -> list[list[str]]:
        """Ask so many collections in turn, and return their ids."""
        include = ["documents", "metadatas", "distances"]
        return [
            c.query(query_embeddings=[list(query.vector)], n_results=K, where=where, include=include)["ids"][
                0
            ]
            for c in self.collections[:of]
        ]

    def asked(self, query: Query, among: Sequence[list[str]] | None = None) -> None:
        """Ask the store alone for what an answer asks of it: the nearest, then the records of both legs.

        Half of them were found by their words; the texts and metadata of all are read by id.

        Args:
            query: The question.
            among: For each collection the ids of a scope, which the index of words tells at once; None: all.
        """
        for place, collection in enumerate(self.collections[:5]):
            near = collection.query(
                query_embeddings=[list(query.vector)],
                n_results=DEPTH,
                ids=among[place] if among else None,
                include=["distances"],
            )
            ids = near["ids"][0]
            collection.get(ids=[*ids[:K], *ids[-K // 2 :]], include=["documents", "metadatas"])

    def candidates(self, n: int) -> list[Candidate]:
        """Return so many new candidates of 800 characters from five sources, with the claims of a search."""
        draw = self.maker.random
        return [
            Candidate(
                id=f"c{i}",
                source=f"source-{i % 5}",
                text=self.maker.text(),
                relevance=draw.random(),
                claims={"dense": draw.random(), "lexical": 9 * draw.random(), "phrase": 0.0},
                metadata={"user": "user-3", "created_at": 1_700_000_000 + i},
                provenance=(f"source-{i % 5}",),
            )
            for i in range(n)
        ]


def build(engine: ContextEngine, query: Query, **fields: Any) -> Any:
    return engine.build(query.text, vector=query.vector, **fields)


def ratios(what: str, times: Times, p50: float, p95: float | None = None) -> list[Figure]:
    note = f"{milliseconds(times.ours)} beside {milliseconds(times.theirs)}"
    figures = [Figure(f"{what}, p50", times.ratio(0.5), p50, note)]
    return figures if p95 is None else [*figures, Figure(f"{what}, p95", times.ratio(0.95), p95)]


def measure_build(bench: Bench) -> list[Figure]:
    queries = bench.queries(bench.rounds)
    times = side_by_side(queries, lambda q: build(bench.engine, q), bench.bare)
    again = side_by_side(queries, lambda q: build(bench.engine, q), bench.bare)
    alone = side_by_side(queries, bench.asked, bench.bare)
    return [
        *ratios("build : five bare queries", times, 1.5, 1.8),
        *ratios("build : five bare queries, texts seen before", again, 1.2, 1.4),
        *ratios("of which the store alone, as it is asked : five bare queries", alone, 1.2),
    ]


def measure_scope(bench: Bench) -> list[Figure]:
    queries = bench.queries(max(10, bench.rounds // 2))
    shared = 0.0
    for query in queries[:10]:
        # Without words, what is found is what is nearest.
        request = ContextRequest(vector=query.vector, scope=USER, limit=K)
        ours = [[c.id for c in source.fetch(request)] for source in bench.engine.sources]
        theirs = bench.bare(query, USER)
        shared += sum(len({*a} & {*b}) / K for a, b in zip(ours, theirs, strict=True)) / 50
    times = side_by_side(queries, lambda q: build(bench.engine, q, scope=USER), lambda q: bench.bare(q, USER))
    among = [collection.get(where=USER, include=[])["ids"] for collection in bench.collections]
    alone = side_by_side(queries, lambda q: bench.asked(q, among), lambda q: bench.bare(q, USER))
    # Ours are exact; the store's index is approximate and now and then misses one.
    same = Figure("ids in that scope that are the store's too, of all", shared, 0.995, is_least=True)
    return [
        *ratios("build in a scope of 10 % : five bare filtered queries", times, 0.2),
        *ratios("of which the store alone, as it is asked : five bare filtered queries", alone, 0.2),
        same,
    ]


def measure_assembling(bench: Bench) -> list[Figure]:
    parts, figures = EngineConfig().parts(), []
    for n, budget, never, seen in ((100, 2000, 3.0, 1.0), (200, 2000, 5.0, 1.5), (240, 16_000, 9.0, 3.0)):
        pools = [(query, bench.candidates(n)) for query in bench.queries(12)]

        def ours(pool: tuple[Query, list[Candidate]], budget: int = budget) -> None:
            request = ContextRequest(query=pool[0].text, now=read_instant(0), budget=budget)
            assemble(pool[1], request, parts)

        for which, target in (("never seen", never), ("seen before", seen)):
            times = side_by_side(pools, ours, lambda pool: bench.bare(pool[0], of=1))
            what = f"rank to render of {n} for {budget:,} tokens, {which} : one bare query"
            figures += ratios(what, times, target)
    return figures


def measure_growth(bench: Bench) -> list[Figure]:
    large = Bench(bench.cache, bench.rounds, records=100_000)
    times = side_by_side(
        bench.queries(bench.rounds), lambda q: build(large.engine, q), lambda q: build(bench.engine, q)
    )
    bare = side_by_side(bench.queries(bench.rounds), large.bare, bench.bare)
    figure = ratios("build over 100,000 records a collection : over 10,000", times, 1.3)[0]
    return [replace(figure, note=f"{figure.note}; bare queries {bare.ratio(0.5):.2f}")]


def measure_dedupe(bench: Bench) -> list[Figure]:
    seconds = []
    for n in (10_000, 20_000):
        items = [Ranked(candidate=candidate) for candidate in bench.candidates(n)]
        times = side_by_side([items], lambda i: dedupe(i, rules=DEFAULT_RULES), lambda _: None)
        seconds.append(times.ours[0])
    return [
        Figure("dedupe of 10,000, seconds", seconds[0], 2.0),
        Figure("dedupe of 20,000 : of 10,000", seconds[1] / seconds[0], 2.5),
    ]


def measure_cache(bench: Bench) -> list[Figure]:
    kept = bench.engine_over(bench.collections, cache=ResultCache())
    queries = bench.queries(20)
    for query in queries:
        build(kept, query)
    times = side_by_side(queries, lambda q: build(kept, q), lambda q: build(bench.engine, q))
    return ratios("cached repeat : build", times, 0.02)


def measure_threads(bench: Bench) -> list[Figure]:
    return [
        Figure(f"answers of {n} threads : of one, a second", gain, least, is_least=True, note=note)
        for n, gain, least, note in process_figures.threads(
            lambda q: build(bench.engine, q), bench.queries(160)
        )
    ]


def measure_process(bench: Bench) -> list[Figure]:
    return [
        Figure("import beside langchain_core, seconds", process_figures.import_seconds(), 0.1),
        Figure(
            "memory of one build, MB",
            process_figures.memory_of(lambda q: build(bench.engine, q), bench.queries(5)),
            20.0,
        ),
        Figure(
            "growth from build 2,000 to 10,000, MB",
            process_figures.growth_of(lambda q: build(bench.engine, q, budget=300), bench.queries(50)),
            5.0,
        ),
    ]


def measure_indexing(bench: Bench) -> list[Figure]:
    own, read, note = process_figures.indexing(bench.maker)
    return [
        Figure("records indexed a second, beside embedder and store", own, 1500.0, note, is_least=True),
        Figure("records a second in the first reading of a source", read, 1500.0, is_least=True),
    ]


MEASURES: dict[str, Callable[[Bench], list[Figure]]] = {
    "build": measure_build,
    "scope": measure_scope,
    "assembling": measure_assembling,
    "cache": measure_cache,
    "threads": measure_threads,
    "dedupe": measure_dedupe,
    "process": measure_process,
    "indexing": measure_indexing,
    "growth": measure_growth,
}
SLOW = ("growth",)
"""Only where named: the collections take some minutes to make."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=MEASURES, help="default: all but " + ", ".join(SLOW))
    parser.add_argument("--rounds", type=int, default=60, help="questions of each measurement")
    parser.add_argument("--cache", type=Path, default=Path(".context-engine/benchmarks"))
    options = parser.parse_args()
    bench = Bench(options.cache, options.rounds)
    sys.stdout.write("| what | figure | target | | |\n| --- | ---: | ---: | --- | --- |\n")
    for name in options.only or [name for name in MEASURES if name not in SLOW]:
        for figure in MEASURES[name](bench):
            sys.stdout.write(f"{figure.line()}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
