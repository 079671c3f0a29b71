"""What a project has learnt, in collections that LangChain filled: a context, and warnings before debugging.

python examples/learning_memory.py
"""

from langchain_chroma import Chroma

from langchain_context_engine import LocalEmbeddings
from langchain_context_engine.designs import LearningMemoryAssembler, Searcher

EXPERIENCE = {
    "axis": "full", "ghap_id": "g-7", "domain": "debugging", "strategy": "systematic-elimination",
    "confidence_tier": "gold", "goal": "Find why the login test fails at night",
    "hypothesis": "The clock of the container drifts", "action": "Freeze the clock",
    "prediction": "The test passes", "outcome_status": "falsified", "outcome_result": "It failed again",
    "surprise": "The token was cached", "lesson": "Clear the cache",
}  # fmt: skip
TOLD = ["The login test fails at night; freezing the clock did not help.", "The token was cached."]
UNIT = {"unit_type": "function", "name": "login", "file_path": "src/auth.py", "start_line": 12}
COMMIT = {"sha": "abcdef1234567", "author": "Ann", "timestamp": "2026-01-20", "files_changed": "login.py"}
local = LocalEmbeddings()


def stored(name: str, texts: list[str], *about: dict[str, object]) -> Chroma:
    return Chroma.from_texts(texts, local, list(about), collection_name=name)


assembler = LearningMemoryAssembler(
    Searcher(
        memories=stored("memories", ["Login tokens are signed with RS256."], {"category": "decision"}),
        code=stored("code", ["def login(user: User) -> Token: ..."], UNIT),
        experiences=stored("experiences", TOLD, EXPERIENCE, {**EXPERIENCE, "axis": "surprise"}),
        values=stored("values", ["Look at the caches first."], {"axis": "strategy", "cluster_size": 4}),
        commits=stored("commits", ["Clear the token cache after each login test"], COMMIT),
    )
)
kinds = ["memories", "code", "experiences", "values", "commits"]
print(assembler.assemble_context_sync("why does the login test fail?", kinds, limit=5))
print(f"\n{assembler.get_premortem_context_sync('debugging', 'systematic-elimination')}")
