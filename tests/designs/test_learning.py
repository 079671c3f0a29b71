"""Rows L1, L3–L5, L8 and L11 of the learning memory: what is found, shown, ranked and joined."""

from __future__ import annotations

import runpy

import pytest
import structlog
from structlog.testing import capture_logs

from langchain_context_engine import ConfigError
from langchain_context_engine.designs import LearningMemoryAssembler, Searcher
from langchain_context_engine.designs.learning import METADATA_OF
from langchain_context_engine.models.types import Reason
from tests.builders import FailingSource, ListSource, a_candidate
from tests.conftest import ROOT
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


async def test_a_context_is_markdown_items_tokens_and_sources_used_and_has_a_sync_twin():
    """L1"""
    assembler = an_assembler()
    found = await assembler.assemble_context("flaky login token", list(ALL), now=NOW)
    assert found.markdown == assemble(assembler=assembler).markdown == str(found)
    assert found.sources_used == {"memory": 1, "code": 1, "experience": 1, "value": 1, "commit": 1}
    assert found.token_count == found.context.tokens <= 2000
    scores = [item.score for item in found.items]
    assert scores == sorted(scores, reverse=True)
    assert not found.limit_exceeded
    assert not found.is_partial


def test_limit_bounds_the_items_of_each_source():
    """L1"""
    records = {"memories": [a_memory(f"m{i}", f"Login fact: {name}") for i, name in enumerate(NAMES)]}
    assert len(assemble(records, limit=3).items) == 3
    assert len(assemble(records).items) == len(NAMES)


NAMES = ["sessions", "cookies", "passwords", "lockouts", "captchas", "audits", "roles", "groups"]


def test_the_five_kinds_are_shown_as_the_document_shows_them():
    """L3, L8"""
    experience = (
        "**Experience**: debugging | systematic-elimination\n"
        "- **Goal**: Fix the flaky login test e1\n"
        "- **Hypothesis**: The clock of the container drifts\n"
        "- **Action**: Freeze the clock\n"
        "- **Prediction**: The test passes a hundred times\n"
        "- **Outcome**: falsified - It failed once more\n"
        "- **Surprise**: The token was cached\n"
        "- **Lesson**: Clearing the cache"
    )
    assert assemble().markdown == (
        "# Context\n\n"
        "## Memories\n**Memory**: Login tokens are signed with RS256.\n*Category: decision, Importance: 0.8*\n\n"
        "## Code\n**function** `login` in `src/auth.py:12`\n"
        '```python\ndef login(user: User) -> Token:\n    """Return the token of login."""\n```\n\n'
        f"## Experiences\n{experience}\n\n"
        "## Values\n**Value** (strategy, cluster size: 4):\nLook at the caches before the clocks.\n\n"
        "## Commits\n**Commit** `abcdef1` by Ann on 2026-01-20T10:00:00Z\n"
        "Clear the token cache after each login test\n*Files: tests/conftest.py, src/cache.py*\n\n"
        "---\n*5 items from 5 sources*"
    )


def test_items_tell_the_documents_metadata():
    """L3"""
    told = {item.source: item.metadata for item in assemble().items}
    assert told["code"] == {
        "file_path": "src/auth.py", "start_line": 12, "end_line": 30, "language": "python",
        "qualified_name": "auth.login",
    }  # fmt: skip
    assert told["experience"]["id"] == "e1"
    assert told["commit"]["files_changed"] == ["tests/conftest.py", "src/cache.py"]
    for kind, names in METADATA_OF.items():
        assert set(told[kind]) - {"id"} == set(names)


def test_what_is_missing_is_not_shown_and_a_fence_in_a_docstring_does_not_end_the_code():
    """L3"""
    bare = {"id": "m", "text": "Login is slow."}
    unit = a_unit(docstring='"""Example:\n```\nlogin()\n```\n"""', signature=None, language="")
    unit = {name: value for name, value in unit.items() if value is not None}
    short = {"id": "e", "text": "login went wrong", "domain": "testing", "outcome_status": "confirmed"}
    found = assemble({"memories": [bare], "code": [unit], "experiences": [short]}).markdown
    assert "**Memory**: Login is slow.\n\n" in found
    assert "````python\n" in found
    assert "**Experience**: testing | \n- **Outcome**: confirmed\n" in found
    assert "None" not in found


def test_many_files_of_a_commit_are_told_in_short():
    """L3"""
    files = ", ".join(f"f{i}.py" for i in range(9))
    assert (
        "*Files: f0.py, f1.py, f2.py, f3.py, f4.py, ...*"
        in assemble({"commits": [a_commit(files_changed=files)]}).markdown
    )


