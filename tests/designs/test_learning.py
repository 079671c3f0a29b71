"""The learning memory (rows L1 to L11): what is found, shown, ranked, joined and fitted."""

from __future__ import annotations

import pytest

from langchain_context_engine import ConfigError, ScopeError
from langchain_context_engine.designs import InvalidContextTypeError, LearningMemoryAssembler
from langchain_context_engine.designs.learning import METADATA_OF, PREMORTEM, SHARES, ContextAssemblyError
from langchain_context_engine.models.budget import split_tokens
from langchain_context_engine.models.types import Reason
from tests.builders import FailingSource, HangingSource, ListSource, a_candidate, count_words
from tests.designs.learning_builders import (
    ALL,
    NOW,
    a_commit,
    a_memory,
    a_searcher,
    a_unit,
    a_value,
    an_assembler,
    an_experience,
    assemble,
    many,
)

DOMAIN, STRATEGY = "debugging", "systematic-elimination"
AXES = ("full", "strategy", "surprise", "root_cause")


async def test_a_context_is_markdown_items_tokens_and_sources_used_and_has_a_sync_twin():
    """L1"""
    assembler = an_assembler()
    found = await assembler.assemble_context("flaky login token", list(ALL), now=NOW)
    assert found.markdown == assemble(assembler=assembler).markdown == str(found)
    assert found.sources_used == {"memory": 1, "code": 1, "experience": 1, "value": 1, "commit": 1}
    assert found.token_count == found.context.tokens <= 2000
    assert [item.score for item in found.items] == sorted((i.score for i in found.items), reverse=True)
    assert (found.limit_exceeded, found.is_partial) == (False, False)
    eight = {"memories": [a_memory(f"m{i}", f"Fact {'ab' * i}") for i in range(8)]}
    assert len(assemble(eight, limit=3).items) == 3


def test_a_scope_isolates_and_can_be_demanded():
    """L1"""
    records = {"memories": [a_memory(tenant="mine"), a_memory("x", "SECRET login token", tenant="theirs")]}
    assembler = an_assembler(records, scope_keys=("tenant",))
    found = assemble(assembler=assembler, types=("memories",), scope={"tenant": "mine"})
    assert len(found.items) == 1
    assert "SECRET" not in str(found.context.to_dict())
    with pytest.raises(ScopeError):
        assemble(assembler=assembler, types=("memories",))


def test_the_five_kinds_are_shown_as_the_document_shows_them_and_tell_its_metadata():
    """L3, L8"""
    found = assemble()
    assert found.markdown == (
        "# Context\n\n"
        "## Memories\n**Memory**: Login tokens are signed with RS256.\n*Category: decision, Importance: 0.8*\n\n"
        "## Code\n**function** `login` in `src/auth.py:12`\n"
        '```python\ndef login(user: User) -> Token:\n    """Return the token of login."""\n```\n\n'
        "## Experiences\n**Experience**: debugging | systematic-elimination\n"
        "- **Goal**: Fix the flaky login test e1\n- **Hypothesis**: The clock of the container drifts\n"
        "- **Action**: Freeze the clock\n- **Prediction**: The test passes a hundred times\n"
        "- **Outcome**: falsified - It failed once more\n- **Surprise**: The token was cached\n"
        "- **Lesson**: Clearing the cache\n\n"
        "## Values\n**Value** (strategy, cluster size: 4):\nLook at the caches before the clocks.\n\n"
        "## Commits\n**Commit** `abcdef1` by Ann on 2026-01-20T10:00:00Z\n"
        "Clear the token cache after each login test\n*Files: tests/conftest.py, src/cache.py*\n\n"
        "---\n*5 items from 5 sources*"
    )
    told = {item.source: item.metadata for item in found.items}
    assert {kind: set(metadata) - {"id"} for kind, metadata in told.items()} == {
        kind: set(names) for kind, names in METADATA_OF.items()
    }
    assert (told["experience"]["id"], told["code"]["start_line"]) == ("e1", 12)


