"""What a project has learnt: a context for a question, and warnings before debugging.

python examples/learning_memory.py
"""

from __future__ import annotations

import chromadb

from langchain_context_engine import LocalEmbeddings
from langchain_context_engine.designs import LearningMemoryAssembler, Searcher

EXPERIENCE = {
    "axis": "full", "ghap_id": "g-7", "domain": "debugging", "strategy": "systematic-elimination",
    "confidence_tier": "gold",
    "goal": "Find why the login test fails at night", "hypothesis": "The clock of the container drifts",
    "action": "Freeze the clock", "prediction": "The test passes", "outcome_status": "falsified",
    "outcome_result": "It failed again", "surprise": "The token was cached", "lesson": "Clear the cache",
}  # fmt: skip
RECORDS = {
    "memories": [("Login tokens are signed with RS256.", {"category": "decision", "importance": 0.8})],
    "code": [("def login(user): signs a token", {
        "unit_type": "function", "name": "login", "file_path": "src/auth.py", "start_line": 12,
        "signature": "def login(user: User) -> Token:", "docstring": '    """Return a signed token."""',
    })],
    "experiences": [
        ("The login test fails at night; freezing the clock did not help.", EXPERIENCE),
        ("The token was cached, which nobody expected.", {**EXPERIENCE, "axis": "surprise"}),
    ],
    "values": [("Look at the caches before the clocks.", {"axis": "strategy", "cluster_size": 4})],
    "commits": [("Clear the token cache after each login test", {
        "sha": "abcdef1234567", "author": "Ann", "timestamp": "2026-01-20",
        "files_changed": ["tests/conftest.py"],
    })],
}  # fmt: skip


def main() -> None:
    client, embeddings, stores = chromadb.EphemeralClient(), LocalEmbeddings(), {}
    for name, records in RECORDS.items():
        texts = [text for text, _ in records]
        space = {"hnsw": {"space": "cosine"}}
        stores[name] = client.get_or_create_collection(name, embedding_function=None, configuration=space)
        stores[name].upsert(
            ids=[f"{name}-{number}" for number in range(len(texts))],
            documents=texts,
            metadatas=[metadata for _, metadata in records],
            embeddings=embeddings.embed_documents(texts),
        )
    assembler = LearningMemoryAssembler(Searcher(embeddings=embeddings, **stores))
    print(assembler.assemble_context_sync("why does the login test fail?", list(RECORDS), limit=5))
    print()
    print(assembler.get_premortem_context_sync("debugging", "systematic-elimination"))


if __name__ == "__main__":
    main()
