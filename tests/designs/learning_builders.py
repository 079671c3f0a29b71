"""What a project has learnt, as small collections that the tests of the learning design share."""

from __future__ import annotations

import json

from langchain_context_engine.designs import LearningMemoryAssembler, Searcher
from tests.builders import WordEmbeddings, a_collection

NOW = "2026-01-31T12:00:00Z"
EMBEDDINGS = WordEmbeddings()
ALL = ("memories", "code", "experiences", "values", "commits")


def a_memory(id_="m1", text="Login tokens are signed with RS256.", **metadata):
    return {"id": id_, "text": text, "category": "decision", "importance": 0.8, **metadata}


def a_unit(id_="c1", name="login", **metadata):
    return {
        "id": id_, "text": f"def {name}(user): check the token of a user", "unit_type": "function", "name": name,
        "qualified_name": f"auth.{name}", "file_path": "src/auth.py", "start_line": 12, "end_line": 30,
        "language": "python", "signature": f"def {name}(user: User) -> Token:",
        "docstring": f'    """Return the token of {name}."""', **metadata,
    }  # fmt: skip


def an_experience(id_="e1", **metadata):
    return {
        "id": id_, "text": f"Debugging the flaky login test, try {id_}: the token expired early.",
        "domain": "debugging", "strategy": "systematic-elimination", "goal": f"Fix the flaky login test {id_}",
        "hypothesis": "The clock of the container drifts", "action": "Freeze the clock",
        "prediction": "The test passes a hundred times", "outcome_status": "falsified",
        "outcome_result": "It failed once more", "surprise": "The token was cached",
        "lesson": json.dumps({"what_worked": "Clearing the cache"}),
        "root_cause": json.dumps({"category": "wrong-assumption", "description": "The cache outlives a test"}),
        "confidence_tier": "silver", "iteration_count": 2, **metadata,
    }  # fmt: skip


def a_value(id_="v1", text="Look at the caches before the clocks.", **metadata):
    return {
        "id": id_, "text": text, "axis": "strategy", "cluster_id": "k7", "cluster_size": 4,
        "similarity_to_centroid": 0.9, **metadata,
    }  # fmt: skip


def a_commit(id_="k1", text="Clear the token cache after each login test", **metadata):
    return {
        "id": id_, "text": text, "sha": "abcdef1234567890", "author": "Ann", "timestamp": "2026-01-20T10:00:00Z",
        "files_changed": ["tests/conftest.py", "src/cache.py"], "insertions": 4, "deletions": 1, **metadata,
    }  # fmt: skip


def a_searcher(**records):
    """Return a searcher; of experiences records, or a mapping from axis to records."""

    def collection(found):
        if isinstance(found, dict):
            return {axis: collection(own) for axis, own in found.items()}
        return found if hasattr(found, "fetch") else a_collection(found, embeddings=EMBEDDINGS)

    return Searcher(embeddings=EMBEDDINGS, **{name: collection(found) for name, found in records.items()})


def an_assembler(records=None, **fields):
    own = {
        "memories": [a_memory()], "code": [a_unit()], "experiences": [an_experience()],
        "values": [a_value()], "commits": [a_commit()],
    }  # fmt: skip
    return LearningMemoryAssembler(a_searcher(**(own if records is None else records)), **fields)


def assemble(records=None, query="flaky login token", types=None, *, assembler=None, **fields):
    own = {n: fields.pop(n) for n in ("tokenizer", "soft_limit", "timeout_seconds") if n in fields}
    assembler = assembler or an_assembler(records, **own)
    return assembler.assemble_context_sync(query, types or tuple(records or ALL), **{"now": NOW, **fields})


def many(make, n, words):
    """Return records of a kind that share the word login and nothing else."""
    name = make.__name__
    return [
        make(f"i{i}", f"login {name} " + " ".join(f"{name}{i}x{j}" for j in range(words))) for i in range(n)
    ]