def test_what_is_missing_is_not_shown_and_a_fence_in_a_docstring_does_not_end_the_code():
    """L3"""
    unit = a_unit(docstring='"""Example:\n```\nlogin()\n```\n"""', language="")
    del unit["signature"]
    short = {"id": "e", "text": "login went wrong", "domain": "testing", "outcome_status": "confirmed"}
    records = {"memories": [{"id": "m", "text": "Login is slow."}], "code": [unit], "experiences": [short]}
    found = assemble(records).markdown
    assert "**Memory**: Login is slow.\n\n" in found
    assert "````python\n" in found
    assert "**Experience**: testing | \n- **Outcome**: confirmed\n" in found
    assert "None" not in found


@pytest.mark.parametrize(
    ("kind", "key", "values", "order"),
    [
        ("experiences", "confidence_tier", ["abandoned", "gold", "bronze", "silver"],
         ["gold", "silver", "bronze", "abandoned"]),
        ("memories", "importance", [0.2, 0.9, None], [0.9, None, 0.2]),
        ("commits", "timestamp", ["2020-01-01", "2026-01-01"], ["2026-01-01", "2020-01-01"]),
    ],
)  # fmt: skip
def test_tiers_importance_and_newness_move_what_is_as_similar(kind, key, values, order):
    """L4"""
    topics = ["crimson whale", "silent orchard", "paper lantern", "copper kettle"]
    same = [
        a_candidate(
            id=f"i{i}", text=topics[i], source=kind, relevance=0.5, metadata={key: value, "goal": topics[i]}
        )
        for i, value in enumerate(values)
    ]
    assert [item.metadata[key] for item in assemble({kind: ListSource(same, kind)}).items] == order


def test_an_experience_and_a_value_of_one_ghap_are_one_and_the_better_ranked_stays():
    """L5"""
    records = {
        "experiences": [an_experience(ghap_id="g1")],
        "values": [a_value(text="flaky login token", ghap_id="g1"), a_value("v2", text="login caches")],
    }
    found = assemble(records)
    assert found.sources_used == {"value": 2}
    (dropped,) = [d for d in found.context.decisions if d.reason is Reason.DUPLICATE]
    assert dropped.details["winner"][1] == "v1"


def test_a_file_in_code_and_in_a_commit_is_one_but_two_functions_of_a_file_are_not():
    """L5"""
    records = {
        "code": [a_unit(), a_unit("c2", "logout", start_line=40)],
        "commits": [a_commit(files_changed="README.md,src/auth.py"), a_commit("k2", "Log in by cookie")],
    }
    found = assemble(records, query="def login user check token")
    names = sorted(item.metadata.get("qualified_name", "") for item in found.items)
    assert names == ["", "auth.login", "auth.logout"]


def test_what_says_the_same_is_one_but_not_experiences_with_different_hypotheses():
    """L5"""
    said = "Always clear the token cache before a flaky login test is run again"
    assert len(assemble({"memories": [a_memory(text=said)], "values": [a_value(text=said + ".")]}).items) == 1
    hypotheses = ("The clock drifts", "The cache is stale", "The network is slow", "The disk is full")
    four = [
        an_experience(f"e{i}", text="Fix it", goal="Fix it", hypothesis=h) for i, h in enumerate(hypotheses)
    ]
    twice = [*four, {**four[0], "id": "again", "ghap_id": "e0"}]
    assert len(assemble({"experiences": twice}, max_tokens=4000).items) == 4


def test_each_source_has_its_share_none_loses_a_token_and_what_one_leaves_over_goes_to_the_others():
    """L6"""
    assert dict(SHARES) == {"experiences": 3, "code": 2, "commits": 2, "values": 1, "memories": 1}
    assert all(sum(split_tokens(n, SHARES).values()) == n for n in (1, 7, 100, 1999, 2000))
    records = {"memories": many(a_memory, 40, 8), "commits": many(a_commit, 40, 8)}
    asked = {"query": "login", "limit": 40, "max_tokens": 600, "tokenizer": count_words}
    spent = {s.title: s.tokens for s in assemble(records, **asked).context.sections}
    assert spent == {"Commits": pytest.approx(400, abs=25), "Memories": pytest.approx(200, abs=25)}
    assert assemble({**records, "commits": []}, **asked).token_count > 560


