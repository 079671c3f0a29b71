"""A team's assistant remembers: over a collection that LangChain filled, with its own names for metadata.

python examples/memory_engine.py
"""

from langchain_chroma import Chroma

from langchain_context_engine import LocalEmbeddings
from langchain_context_engine.designs import MemoryEngine

MEMORIES = {
    "We moved the launch from April to the second week of May.": ("decision", "2026-03-02", ""),
    "The launch budget is 40,000 euros, a quarter for advertising.": ("fact", "2026-02-11", ""),
    "Ana wants the weekly summary before nine on Mondays.": ("preference", "2025-11-20", ""),
    "The beta stays open until May 4, before the launch.": ("decision", "2026-03-09", "m1"),
}
store = Chroma.from_texts(
    list(MEMORIES),
    LocalEmbeddings(),
    [{"team": "acme", "type": kind, "said": said, "links": to} for kind, said, to in MEMORIES.values()],
    ids=["m1", "m2", "m3", "m4"],
    collection_name="memories",
)
engine = MemoryEngine(store, workspace_key="team", fields={"created_at": "said"})

question = "When do we launch?"
for found in engine.search(question, "acme", limit=3, memory_types=["fact", "decision"], now="2026-03-10"):
    print(f"{found.rank}. {found.memory.content}")
options = {"template": "detailed", "token_budget": 150, "include_relationships": True}
print(f"\n{engine.build_context(question, 'acme', options)}\nUser: {question}\nAssistant:")

engine.register_ranker("newest", lambda results: sorted(results, key=lambda r: r.memory.created_at)[::-1])
preview = engine.preview_context(question, "acme", token_budget=60, ranker="newest")
print(f"\n{preview.memory_ids}, {preview.token_count} tokens, {preview.budget_used:.0f} %")
