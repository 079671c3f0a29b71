"""Rows L2, L6, L7, L9 and L10 of the learning memory: premortems, budgets, caps, limits, failures."""

from __future__ import annotations

import pytest

from langchain_context_engine import ConfigError, ScopeError
from langchain_context_engine.designs import InvalidContextTypeError
from langchain_context_engine.designs.learning import SHARES, ContextAssemblyError
from langchain_context_engine.models.budget import split_tokens
from langchain_context_engine.models.types import Reason
from tests.builders import FailingSource, ListSource, SlowSource, count_words
from tests.designs.learning_builders import (
    NOW,
    a_commit,
    a_memory,
    a_unit,
    a_value,
    an_assembler,
    an_experience,
    assemble,
    many,
)

DOMAIN, STRATEGY = "debugging", "systematic-elimination"


def on_axes(**more):
    return {
        "experiences": {
            "full": [an_experience("f1"), an_experience("f2", outcome_status="confirmed"), an_experience("f3", domain="feature")],
            "strategy": [an_experience("s1", goal="Bisect the commits", hypothesis="One commit broke it", domain="feature"),
                         an_experience("s2", strategy="guessing")],
            "surprise": [an_experience("u1", surprise="It rained in the data centre")],
            "root_cause": [an_experience("r1")],
        },
        "values": [a_value(f"v{i}", text) for i, text in enumerate(PRINCIPLES)],
        **more,
    }  # fmt: skip


PRINCIPLES = [
    "Read the error first.", "Change one thing at a time.", "Write a failing test.", "Ask someone else.",
    "Sleep before rewriting.", "Keep notes of attempts.", "Check the clock.",
]  # fmt: skip


async def test_a_premortem_asks_each_axis_its_own_question_and_shows_the_documents_sections():
    """L2"""
    assembler = an_assembler(on_axes())
    found = await assembler.get_premortem_context(DOMAIN, STRATEGY, now=NOW)
    assert found.markdown == assembler.get_premortem_context_sync(DOMAIN, STRATEGY, now=NOW).markdown
    headings = [line for line in found.markdown.splitlines() if line.startswith("#")]
    assert headings == [
        "# Premortem: debugging with systematic-elimination",
        "## Common Failures",
        "## Strategy Performance",
        "## Unexpected Outcomes",
        "## Root Causes to Watch",
        "## Relevant Principles",
    ]
    assert {i.metadata["id"] for i in found.items if i.source == "experience"} == {"f1", "s1", "u1", "r1"}
    assert found.sources_used["value"] == 5
    assert found.markdown.endswith("\n\n---\n*Based on 4 past experiences*")
    assert "- **Outcome**: **falsified** - It failed once more" in found.markdown
    assert "- **Root cause**: The cache outlives a test" in found.markdown


def test_a_premortem_without_a_strategy_has_no_strategy_section():
    """L2"""
    found = an_assembler(on_axes()).get_premortem_context_sync(DOMAIN, now=NOW)
    assert found.markdown.startswith("# Premortem: debugging\n\n## Common Failures\n")
    assert "Strategy Performance" not in found.markdown


def test_the_questions_are_the_documents():
    """L2"""
    axes = {axis: ListSource([], axis) for axis in ("full", "strategy", "surprise", "root_cause")}
    values = ListSource([], "values")
    an_assembler({"experiences": axes, "values": values}).get_premortem_context_sync(
        DOMAIN, STRATEGY, limit=7
    )
    asked = {name: source.requests[0] for name, source in {**axes, "values": values}.items()}
    assert {name: request.query for name, request in asked.items()} == {
        "full": "failures and issues in debugging",
        "strategy": "outcomes using systematic-elimination strategy",
        "surprise": "unexpected outcomes in debugging",
        "root_cause": "why hypotheses fail in debugging",
        "values": "principles for debugging using systematic-elimination",
    }
    assert asked["full"].where["$and"][1] == {"domain": DOMAIN, "outcome_status": "falsified"}
    assert asked["strategy"].where["$and"][1] == {"strategy": STRATEGY}
    assert {name: request.limit for name, request in asked.items()} == {
        "full": 7, "strategy": 7, "surprise": 7, "root_cause": 7, "values": 5,
    }  # fmt: skip


def test_one_collection_may_hold_all_axes():
    """L2"""
    records = [
        an_experience("plain"),
        *(an_experience(axis, axis=axis, action=f"Act {axis}") for axis in ("surprise", "root_cause")),
    ]
    assembler = an_assembler({"experiences": records})
    sections = {s.title: len(s.keys) for s in assembler.get_premortem_context_sync(DOMAIN).context.sections}
    assert sections == {"Common Failures": 1, "Unexpected Outcomes": 1, "Root Causes to Watch": 1}
    assert len(assemble(assembler=assembler, types=("experiences",)).items) == 1