@pytest.mark.parametrize("max_tokens", [300, 700])
def test_what_a_budget_can_hold_is_not_cut_to_quarters_of_small_shares(max_tokens):
    """L6: six records that need 242 tokens and a bit were answered with 34, 103 and 191."""
    short = {"prediction": "", "lesson": ""}
    both = [an_experience("e1", hypothesis="", **short), an_experience("e2", action="Warm up", **short)]
    records = {
        "memories": [a_memory()], "code": [a_unit()], "values": [a_value()], "commits": [a_commit()],
        "experiences": both,
    }  # fmt: skip
    whole = assemble(records, max_tokens=20_000)
    assert (len(whole.items), whole.token_count < 300) == (6, True)
    assert assemble(records, max_tokens=max_tokens).markdown == whole.markdown


@pytest.mark.parametrize("max_tokens", [300, 2000])
def test_what_a_cap_leaves_and_nobody_else_can_use_goes_to_what_was_cut(max_tokens):
    """L6: one long commit and one long memory took 509 tokens of 2,000, then 991."""
    said = " ".join(f"Step {i} of the login takes token {i} out of box {i}." for i in range(300))
    told = " ".join(f"Rule {i}: a login token of kind {i} ends after {i} hours." for i in range(300))
    records = {"commits": [a_commit(text=said)], "memories": [a_memory(text=told)]}
    found = assemble(records, query="login token", max_tokens=max_tokens)
    assert found.sources_used == {"commit": 1, "memory": 1}
    assert found.token_count > 0.97 * max_tokens


def test_an_item_is_no_larger_than_a_quarter_of_its_share_while_others_wait():
    """L7: after the shares were filled the cap was of the whole budget, and a fifth source got nothing."""
    records = {
        "code": [a_unit(docstring="\n".join(f"line {i} of login" for i in range(300)))],
        **{f"{make.__name__[2:]}s": many(make, 40, 12) for make in (a_value, a_commit)},
        "memories": many(a_memory, 40, 12),
        "experiences": [
            an_experience(f"e{i}", action=f"act{i} " * 60, hypothesis=f"h{i} " * 20) for i in range(8)
        ],
    }
    found = assemble(records, query="login", limit=40, tokenizer=count_words)
    assert set(found.sources_used) == {"code", "value", "commit", "memory", "experience"}
    assert next(p for p in found.context.passages if p.key[1] == "c1").tokens <= 2000 * 2 / 9 / 4


def test_the_note_says_where_the_rest_is():
    """L7"""
    long_code = a_unit(docstring="\n".join(f"line {i} of the docstring" for i in range(200)))
    experience = an_experience("e1", ghap_id="ghap-1", action="Freeze the clock again. " * 200)
    memory = a_memory(text="Tokens are signed again and again. " * 200)
    found = assemble({"code": [long_code], "experiences": [experience], "memories": [memory]}).markdown
    for note in ("see full at src/auth.py:12", "full experience ID: ghap-1"):
        assert f"...\n\n*(truncated, {note})*" in found
    assert "...\n\n*(truncated)*" in found


def test_empty_sections_are_left_out_and_nothing_found_is_no_error():
    """L8"""
    found = assemble({"memories": [a_memory()], "code": [], "commits": []})
    assert "## Code" not in found.markdown
    assert found.markdown.endswith("---\n*1 items from 1 sources*")
    nothing = assemble({"memories": []})
    assert (nothing.markdown, nothing.items, nothing.token_count, nothing.sources_used) == ("", (), 0, {})
    assert assemble(types=("memories",), max_tokens=0).markdown == ""


def test_the_limit_is_hard_unless_a_soft_one_is_asked_for():
    """L9"""
    asked = {"query": "login", "limit": 40, "max_tokens": 300}
    records = {"memories": many(a_memory, 40, 3)}
    hard, soft = (assemble(records, soft_limit=is_soft, **asked) for is_soft in (False, True))
    assert hard.token_count <= 300 < soft.token_count
    assert (hard.limit_exceeded, soft.limit_exceeded) == (False, True)
    assert len(soft.items) > len(hard.items)
    assert any("soft budget of 300 tokens is exceeded" in warning for warning in soft.warnings)


