"""A context out of a workspace of blocks, for a user and the block they are at: every section filled.

python examples/workspace_builder.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import chromadb

from langchain_context_engine import LocalEmbeddings
from langchain_context_engine.designs import ContextHints, User, WorkspaceContextBuilder

NOW = "2026-03-10T12:00:00Z"
IN = {"page_id": "page"}
BY_ANN = {"updated_by": "ann", "updated_at": "2026-03-09T16:00:00Z"}
BLOCKS = {
    "page": ("page", "Spring release", {"title": "Spring release", "summary": "What ships in April."}),
    "task": ("todo", "Move billing to monthly invoices", {"parent_id": "page", "position": 1, **IN}),
    "step": ("todo", "Write the migration of open invoices", {"parent_id": "task", "position": 1, **IN}),
    "next": ("todo", "Announce the new prices", {"parent_id": "page", "position": 2, **IN}),
    "old": ("todo", "Break the move of support into subtasks: export, import, train the team", {}),
    "law": ("text", "VAT must be shown for each customer.", {"links": "task, page"}),
    "logo": ("text", "Draft of a blue logo.", BY_ANN),
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
    ann = User(
        id="ann",
        attributes={"teams": ["product", "sales"]},
        preferences={"language": "English", "tone": "brief"},
    )
    with tempfile.TemporaryDirectory() as folder:
        builder = WorkspaceContextBuilder(
            collection,
            embeddings=embeddings,
            permissions=lambda user: {"team": user.attributes["teams"]},
            journal=Path(folder) / "journal.db",
        )
        payload = builder.build(
            "Break this task into subtasks",
            user=ann,
            focus={"block_id": "task"},
            conversation_history=[("user", "What is next?"), ("assistant", "The move of billing.")],
            system="You plan work.",
            hints=ContextHints(prioritize_types=["todo"]),
            now=NOW,
        )
        print(payload)
        told = payload.metadata
        print(f"\n{told.total_tokens} tokens, {told.remaining_budget} left, {told.blocks_included} blocks")
        step = next(item for item in payload.sections[0].items if item.block_id == "step")
        print(" > ".join(step.path))
        builder.journal.close()


if __name__ == "__main__":
    main()
