"""The prime-context design: opinions on items, and budgets given for one call (FEATURES C7, C11)."""

from __future__ import annotations

import pytest

from langchain_context_engine import ConfigError, Journal, replay
from langchain_context_engine.designs import PrimeSettings
from tests.designs.prime_builders import a_service, ask, item
from tests.designs.test_prime_ranking import twins


@pytest.mark.parametrize("useful", [True, False])
def test_feedback_moves_what_was_never_cited(tmp_path, useful):
    """C11: below zero uses there was nothing to take away."""
    service = a_service(twins(3), messages=None, journal=tmp_path / "journal.db")
    assert [i.id for i in ask(service).items] == ["f00", "f01", "f02"]
    service.record_feedback("f01", useful, "ann")
    assert [i.id for i in ask(service).items].index("f01") == (0 if useful else 2)
    service.close()


def test_feedback_moves_what_was_used_most(tmp_path):
    """C11: above ten uses there was nothing to add."""
    service = a_service(twins(3), messages=None, journal=tmp_path / "journal.db")
    source = service.engine.sources[0].collection_name
    service.engine.journal.touch([(source, i) for i in ("f00", "f01", "f02")] * 12)
    service.record_feedback("f02", True, "ann")
    assert ask(service).items[0].id == "f02"
    service.close()


def test_a_budget_given_for_one_call_is_the_contexts_own():
    """C7: 500 less 500 left nothing."""
    service = a_service(twins(100), messages=None, dedupe_threshold=None)
    context = ask(service, budget=120)
    assert context.trace.budget == 120
    assert 60 < context.total_tokens <= 120
    assert replay(context.trace).text == context.text


def test_a_budget_that_leaves_nothing_says_so():
    """C7."""
    service = a_service(settings=PrimeSettings(max_tokens=400))
    context = ask(service)
    assert context.text == ""
    assert "a budget of 400 tokens leaves nothing beside the 500 kept free" in context.trace.warnings
    assert ask(service, budget=400).text


def test_uses_move_a_rank(tmp_path):
    """C11."""
    service = a_service(twins(3), messages=None, journal=tmp_path / "journal.db")
    before = ask(service)
    assert before.items[0].id == "f00"
    for _ in range(5):
        service.mark_used(before, f"as said in {item(before, 'f02').citation}")
    after = ask(service)
    assert after.items[0].id == "f02"
    assert item(after, "f02").relevance == pytest.approx(item(before, "f02").relevance + 0.10 * 0.5)
    service.close()


@pytest.mark.parametrize(("useful", "place"), [(True, 0), (False, 2)])
def test_feedback_moves_a_rank(tmp_path, useful, place):
    """C11."""
    service = a_service(twins(3), messages=None, journal=tmp_path / "journal.db")
    before = ask(service)
    for i in ("f00", "f01", "f02"):
        service.mark_used(before, [item(before, i).citation] * 3)
    service.record_feedback("f01", useful, "ann")
    assert [i.id for i in ask(service).items].index("f01") == place
    service.close()


def test_what_was_opened_or_used_is_among_the_recently_accessed(tmp_path):
    """C11: access time updated."""
    service = a_service(journal=tmp_path / "journal.db")
    assert "garden" not in {c.id for c in ask(service, "invoices").trace.candidates}
    service.update_access_time("garden", "ann")
    found = {c.id: c.provenance for c in ask(service, "invoices").trace.candidates}
    assert found["garden"] == ("recent",)
    context = ask(service, "refunds")
    service.mark_used(context, item(context, "refunds").citation)
    assert "refunds" in {c.id for c in ask(service, "garden").trace.candidates}
    service.close()


def test_usage_and_feedback_stay_in_the_journal(tmp_path):
    """C11."""
    service = a_service(twins(1), messages=None, journal=tmp_path / "journal.db")
    context = ask(service)
    service.mark_used(context, item(context, "f00").citation)
    service.record_feedback("f00", False, "ann")
    service.close()
    key = context.trace.candidates[0].key
    with Journal(tmp_path / "journal.db", read_only=True) as journal:
        assert (journal.usage([key])[key].uses, journal.usage([key])[key].useless) == (1, 1)


def test_without_a_journal_feedback_is_refused_with_what_to_do():
    """C11."""
    service = a_service()
    with pytest.raises(ConfigError, match="journal="):
        service.record_feedback("billing", True, "ann")
    with pytest.raises(ConfigError, match="no item"):
        service.record_feedback("nothing", True, "ann")


def test_the_figures_have_the_documents_names_and_are_logged(caplog):
    """C13."""
    service = a_service()
    with caplog.at_level("INFO", logger="langchain_context_engine.designs.prime"):
        ask(service)
        context = ask(service)
    figures = context.metrics.to_dict()
    assert set(figures) == {
        "assemblyTime", "itemsRetrieved", "itemsSelected", "tokenUsage", "cacheHitRate",
        "searchLatency", "scoringLatency", "optimizationLatency",
    }  # fmt: skip
    assert figures["cacheHitRate"] == 0.5
    assert figures["tokenUsage"] == context.total_tokens
    assert [
        record.getMessage().split(" {")[0] for record in caplog.records if "journal" not in record.name
    ] == ["Context assembly metrics"] * 2
    assert [r for r in caplog.records if "journal" not in r.name][1].cacheHitRate == 0.5
    assert "Invoices" not in caplog.text