def test_an_unknown_type_is_refused_with_those_that_there_are():
    """L10"""
    with pytest.raises(InvalidContextTypeError, match=r"Did you mean 'memories'.*code, commits") as caught:
        assemble(types=("memory",))
    assert isinstance(caught.value, ContextAssemblyError)
    assert isinstance(caught.value, ConfigError)
    with pytest.raises(InvalidContextTypeError):
        assemble({"memories": [a_memory()]}, types=("commits",))
    for wrong in ({}, {"experiences": {"sideways": []}}):
        with pytest.raises(ConfigError):
            a_searcher(**wrong)
    with pytest.raises(ConfigError, match="search_memories"):
        LearningMemoryAssembler(object())


def test_a_failing_or_late_source_costs_only_its_own_items():
    """L10"""
    for broken in (FailingSource(RuntimeError("boom"), "code"), HangingSource("code")):
        found = assemble({"memories": [a_memory()], "code": broken}, timeout_seconds=1)
        assert (found.is_partial, found.sources_used) == (True, {"memory": 1})
        assert any("'code' failed" in warning for warning in found.warnings)
    nothing = assemble({"code": FailingSource(RuntimeError("boom"), "code")})
    assert (nothing.markdown, nothing.items, nothing.is_partial) == ("", (), True)
    assert any("'code' failed: RuntimeError" in warning for warning in nothing.warnings)


def test_answers_failures_and_an_exceeded_limit_are_logged_without_any_text(caplog, capsys):
    """L11: an event's name and its fields."""
    records = {"memories": [a_memory()], "code": FailingSource(RuntimeError("no such store"), "code")}
    with caplog.at_level("INFO", logger="langchain_context_engine.designs.learning"):
        assemble(records)
        assemble(
            {"memories": many(a_memory, 40, 3)}, query="login", limit=40, max_tokens=300, soft_limit=True
        )
    first, *_ = logs = [record for record in caplog.records if record.name.endswith("learning")]
    assert [(record.event, record.levelname) for record in logs] == [
        ("context.assembled", "INFO"), ("context.source_failed", "WARNING"),
        ("context.assembled", "INFO"), ("context.limit_exceeded", "WARNING"),
    ]  # fmt: skip
    assert (first.items, first.sources_used, first.status) == (1, {"memory": 1}, "partial")
    assert "RS256" not in caplog.text
    assert capsys.readouterr().out == ""


def on_axes():
    one = an_experience("s1", goal="Bisect the commits", hypothesis="One commit broke it", domain="feature")
    axes = {
        "full": [an_experience("f1"), an_experience("f2", outcome_status="confirmed"), an_experience("f3", domain="feature")],
        "strategy": [one, an_experience("s2", strategy="guessing")],
        "surprise": [an_experience("u1", surprise="It rained in the data centre")],
        "root_cause": [an_experience("r1")],
    }  # fmt: skip
    principles = ("Read the error.", "Change one thing.", "Write a test.", "Ask someone.", "Sleep.", "Count.")
    return {"experiences": axes, "values": [a_value(f"v{i}", text) for i, text in enumerate(principles)]}


async def test_a_premortem_asks_each_axis_its_own_and_shows_the_documents_sections():
    """L2"""
    assembler = an_assembler(on_axes())
    found = await assembler.get_premortem_context(DOMAIN, STRATEGY, now=NOW)
    assert found.markdown == assembler.get_premortem_context_sync(DOMAIN, STRATEGY, now=NOW).markdown
    assert [line.strip("# ") for line in found.markdown.splitlines() if line.startswith("#")] == [
        "Premortem: debugging with systematic-elimination", "Common Failures", "Strategy Performance",
        "Unexpected Outcomes", "Root Causes to Watch", "Relevant Principles",
    ]  # fmt: skip
    assert {i.metadata["id"] for i in found.items if i.source == "experience"} == {"f1", "s1", "u1", "r1"}
    assert found.sources_used["value"] == 5
    assert found.markdown.endswith("\n\n---\n*Based on 4 past experiences*")
    assert "- **Outcome**: **falsified** - It failed once more" in found.markdown
    assert "- **Root cause**: The cache outlives a test" in found.markdown
    short = assembler.get_premortem_context_sync(DOMAIN, max_tokens=400)
    assert 0 < short.token_count <= 400