@pytest.mark.parametrize("max_tokens", [400, 700, 1500])
def test_a_premortem_keeps_its_budget(max_tokens):
    """L2"""
    found = an_assembler(on_axes()).get_premortem_context_sync(DOMAIN, STRATEGY, max_tokens=max_tokens)
    assert 0 < found.token_count <= max_tokens


def test_a_domain_is_a_name_and_there_must_be_something_to_ask():
    """L2, L10"""
    for domain in ("", "a\nb", "{{content}}", None):
        with pytest.raises(ConfigError):
            an_assembler(on_axes()).get_premortem_context_sync(domain)
    with pytest.raises(InvalidContextTypeError):
        an_assembler({"memories": [a_memory()]}).get_premortem_context_sync(DOMAIN)


def test_weights_are_the_documents_and_shares_lose_no_token():
    """L6"""
    assert dict(SHARES) == {"experiences": 3, "code": 2, "commits": 2, "values": 1, "memories": 1}
    for tokens in (1, 7, 100, 1999, 2000):
        assert sum(split_tokens(tokens, SHARES).values()) == tokens


def test_each_source_has_its_share_and_what_one_leaves_over_goes_to_the_others():
    """L6"""
    records = {"memories": many(a_memory, 40, 8), "commits": many(a_commit, 40, 8)}
    found = assemble(records, query="login", limit=40, max_tokens=600, tokenizer=count_words)
    spent = {s.title: s.tokens for s in found.context.sections}
    assert spent["Commits"] == pytest.approx(400, abs=25)
    assert spent["Memories"] == pytest.approx(200, abs=25)
    alone = assemble(
        {**records, "commits": []}, query="login", limit=40, max_tokens=600, tokenizer=count_words
    )
    assert alone.token_count > 560


def test_no_item_is_above_a_quarter_of_the_budget_and_the_note_inside_says_where_the_rest_is():
    """L7"""
    long_code = a_unit(docstring="\n".join(f"line {i} of the docstring" for i in range(200)))
    experience = an_experience("e1", ghap_id="ghap-1", action="Freeze the clock again. " * 200)
    memory = a_memory(text="Tokens are signed again and again. " * 200)
    for max_tokens in (600, 2000):
        found = assemble(
            {"code": [long_code], "experiences": [experience], "memories": [memory]}, max_tokens=max_tokens
        )
        assert len(found.items) == 3
        for passage in found.context.passages:
            assert passage.is_truncated
            assert passage.tokens <= max_tokens // 4


def test_beside_others_of_its_source_no_item_is_above_a_quarter_of_its_share():
    """L7: one long item does not keep the others of its source out."""
    # Of values, unlike of commits, nothing is left out for telling little: their share is used.
    records = {"memories": [a_memory("long", "login " * 600), *many(a_memory, 30, 12)],
               "values": many(a_value, 30, 12)}  # fmt: skip
    found = assemble(records, query="login", limit=40, max_tokens=900, tokenizer=count_words)
    (long,) = [p for p in found.context.passages if p.key[1] == "long"]
    # A token or two that no other can use are its own.
    assert long.tokens <= 900 // 2 // 4 + 2
    assert sum(item.source == "memory" for item in found.items) > 5


@pytest.mark.parametrize("max_tokens", [300, 500, 700])
def test_what_a_budget_can_hold_is_not_cut_to_quarters_of_small_shares(max_tokens):
    """L6: six records that need 242 tokens and a bit were answered with 34, 103 and 191."""
    records = {
        "memories": [a_memory()], "code": [a_unit()], "values": [a_value()], "commits": [a_commit()],
        "experiences": [an_experience("e1", action="Freeze", hypothesis="", prediction=""),
                        an_experience("e2", action="Warm up", hypothesis="", prediction="", lesson="")],
    }  # fmt: skip
    whole = assemble(records, max_tokens=20_000)
    assert len(whole.items) == 6
    found = assemble(records, max_tokens=max_tokens)
    assert whole.token_count < 300
    assert found.markdown == whole.markdown


