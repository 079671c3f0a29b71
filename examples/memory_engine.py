"""A team's assistant remembers: search, a context for the prompt, a preview, a ranker of one's own.

python examples/memory_engine.py
"""

from __future__ import annotations

from collections.abc import Sequence

import chromadb

from langchain_context_engine import LocalEmbeddings
from langchain_context_engine.designs import MemoryEngine, SearchResult

MEMORIES = [
    ("m1", "decision", 0.9, "2026-03-02", "", "We moved the launch from April to the second week of May."),
    ("m2", "fact", 0.8, "2026-02-11", "", "The launch budget is 40,000 euros, a quarter for advertising."),
    ("m3", "preference", 0.6, "2025-11-20", "", "Ana wants the weekly summary before nine on Mondays."),
    ("m4", "decision", 0.7, "2026-03-09", "m1", "The beta stays open until May 4, before the launch."),
]


def newest_first(results: Sequence[SearchResult]) -> list[SearchResult]:
    return sorted(results, key=lambda result: str(result.memory.created_at), reverse=True)


def main() -> None:
    embeddings, texts = LocalEmbeddings(), [memory[-1] for memory in MEMORIES]
    collection = chromadb.EphemeralClient().get_or_create_collection(
        "memories", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    names = ("type", "confidence", "created_at", "links")
    metadatas = [{"workspace_id": "acme", **dict(zip(names, m[1:-1], strict=True))} for m in MEMORIES]
    ids = [memory[0] for memory in MEMORIES]
    vectors = embeddings.embed_documents(texts)
    collection.upsert(ids=ids, documents=texts, embeddings=vectors, metadatas=metadatas)
    engine = MemoryEngine(collection, embeddings)

    question = "When do we launch?"
    for found in engine.search(question, "acme", limit=3, memory_types=["fact", "decision"]):
        print(f"{found.rank}. {found.memory.content} (similarity {found.score:.2f})")

    options = {"template": "detailed", "token_budget": 150, "include_relationships": True}
    result = engine.build_context(question, "acme", options)
    print(f"\n{result.context}\nUser: {question}\nAssistant:\n")

    preview = engine.preview_context(question, "acme", token_budget=60)
    print(f"{len(preview.memory_ids)} memories, {preview.token_count} tokens, {preview.budget_used:.0f} %")

    engine.register_ranker("recent-only", newest_first)
    print("newest:", engine.search("launch", "acme", ranker="recent-only")[0].memory.content)


if __name__ == "__main__":
    main()
