"""A plan is recorded whole: its parts, what each was promised, took and lost; and it replays (B2, B3, B9)."""

from __future__ import annotations

import pytest

from langchain_context_engine import Context, replay
from langchain_context_engine.journal import Journal
from tests.builders import count_words
from tests.designs.plan_builders import (
    ASKED,
    HISTORY,
    SYSTEM,
    USER,
    Pages,
    a_conversation,
    a_pack,
    a_plan,
    an_engine,
    budget,
)

pytestmark = pytest.mark.unmeasured


def a_full_plan(tokens=60, **settings):
    return a_plan(
        [
            SYSTEM,
            a_pack(weight=2),
            a_pack("faq", priority=1),
            {"type": "assistant", "content": "Ask me."},
            HISTORY,
            {"type": "user", "content": "With {context.notes}: {input.question}"},
        ],
        packs={"kb": Pages(), "faq": an_engine(), "notes": Pages(2, word="note")},
        policy=budget(tokens, expansion={"max_pages": 3}),
        **{"tokenizer": "auto", **settings},
    )


def named(trace):
    return {part.name: part for part in trace.parts}


def test_a_plan_tells_what_each_part_was_promised_took_and_lost():
    """B9: function packs, history and system with their tokens; what stands in the prompt is in the trace."""
    result = a_full_plan(120).assemble(ASKED, history=a_conversation(20))
    parts = named(result.trace)
    assert [parts[name].kind for name in ("system 1", "kb", "faq", "notes", "examples", "user")] == [
        "system", "pack", "pack", "pack", "example", "user",
    ]  # fmt: skip
    assert result.parts == result.trace.parts
    prompt = result.to_prompt().to_string()
    for part in result.parts:
        assert part.text in prompt or part.kind == "history"
    assert parts["notes"].within == "user"
    assert parts["kb"].promised
    assert parts["kb"].tokens > 0
    assert parts["kb"].lost > 0
    assert parts["history"].lost > 0
    assert parts["history"].reason == "left out for room"
    assert result.trace.tokens == result.token_count
    assert result.trace.budget == result.max_tokens
    assert parts["kb"].context.text == parts["kb"].text
    assert {key[0] for key in (p.key for p in result.trace.passages)} >= {"kb", "notes"}
    assert result.trace.is_truncated


def test_the_joined_pages_are_recorded_once_and_read_back(tmp_path):
    """B9: into the journal, as one trace that says it is a plan."""
    path = tmp_path / "journal.db"
    plan = a_full_plan(120, journal=path)
    result = plan.assemble(ASKED, history=a_conversation(3))
    plan.journal.close()
    with Journal(path, read_only=True) as journal:
        (row,) = journal.traces()
        trace = journal.trace(row.id)
    assert trace == Context.from_dict(result.trace.to_dict())
    assert trace.request.focus == {"plan": "plan"}
    assert row.tokens == result.token_count
    assert len(named(trace)["kb"].context.candidates) > 10
    assert replay(trace).text == trace.text == result.trace.text


@pytest.mark.parametrize("tokens", [20, 45, 60, 90, 150, 400, None])
def test_a_plans_replay_keeps_every_budget_and_unchanged_is_the_same(tokens):
    """B3: promise 9, and promise 2 under another budget."""
    plan = a_full_plan(tokens) if tokens else a_full_plan(10_000)
    trace = plan.assemble(ASKED, history=a_conversation(4)).trace
    again = replay(trace)
    assert (again.text, again.tokens, again.decisions) == (trace.text, trace.tokens, trace.decisions)
    assert [(p.name, p.text, p.tokens, p.lost) for p in again.parts] == [
        (p.name, p.text, p.tokens, p.lost) for p in trace.parts
    ]
    for other in (0, 5, 18, 30, 50, 80, 130, 300):
        changed = replay(trace, budget=other)
        assert changed.tokens <= other
        assert bool(changed.text) == bool(changed.tokens)


def test_a_larger_budget_shares_what_is_more_by_priority_and_weight():
    """B2, P3."""
    trace = a_full_plan(70).assemble(ASKED).trace
    more = replay(trace, budget=110)
    before, after = named(trace), named(more)
    assert after["faq"].tokens >= before["faq"].tokens
    assert after["kb"].tokens > before["kb"].tokens
    assert after["kb"].lost < before["kb"].lost
    assert len(more.passages) > len(trace.passages)


def test_a_function_of_ones_own_needs_the_plans_engine():
    """B2: and only that."""
    plan = a_full_plan(60, tokenizer=count_words)
    trace = plan.assemble(ASKED).trace
    assert replay(trace, plan.engine).text == trace.text
    with pytest.raises(ValueError, match="count_words"):
        replay(trace)


def test_a_nested_plan_is_a_part_with_its_own_parts():
    """B9, P7."""
    inner = a_plan(
        [{"type": "system", "content": "Facts:"}, a_pack()], packs={"kb": Pages()}, tokenizer="auto"
    )
    outer = a_plan(
        [SYSTEM, a_pack("facts"), USER], packs={"facts": inner}, policy=budget(60), tokenizer="auto"
    )
    trace = outer.assemble(ASKED).trace
    (facts,) = [part for part in trace.parts if part.kind == "plan"]
    assert [part.name for part in facts.context.parts] == ["system 1", "kb"]
    assert facts.lost > 0
    assert replay(Context.from_dict(trace.to_dict())).text == trace.text
    assert replay(trace, budget=40).tokens <= 40
    assert replay(trace, budget=120).tokens > trace.tokens


def test_a_system_prompt_that_was_cut_says_what_it_lost():
    """B9, P5."""
    long = {"type": "system", "content": "Be kind to everyone. " * 40}
    trace = a_plan([long, USER], policy=budget(30), tokenizer="auto").assemble(ASKED).trace
    (system,) = [part for part in trace.parts if part.kind == "system"]
    assert system.lost > 100
    assert system.reason == "cut for room"
    assert replay(trace).text == trace.text
