"""A context out of a workspace of blocks, for a user and the block they are at.

python examples/workspace_builder.py
"""

from __future__ import annotations

import chromadb

from langchain_context_engine import LocalEmbeddings
from langchain_context_engine.designs import ContextHints, TokenBudget, User, WorkspaceContextBuilder
from langchain_context_engine.designs.workspace.config import (
    CollectorSettings,
    ContextConfig,
    SemanticSettings,
)

IN = {"page_id": "page"}
BLOCKS = {
    "page": ("page", "Spring release", {"title": "Spring release"}),
    "task": ("todo", "Move billing to monthly invoices", {"parent_id": "page", "position": 1, **IN}),
    "step": ("todo", "Write the migration of open invoices", {"parent_id": "task", "position": 1, **IN}),
    "next": ("todo", "Announce the new prices", {"parent_id": "page", "position": 2, **IN}),
    "adr": ("text", "We chose monthly billing because customers asked for it.", {"links": ["task"]}),
    "old": ("todo", "Move support to new tickets: export, import, train the team", {}),
    "pay": ("text", "Salaries of the billing team", {"team": "hr"}),
}


def main() -> None:
    embeddings = LocalEmbeddings()
    collection = chromadb.EphemeralClient().get_or_create_collection(
        "blocks", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    collection.upsert(
        ids=list(BLOCKS),
        documents=[text for _, text, _ in BLOCKS.values()],
        metadatas=[{"type": kind, "team": "product", **more} for kind, _, more in BLOCKS.values()],
        embeddings=embeddings.embed_documents([text for _, text, _ in BLOCKS.values()]),
    )
    builder = WorkspaceContextBuilder(
        collection,
        embeddings=embeddings,
        permissions=lambda user: {"team": user.attributes["teams"]},
        config=ContextConfig(collectors=CollectorSettings(semantic=SemanticSettings(min_threshold=0.3))),
    )
    payload = builder.build(
        "Break this task into subtasks",
        user=User(id="ann", attributes={"teams": ["product", "sales"]}),
        focus={"block_id": "task"},
        token_budget=TokenBudget(total=2000, focus=1200, semantic=500, relations=200, activity=0, history=0),
        hints=ContextHints(prioritize_types=["todo"]),
    )
    print(payload)
    print(f"\n{payload.metadata.total_tokens} tokens, {payload.metadata.blocks_included} blocks")


if __name__ == "__main__":
    main()