TOPICS = ["crimson whale", "silent orchard", "paper lantern", "copper kettle"]


def as_similar(kind, *metadata):
    """Return a searcher's source of candidates that are all as similar."""
    return {kind: ListSource([
        a_candidate(id=f"i{i}", text=topic, source=kind, relevance=0.5, metadata=own)
        for i, (topic, own) in enumerate(zip(TOPICS, metadata, strict=False))
    ], kind)}  # fmt: skip


def test_tiers_importance_and_newness_move_what_is_as_similar():
    """L4"""
    tiers = [{"confidence_tier": tier, "goal": tier} for tier in ("abandoned", "gold", "bronze", "silver")]
    found = assemble(as_similar("experiences", *tiers))
    told = [item.metadata["confidence_tier"] for item in found.items]
    assert told == ["gold", "silver", "bronze", "abandoned"]
    found = assemble(as_similar("memories", {"importance": 0.2}, {"importance": 0.9}, {}))
    assert [item.metadata["importance"] for item in found.items] == [0.9, None, 0.2]
    found = assemble(as_similar("commits", {"timestamp": "2020-01-01"}, {"timestamp": "2026-01-01"}))
    assert [item.metadata["timestamp"] for item in found.items] == ["2026-01-01", "2020-01-01"]
    assert [item.relevance for item in found.items] == [0.5, 0.5]


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
    assert sorted(item.metadata.get("qualified_name", "") for item in found.items) == [
        "", "auth.login", "auth.logout",
    ]  # fmt: skip


def test_what_says_the_same_is_one_whatever_it_is_shown_as():
    """L5"""
    said = "Always clear the token cache before a flaky login test is run again"
    records = {"memories": [a_memory(text=said)], "values": [a_value(text=said + ".")]}
    assert len(assemble(records).items) == 1


def test_empty_sections_are_left_out_and_nothing_found_is_no_error():
    """L8"""
    found = assemble({"memories": [a_memory()], "code": [], "commits": []})
    assert "## Code" not in found.markdown
    assert found.markdown.endswith("---\n*1 items from 1 sources*")
    nothing = assemble({"memories": []})
    assert (nothing.markdown, nothing.items, nothing.token_count, nothing.sources_used) == ("", (), 0, {})
    assert assemble(types=("memories",), max_tokens=0).markdown == ""


@pytest.fixture
def structured_logs():
    structlog.configure()
    with capture_logs() as logs:
        yield logs
    structlog.reset_defaults()


def test_answers_failures_and_an_exceeded_limit_are_logged_without_any_text(structured_logs):
    """L11"""
    records = {"memories": [a_memory()], "code": FailingSource(RuntimeError("no such store"), "code")}
    assemble(records)
    assemble({"memories": many(a_memory, 40, 3)}, query="login", limit=40, max_tokens=300, soft_limit=True)
    assert [entry["event"] for entry in structured_logs] == [
        "context.assembled", "context.source_failed", "context.assembled", "context.limit_exceeded",
    ]  # fmt: skip
    assert structured_logs[0] | {"milliseconds": 0} == {
        "event": "context.assembled", "log_level": "info", "items": 1, "sources_used": {"memory": 1},
        "token_count": structured_logs[0]["token_count"], "max_tokens": 2000, "status": "partial", "milliseconds": 0,
    }  # fmt: skip
    assert structured_logs[1]["log_level"] == "warning"
    assert "RS256" not in str(structured_logs)


def test_an_application_without_structlog_gets_them_by_logging_and_nothing_is_printed(caplog, capsys):
    """L11"""
    with caplog.at_level("INFO"):
        assemble({"memories": [a_memory()]})
    assert "event='context.assembled' items=1" in caplog.text
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("wrong", [{}, {"experiences": {"sideways": []}}])
def test_a_searcher_without_anything_or_with_an_unknown_axis_is_refused(wrong):
    """L10"""
    with pytest.raises(ConfigError):
        a_searcher(**wrong)
    with pytest.raises(ConfigError, match="Searcher"):
        LearningMemoryAssembler(Searcher)


def test_the_example_runs(capsys):
    """L1, L2"""
    runpy.run_path(str(ROOT / "examples" / "learning_memory.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith("# Context\n\n## Memories\n**Memory**: Login tokens")
    assert "# Premortem: debugging with systematic-elimination\n\n## Common Failures\n" in printed
