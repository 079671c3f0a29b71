"""Ours against what a LangChain or LlamaIndex user assembles today, on the same data.

    python -m tests.benchmarks.peers --data DIR [--queries 100] [--sets wiki docs]

Needs the extra `bench`. Every system has the same embedder, collections, token counter, budget,
filters (tenant, sources, date) and scoring. Each peer searches Chroma and BM25, fuses by reciprocal
rank and fills the budget greedily with whole texts, best first; what does not fit is passed over.
LangChain's BM25 splits at spaces by default, case and commas included; it is given lower-case words,
which finds more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever as LlamaRetriever
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.retrievers.bm25 import BM25Retriever as LlamaBM25Retriever

from langchain_context_engine.embeddings.local import LocalEmbeddings
from langchain_context_engine.evaluation.evaluate import Report, evaluate
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.text.tokens import resolve_tokenizer
from tests.benchmarks.datasets import MEAN_OF, Dataset, Record, arguments, collections, load
from tests.benchmarks.recall import engine_over, say, show_progress

FOUND = 50
"""Texts that each leg of each peer finds."""


class Library:
    """A set as the peers see it: its collections, and its records by tenant and source."""

    def __init__(self, dataset: Dataset, cache: Path, embedder: Any = LocalEmbeddings) -> None:
        self.embeddings = embedder()
        self.collections = collections(dataset, cache, self.embeddings)
        self.records = dataset.records
        # LlamaIndex takes two nodes for one only if text and metadata are equal.
        self.nodes = {r.id: TextNode(text=r.text, id_=r.id, metadata=r.metadata) for r in dataset.records}
        for node in self.nodes.values():  # only the text is searched, as by the others
            node.excluded_embed_metadata_keys = list(node.metadata)
        self.count = resolve_tokenizer("auto")
        self._indexes: dict[Any, Any] = {}

    def index(
        self, make: Callable[[Library, list[Record]], Any], workspace: str | None, sources: tuple[str, ...]
    ) -> Any:
        """Return a lexical index over one tenant's records in some sources, made once; None over none."""
        key = (make, workspace, sources)
        if key not in self._indexes:
            chosen = [
                r
                for r in self.records
                if r.source in sources and workspace in (None, r.metadata.get("workspace"))
            ]
            self._indexes[key] = make(self, chosen) if chosen else None
        return self._indexes[key]

    def filled(self, texts: Iterable[str], budget: int) -> str:
        """Return the texts that fit, best first, whole, joined by line breaks."""
        kept: list[str] = []
        left = budget
        for text in texts:
            cost = self.count(f"{text}\n")
            if cost <= left:
                kept.append(text)
                left -= cost
        return "\n".join(kept)


class Dense(BaseRetriever):
    """LangChain: nearest neighbours in one or more Chroma collections with one filter."""

    library: Any
    sources: tuple[str, ...]
    where: dict[str, Any] | None

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [
            Document(text, id=id_) for id_, text, _ in nearest(self.library, query, self.sources, self.where)
        ]


class Dated(BaseRetriever):
    """LangChain: a BM25 retriever, less what is newer than a date."""

    retriever: Any
    until: float | None

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found = self.retriever.invoke(query)
        return [d for d in found if self.until is None or d.metadata["created_at"] <= self.until][:FOUND]


class LlamaDense(LlamaRetriever):
    """LlamaIndex: nearest neighbours in Chroma collections with one filter."""

    def __init__(self, library: Library, sources: tuple[str, ...], where: dict[str, Any] | None) -> None:
        super().__init__()
        self._asked = (library, sources, where)

    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        library, sources, where = self._asked
        found = nearest(library, query_bundle.query_str, sources, where)
        return [NodeWithScore(node=library.nodes[i], score=1 - distance) for i, _, distance in found]


class LlamaDated(LlamaRetriever):
    """LlamaIndex: a BM25 retriever, less what is newer than a date."""

    def __init__(self, retriever: Any, until: float | None) -> None:
        super().__init__()
        self._asked = (retriever, until)

    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        retriever, until = self._asked
        found = retriever.retrieve(query_bundle)
        return [n for n in found if until is None or n.node.metadata["created_at"] <= until][:FOUND]


def nearest(
    library: Library, query: str, sources: Sequence[str], where: dict[str, Any] | None
) -> list[tuple[str, str, float]]:
    """Return (id, text, distance) of the nearest records of all the sources together."""
    vector = library.embeddings.embed_query(query)
    found: list[tuple[str, str, float]] = []
    for source in sources:
        answer = library.collections[source].query(
            query_embeddings=[vector], n_results=FOUND, where=where, include=["documents", "distances"]
        )
        found += zip(answer["ids"][0], answer["documents"][0], answer["distances"][0], strict=True)
    return sorted(found, key=lambda hit: hit[2])[:FOUND]


def lower_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def langchain_bm25(_: Library, records: list[Record]) -> BM25Retriever:
    documents = [Document(r.text, id=r.id, metadata=r.metadata) for r in records]
    # More than are kept, since the date is checked afterwards.
    return BM25Retriever.from_documents(documents, k=4 * FOUND, preprocess_func=lower_words)


def llama_bm25(library: Library, records: list[Record]) -> LlamaBM25Retriever:
    nodes = [library.nodes[r.id] for r in records]
    return LlamaBM25Retriever.from_defaults(nodes=nodes, similarity_top_k=min(4 * FOUND, len(nodes)))


