"""A cut keeps what answers the question, in every design that cuts (W9, M12, P5): on the document's own words."""

from __future__ import annotations

import pytest

from langchain_context_engine import LocalEmbeddings
from langchain_context_engine.designs import ContextPlan, MemoryEngine, PrimeContextService
from tests.builders import a_collection
from tests.designs.workspace_builders import PARAGRAPHS, build

LOCAL = LocalEmbeddings()
QUESTION, ANSWER = "Where are lost keys kept?", "Lost keys are kept in the blue cabinet downstairs."
LONG = " ".join(
    [*[f"{text} Case {i}." for i in range(6) for text in PARAGRAPHS[:6]], ANSWER, *PARAGRAPHS[7:] * 9]
)


def stored(**metadata):
    return a_collection([{"id": "long", "text": LONG, **metadata}], embeddings=LOCAL)


def workspace(tokens):
    record = {"id": "long", "text": LONG, "type": "text", "workspace": "acme"}
    return build([record], QUESTION, token_budget=tokens, embeddings=LOCAL).serialized


def memory(tokens):
    return (
        MemoryEngine(stored(workspace_id="acme"), LOCAL)
        .build_context(QUESTION, "acme", token_budget=tokens)
        .context
    )


def plan(tokens, **policy):
    made = ContextPlan(
        [{"type": "context", "name": "kb"}, {"type": "user", "content": "{input.question}"}],
        packs={"kb": lambda request: [LONG] if not request.offset else []},
        policy={"input_budget": {"max_tokens": tokens}, **policy},
    )
    return made.assemble({"question": QUESTION}).system_prompt


def extracting_plan(tokens):
    return plan(tokens, compactor="extractive")


def prime(tokens):
    service = PrimeContextService(stored(path="a.md", user_id="ann"))
    return service.build_prime_context("t1", QUESTION, "ann", references=["long"], budget=tokens).text


@pytest.mark.parametrize("cut", [workspace, memory, plan, extracting_plan, prime])
def test_a_long_text_is_cut_to_what_answers(cut):
    """W9, M12, P5"""
    assert all(ANSWER in cut(tokens) for tokens in (160, 300))
