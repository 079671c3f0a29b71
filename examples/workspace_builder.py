"""A context out of a workspace of blocks that LangChain stored, for a user and the block they are at.

python examples/workspace_builder.py
"""

from langchain_chroma import Chroma

from langchain_context_engine import LocalEmbeddings
from langchain_context_engine.designs import User, WorkspaceContextBuilder

BLOCKS = {
    "page": ("Spring release", {"type": "page", "title": "Spring release"}),
    "task": ("Move billing to monthly invoices", {"type": "todo", "parent": "page", "page_id": "page"}),
    "step": ("Write the migration of open invoices", {"type": "todo", "parent": "task", "page_id": "page"}),
    "old": ("Move the shop to monthly billing: export, import, train the team", {"type": "todo"}),
    "law": ("VAT must be shown for each customer.", {"type": "text", "links": "task, page"}),
    "logo": ("Draft of a blue logo.", {"type": "text", "updated_by": "ann", "updated_at": "2026-03-09"}),
    "pay": ("Salaries of the billing team", {"type": "text", "team": "hr"}),
}
store = Chroma.from_texts(
    [text for text, _ in BLOCKS.values()],
    LocalEmbeddings(),
    [{"team": "product", **about} for _, about in BLOCKS.values()],
    ids=list(BLOCKS),
    collection_name="blocks",
)
builder = WorkspaceContextBuilder(
    store,
    permissions=lambda user: {"team": user.attributes["teams"]},
    fields={"parent_id": "parent"},
)
ann = User(id="ann", attributes={"teams": ["product", "sales"]}, preferences={"tone": "brief"})
payload = builder.build(
    "Break this task into subtasks", user=ann, focus={"block_id": "task"}, now="2026-03-10"
)
print(payload)
print(f"\n{payload.metadata.total_tokens} tokens, {payload.metadata.blocks_included} blocks")