def test_the_questions_of_a_premortem_are_the_documents():
    """L2"""
    axes, values = {axis: ListSource([], axis) for axis in AXES}, ListSource([], "values")
    assembler = an_assembler({"experiences": axes, "values": values})
    assembler.get_premortem_context_sync(DOMAIN, STRATEGY, limit=7)
    asked = {name: source.requests[0] for name, source in {**axes, "values": values}.items()}
    assert {name: (request.query, request.limit) for name, request in asked.items()} == {
        "full": ("failures and issues in debugging", 7),
        "strategy": ("outcomes using systematic-elimination strategy", 7),
        "surprise": ("unexpected outcomes in debugging", 7),
        "root_cause": ("why hypotheses fail in debugging", 7),
        "values": ("principles for debugging using systematic-elimination", 5),
    }
    assert asked["full"].where["$and"][1] == {"domain": DOMAIN, "outcome_status": "falsified"}
    assert asked["strategy"].where["$and"][1] == {"strategy": STRATEGY}


def test_one_collection_may_hold_all_axes_and_each_section_keeps_its_own():
    """L2: every record of the full axis was a duplicate of its twin on the strategy axis."""
    told = [("g1", "The clock drifts"), ("g2", "The cache is stale")]
    on = {axis: {} if axis == "full" else {"axis": axis} for axis in AXES}
    assembler = an_assembler({"experiences": [
        an_experience(f"{axis}-{id_}", ghap_id=id_, hypothesis=hypothesis, **on[axis])
        for axis in AXES for id_, hypothesis in told
    ]})  # fmt: skip
    found = assembler.get_premortem_context_sync(DOMAIN, STRATEGY, now=NOW)
    sections = {section.title: len(section.keys) for section in found.context.sections}
    assert list(sections) == [title for title, _ in list(PREMORTEM.values())[:4]]
    assert (sections["Common Failures"], sections["Strategy Performance"]) == (2, 2)
    assert found.markdown.endswith("*Based on 2 past experiences*")
    assert len(assemble(assembler=assembler, types=("experiences",)).items) == 2


def test_a_domain_is_a_name_and_there_must_be_something_to_ask():
    """L2, L10"""
    for domain in ("", "a\nb", "{{content}}", None):
        with pytest.raises(ConfigError):
            an_assembler(on_axes()).get_premortem_context_sync(domain)
    with pytest.raises(InvalidContextTypeError):
        an_assembler({"memories": [a_memory()]}).get_premortem_context_sync(DOMAIN)


class DocumentsSearcher:
    def __init__(self):
        self.asked = []

    async def search_memories(self, query, limit):
        self.asked.append(("memories", query, limit))
        record = a_memory()
        return [{"id": record.pop("id"), "content": record.pop("text"), "score": 0.9, "metadata": record}]

    async def search_experiences(self, query, axis="full", limit=20, **narrowed):
        self.asked.append((axis, query, limit, narrowed))
        told = ("domain", "strategy", "outcome_status")
        return [{k: v for k, v in an_experience(f"e-{axis}", ghap_id="g1").items() if k not in told}]

    def search_commits(self, query, limit):
        return [{**a_commit(), "message": "Clear the token cache", "similarity": 0.5}]


async def test_the_documents_searcher_is_asked_and_formatted():
    """L1, L2, L3"""
    searcher = DocumentsSearcher()
    assembler, types = LearningMemoryAssembler(searcher), ("memories", "experiences", "commits")
    result = await assembler.assemble_context("flaky login", types, limit=7, now=NOW)
    assert result.markdown == assembler.assemble_context_sync("flaky login", types, limit=7, now=NOW).markdown
    assert result.sources_used == {"memory": 1, "experience": 1, "commit": 1}
    assert ("memories", "flaky login", 7) in searcher.asked
    told = "**Memory**: Login tokens are signed with RS256.\n*Category: decision, Importance: 0.8*"
    assert (told in result.markdown, "**Commit** `abcdef1` by Ann" in result.markdown) == (True, True)
    assert next(i for i in result.items if i.source == "memory").relevance == 0.9
    warned = await assembler.get_premortem_context("debugging", "guessing", now=NOW)
    failed = {"domain": "debugging", "outcome": "falsified"}
    assert ("full", "failures and issues in debugging", 10, failed) in searcher.asked
    guessed = {"strategy": "guessing"}
    assert ("strategy", "outcomes using guessing strategy", 10, guessed) in searcher.asked
    assert "## Common Failures\n**Experience**: debugging" in warned.markdown
    assert warned.markdown.endswith("*Based on 1 past experiences*")