def test_a_memory_of_86_tokens_is_whole_at_the_default():
    """L6"""
    text = "Login tokens are signed with RS256 and expire after a day. " * 6
    records = {"memories": [a_memory(text=text)], "code": [a_unit()], "experiences": [an_experience()],
               "values": [a_value()], "commits": [a_commit()]}  # fmt: skip
    found = assemble(records)
    (memory,) = [p for p in found.context.passages if p.ranked.candidate.kind == "memory"]
    assert memory.tokens > 80
    assert not memory.is_truncated


def test_the_note_says_where_the_rest_is():
    """L7"""
    long_code = a_unit(docstring="\n".join(f"line {i} of the docstring" for i in range(200)))
    experience = an_experience("e1", ghap_id="ghap-1", action="Freeze the clock again. " * 200)
    memory = a_memory(text="Tokens are signed again and again. " * 200)
    found = assemble({"code": [long_code], "experiences": [experience], "memories": [memory]}).markdown
    assert "```...\n\n*(truncated, see full at src/auth.py:12)*" in found.replace("```\n...", "```...")
    assert "...\n\n*(truncated, full experience ID: ghap-1)*" in found
    assert "...\n\n*(truncated)*" in found


def test_the_limit_is_hard_unless_a_soft_one_is_asked_for():
    """L9"""
    records = {"memories": many(a_memory, 40, 3)}
    hard = assemble(records, query="login", limit=40, max_tokens=300)
    assert hard.token_count <= 300
    assert not hard.limit_exceeded
    soft = assemble(records, query="login", limit=40, max_tokens=300, soft_limit=True)
    assert soft.token_count > 300
    assert soft.limit_exceeded
    assert len(soft.items) > len(hard.items)
    assert any("soft budget of 300 tokens is exceeded" in warning for warning in soft.warnings)
    assert not assemble({"memories": [a_memory()]}, soft_limit=True).limit_exceeded


def test_an_unknown_type_is_refused_with_those_that_there_are():
    """L10"""
    known = r"Did you mean 'memories'.*code, commits, experiences"
    with pytest.raises(InvalidContextTypeError, match=known) as caught:
        assemble(types=("memory",))
    assert isinstance(caught.value, ContextAssemblyError)
    assert isinstance(caught.value, ConfigError)
    with pytest.raises(InvalidContextTypeError):
        assemble({"memories": [a_memory()]}, types=("commits",))


def test_a_failing_or_late_source_costs_only_its_own_items():
    """L10"""
    for broken in (FailingSource(RuntimeError("boom"), "code"), SlowSource(name="code", seconds=5)):
        found = assemble({"memories": [a_memory()], "code": broken}, timeout_seconds=0.5)
        assert found.is_partial
        assert found.sources_used == {"memory": 1}
        assert any("'code' failed" in warning for warning in found.warnings)
    nothing = assemble({"code": FailingSource(RuntimeError("boom"), "code")})
    assert (nothing.markdown, nothing.items, nothing.is_partial) == ("", (), True)
    assert any("'code' failed: RuntimeError: boom" in warning for warning in nothing.warnings)


def test_a_scope_isolates_and_can_be_demanded():
    """L1"""
    records = {"memories": [a_memory(tenant="mine"), a_memory("x", "SECRET login token", tenant="theirs")]}
    assembler = an_assembler(records, scope_keys=("tenant",))
    found = assemble(assembler=assembler, types=("memories",), scope={"tenant": "mine"})
    assert "SECRET" not in str(found.context.to_dict())
    assert len(found.items) == 1
    with pytest.raises(ScopeError):
        assemble(assembler=assembler, types=("memories",))


def test_every_item_has_one_fate():
    """L1"""
    records = {"memories": many(a_memory, 30, 12), "values": many(a_value, 30, 12)}
    context = assemble(records, query="login", max_tokens=300).context
    final = [d for d in context.decisions if d.verdict != "changed"]
    assert len(final) == len({d.key for d in final}) == len(context.candidates)
    assert any(d.reason in {Reason.OVER_BUDGET, Reason.OVER_SHARE} for d in final)


def test_the_footer_counts_an_experience_once_on_however_many_axes_it_was_found():
    """L2"""
    records = [
        an_experience(f"e1-{axis}", axis=axis, ghap_id="g1") for axis in ("full", "surprise", "root_cause")
    ]
    found = an_assembler({"experiences": records}).get_premortem_context_sync(DOMAIN)
    assert len(found.items) == 3
    assert found.markdown.endswith("*Based on 1 past experiences*")
    twice = an_assembler({"experiences": [*records, an_experience("e2", ghap_id="g2")]})
    assert twice.get_premortem_context_sync(DOMAIN).markdown.endswith("*Based on 2 past experiences*")