def narrowed(
    library: Library, fields: dict[str, Any]
) -> tuple[str | None, tuple[str, ...], float | None, Any]:
    """Return tenant, sources, date and Chroma filter of a question's fields."""
    workspace = fields.get("scope", {}).get("workspace")
    sources = tuple(s for s in library.collections if s in fields.get("sources", library.collections))
    instant = read_instant(fields.get("until"))
    until = instant.timestamp() if instant else None
    parts: list[dict[str, Any]] = [{"workspace": workspace}] if workspace else []
    parts += [{"created_at": {"$lte": until}}] if until is not None else []
    where = {"$and": parts} if len(parts) > 1 else parts[0] if parts else None
    return workspace, sources, until, where


def langchain_pooled(library: Library):
    """Return EnsembleRetriever over one dense and one BM25 retriever, all sources pooled."""

    def answer(query: str, budget: int, **fields: Any) -> str:
        workspace, sources, until, where = narrowed(library, fields)
        legs: list[Any] = [Dense(library=library, sources=sources, where=where)]
        if index := library.index(langchain_bm25, workspace, sources):
            legs.append(Dated(retriever=index, until=until))
        found = EnsembleRetriever(retrievers=legs, weights=[1 / len(legs)] * len(legs)).invoke(query)
        return library.filled((d.page_content for d in found), budget)

    return answer


def langchain_per_source(library: Library):
    """Return EnsembleRetriever over a dense and a BM25 retriever for each source."""

    def answer(query: str, budget: int, **fields: Any) -> str:
        workspace, sources, until, where = narrowed(library, fields)
        legs: list[Any] = []
        for source in sources:
            legs.append(Dense(library=library, sources=(source,), where=where))
            if index := library.index(langchain_bm25, workspace, (source,)):
                legs.append(Dated(retriever=index, until=until))
        found = EnsembleRetriever(retrievers=legs, weights=[1 / len(legs)] * len(legs)).invoke(query)
        return library.filled((d.page_content for d in found), budget)

    return answer


def llama_fusion(library: Library):
    """Return QueryFusionRetriever, reciprocal rank, over one dense and one BM25 retriever."""
    model = MockLLM()

    def answer(query: str, budget: int, **fields: Any) -> str:
        workspace, sources, until, where = narrowed(library, fields)
        legs: list[Any] = [LlamaDense(library, sources, where)]
        if index := library.index(llama_bm25, workspace, sources):
            legs.append(LlamaDated(index, until))
        fusion = QueryFusionRetriever(
            legs,
            llm=model,
            mode="reciprocal_rerank",
            similarity_top_k=2 * FOUND,
            num_queries=1,
            use_async=False,
        )
        return library.filled((n.node.text for n in fusion.retrieve(query)), budget)

    return answer


PEERS = {
    "LangChain EnsembleRetriever, pooled": langchain_pooled,
    "LangChain EnsembleRetriever, per source": langchain_per_source,
    "LlamaIndex QueryFusionRetriever": llama_fusion,
}


def lines(name: str, reports: dict[str, Report], budgets: list[int]) -> list[str]:
    """Return a set's lines of the table; the best recall of each budget is bold."""
    best = {b: max(report.recall(b) for report in reports.values()) for b in budgets}
    table = []
    for system, report in reports.items():
        recalls = [
            f"**{report.recall(b):.3f}**" if report.recall(b) == best[b] else f"{report.recall(b):.3f}"
            for b in budgets
        ]
        tokens = "/".join(f"{report.figures(b)['tokens']:.0f}" for b in budgets)
        times = "/".join(f"{report.figures(b)['milliseconds']:.1f}" for b in budgets)
        over = sum(int(report.figures(b)["violations"]) for b in budgets)
        table.append(f"| {name} | {system} | " + " | ".join([*recalls, tokens, times, str(over)]) + " |")
    return table


def main() -> None:
    options = arguments(__doc__.partition("\n")[0]).parse_args()
    heads = [
        "set",
        "system",
        *(f"recall at {b}" for b in options.budgets),
        "tokens",
        "ms (median)",
        "over budget",
    ]
    say("| " + " | ".join(heads) + " |\n|" + "|".join([" --- "] * 2 + [" ---: "] * (len(heads) - 2)) + "|")
    means: dict[str, dict[int, list[float]]] = {}
    for name in options.sets:
        dataset = load(
            name, options.data, queries=options.queries, seed=options.seed, most_records=options.records
        )
        library = Library(dataset, options.cache, options.embedder)
        engine = engine_over(dataset, options.cache, options.embedder)
        systems: dict[str, Any] = {"langchain-context-engine": engine.build}
        systems |= {peer: make(library) for peer, make in PEERS.items()}
        reports = {
            system: evaluate(
                subject,
                dataset.questions,
                budgets=options.budgets,
                texts=dataset.texts,
                count=library.count,
                progress=show_progress(f"{name}, {system}"),
            )
            for system, subject in systems.items()
        }
        say("\n".join(lines(name, reports, options.budgets)))
        for system, report in reports.items():
            for budget in options.budgets:
                if name in MEAN_OF:
                    means.setdefault(system, {}).setdefault(budget, []).append(report.recall(budget))
    for system, recalls in means.items():
        cells = [f"{math.fsum(recalls[b]) / len(recalls[b]):.3f}" for b in options.budgets]
        say(f"| mean | {system} | " + " | ".join(cells) + " | | | |")


if __name__ == "__main__":
    main()
