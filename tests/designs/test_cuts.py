"""A cut keeps what answers the question, in every design that cuts (W9, M12, P5): on the document's own words."""

from __future__ import annotations

import pytest

from langchain_context_engine import LocalEmbeddings
from langchain_context_engine.designs import (
    ContextPlan,
    MemoryEngine,
    PrimeContextService,
    TokenBudget,
    WorkspaceContextBuilder,
)
from tests.builders import a_collection
from tests.designs.workspace_builders import ANN, NOW, PARAGRAPHS

LOCAL = LocalEmbeddings()
QUESTION, ANSWER = "Where are lost keys kept?", "Lost keys are kept in the blue cabinet downstairs."
LONG = " ".join(
    [*[f"{text} Case {i}." for i in range(6) for text in PARAGRAPHS[:6]], ANSWER, *PARAGRAPHS[7:] * 9]
)


def stored(**metadata):
    return a_collection([{"id": "long", "text": LONG, **metadata}], embeddings=LOCAL)


def workspace(tokens):
    builder = WorkspaceContextBuilder(
        stored(type="text", workspace="acme"),
        permissions=lambda user: user.attributes,
        embeddings=LOCAL,
    )
    return builder.build(QUESTION, user=ANN, token_budget=TokenBudget(total=tokens), now=NOW).serialized


def memory(tokens):
    engine = MemoryEngine(stored(workspace_id="acme"), LOCAL)
    return engine.build_context(QUESTION, "acme", token_budget=tokens).context


def a_plan_of(pack, **policy):
    return lambda tokens: ContextPlan(
        [{"type": "context", "name": "kb"}, {"type": "user", "content": "{input.question}"}],
        packs={"kb": pack},
        policy={"input_budget": {"max_tokens": tokens}, **policy},
    ).assemble({"question": QUESTION}).system_prompt  # fmt: skip


def a_function(request):
    return [LONG] if not request.offset else []


def prime(tokens):
    service = PrimeContextService(stored(path="a.md", user_id="ann"))
    return service.build_prime_context("t1", QUESTION, "ann", references=["long"], budget=tokens).text


@pytest.mark.parametrize("tokens", [160, 300])
@pytest.mark.parametrize(
    "build",
    [workspace, memory, a_plan_of(a_function), a_plan_of(a_function, compactor="extractive"), prime],
    ids=["workspace", "memory", "plan", "plan-extractive", "prime"],
)
def test_a_long_text_is_cut_to_what_answers(build, tokens):
    """W9, M12, P5"""
    assert ANSWER in build(tokens)
