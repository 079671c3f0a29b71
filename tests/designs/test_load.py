"""Two hundred builds at once in each design: each answers, or says that it was late."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from langchain_context_engine import AllSourcesFailedError, Context
from langchain_context_engine.values.types import Status
from tests.designs import (
    learning_builders,
    memory_builders,
    plan_builders,
    prime_builders,
    workspace_builders,
)

pytestmark = pytest.mark.unmeasured

AT_ONCE = 200


def memory():
    engine = memory_builders.a_memory()
    return lambda i: engine.build_context(f"project timeline {i}", "acme").trace


def workspace():
    builder = workspace_builders.a_builder(workspace_builders.a_page(8))
    asked = {"builder": builder, "focus": {"block_id": "p1"}}
    return lambda i: workspace_builders.build([], f"Where are lost keys {i}?", **asked).context


def learning():
    assembler = learning_builders.an_assembler()
    return lambda i: learning_builders.assemble(query=f"flaky login {i}", assembler=assembler).context


def prime():
    service = prime_builders.a_service()
    service.prepare()
    return lambda i: prime_builders.ask(service, f"When are invoices {i} sent?").trace


def plan():
    made = plan_builders.a_plan(
        [plan_builders.SYSTEM, plan_builders.a_pack("faq"), plan_builders.USER],
        packs={"faq": plan_builders.an_engine()},
    )
    return lambda i: made.assemble({"question": f"Where is order {i}?"}).trace


def answered(build, i: int) -> Context | None:
    """Return the answer to a build; None where all of its sources were late, which it says by an error."""
    try:
        return build(i)
    except AllSourcesFailedError as error:
        if not all(map(is_late, error.warnings)):
            raise
        return None


def is_late(told: str) -> bool:
    """Tell whether something was said of time."""
    return "deadline" in told or "an earlier question" in told


@pytest.mark.parametrize("design", [memory, workspace, learning, prime, plan], ids=lambda d: d.__name__)
def test_two_hundred_builds_at_once_answer_or_say_that_they_were_late(design):
    build = design()
    build(-1)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        contexts = [found for found in pool.map(lambda i: answered(build, i), range(AT_ONCE)) if found]
    assert all(context.text for context in contexts)
    assert all(context.status is Status.OK or any(map(is_late, context.warnings)) for context in contexts)
    # How many depends on what else the machine does; where waiting spent the deadline it was a handful.
    assert sum(context.status is Status.OK for context in contexts) > 0.5 * AT_ONCE
