"""Sixty builds at once in each design: each answers, in whole, whatever the others do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from langchain_context_engine.models.types import Status
from tests.designs import (
    learning_builders,
    memory_builders,
    plan_builders,
    prime_builders,
    workspace_builders,
)

pytestmark = pytest.mark.unmeasured

AT_ONCE = 60
# Who waits for a turn spends no deadline (`test_turnstile.py`); here no other work of the machine spends it.
PATIENT = {"timeout_seconds": 300}


def memory():
    engine = memory_builders.a_memory(**PATIENT)
    return lambda i: engine.build_context(f"project timeline {i}", "acme").trace


def workspace():
    builder = workspace_builders.a_builder(workspace_builders.a_page(8), **PATIENT)
    asked = {"builder": builder, "focus": {"block_id": "p1"}}
    return lambda i: workspace_builders.build([], f"Where are lost keys {i}?", **asked).context


def learning():
    assembler = learning_builders.an_assembler(**PATIENT)
    return lambda i: learning_builders.assemble(query=f"flaky login {i}", assembler=assembler).context


def prime():
    service = prime_builders.a_service(**PATIENT)
    service.prepare()
    return lambda i: prime_builders.ask(service, f"When are invoices {i} sent?").trace


def plan():
    made = plan_builders.a_plan(
        [plan_builders.SYSTEM, plan_builders.a_pack("faq"), plan_builders.USER],
        packs={"faq": plan_builders.an_engine(**PATIENT)},
    )
    return lambda i: made.assemble({"question": f"Where is order {i}?"}).trace


@pytest.mark.parametrize("design", [memory, workspace, learning, prime, plan], ids=lambda d: d.__name__)
def test_each_of_many_builds_at_once_is_the_build_of_its_question(design):
    build = design()
    asked = build(-1).request.query
    with ThreadPoolExecutor(AT_ONCE) as pool:
        contexts = list(pool.map(build, range(AT_ONCE)))
    assert all(context.text for context in contexts)
    assert [c.warnings for c in contexts if c.status is not Status.OK] == []
    assert [context.request.query for context in contexts] == [
        asked.replace("-1", str(i)) for i in range(AT_ONCE)
    ]
