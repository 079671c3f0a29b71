"""The prime-context design through its public face, on real Chroma collections (FEATURES C1–C3, C7–C10, C13)."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import runpy

import pytest

from langchain_context_engine import ConfigError, ContextEngine, ScopeError
from langchain_context_engine.designs import PrimeContextService, PrimeSettings
from langchain_context_engine.designs.prime import DEFAULTS, ENGINE
from tests.builders import ListSource, SlowSource, a_candidate
from tests.conftest import ROOT
from tests.designs.prime_builders import FILES, a_service, ask, item


def test_keywords_are_longer_than_three_letters_and_no_stop_words():
    """C1."""
    assert PrimeContextService.extract_keywords("What did WE decide about the new billing, Ann?") == (
        "billing",
        "decide",
    )
    assert PrimeContextService.extract_keywords("請求書 ok") == ("求書", "請求")


@pytest.mark.parametrize("message", ["", "is it so?", "the of", "?!", "a b c"])
def test_a_message_without_keywords_gives_numbers_and_no_nan(message):
    """C1: the document divides by the number of keywords."""
    context = ask(a_service(), message)
    assert context.items
    assert all(math.isfinite(item.relevance) for item in context.items)


def test_everything_is_asked_at_once():
    """C2: in parallel."""
    slow = [SlowSource(name=f"slow{n}", seconds=0.3) for n in range(4)]
    context = ask(a_service(sources=slow))
    assert context.trace.timings["collect"] < 900
    assert not context.trace.warnings


def test_files_messages_and_references_are_found_each_in_its_way():
    """C2."""
    records = [
        *FILES,
        {"id": "seen", "path": "docs/x.md", "text": "Seen lately.", "accessed_at": "2026-03-09"},
    ]
    context = ask(a_service(records), "invoices in paymnts", references=["docs/refunds.md"])
    found = {candidate.id: candidate.provenance for candidate in context.trace.candidates}
    assert found["refunds"] == ("explicit",)
    assert "full_text" in found["billing"]
    assert "fuzzy" in found["payments"]
    assert found["seen"] == ("recent",)
    assert (found["m1"], found["m2"]) == (("thread",), ("thread",))
    assert "m3" not in found
    assert item(context, "refunds").type == "reference"
    assert item(context, "m1").type == "message"


def test_the_numbers_are_those_of_the_document():
    """C2, C4, C5, C7, C10."""
    service = a_service(references=[{"id": "r", "text": "r", "thread_id": "t1"}])
    limits = {source.name: getattr(source, "limit", None) for source in service.engine.sources}
    assert {name: limits[name] for name in ("full_text", "keywords", "fuzzy", "recent", "thread")} == {
        "full_text": 10,
        "keywords": 10,
        "fuzzy": 5,
        "recent": 5,
        "thread": 20,
    }
    assert (DEFAULTS.fuzzy_threshold, DEFAULTS.history) == (0.3, 20)
    assert (DEFAULTS.max_tokens, DEFAULTS.system_prompt_tokens) == (4000, 500)
    assert (service.engine.cache.max_entries, service.engine.cache.ttl_seconds) == (100, 30)
    assert dict(ENGINE["weights"]) == {
        "term_similarity": 0.35,
        "keyword_match": 0.25,
        "recency_exponential": 0.15,
        "source_priority": 0.15,
        "usage": 0.10,
    }


def test_the_defaults_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DEFAULTS.max_tokens = 1
    with pytest.raises(TypeError):
        ENGINE["weights"]["usage"] = 1


def test_history_that_the_call_brings_is_offered_twenty_messages_at_most():
    """C2."""
    history = [("user", f"turn number {n}") for n in range(30)]
    context = ask(a_service(messages=None), history=history)
    assert context.stats.history_count == 20


def test_references_that_a_thread_keeps_are_offered_in_that_thread():
    """C2."""
    kept = [
        {"id": "r1", "text": "-", "thread_id": "t1", "file_id": "refunds"},
        {"id": "r2", "text": "The tax rate is 19 percent.", "thread_id": "t1"},
    ]
    service = a_service(references=kept)
    context = ask(service)
    assert {i.id for i in context.items if i.type == "reference"} == {"refunds", "r2"}
    assert context.stats.explicit_count == 2
    assert ask(service, thread="t2").stats.explicit_count == 0


def test_a_reference_that_search_finds_too_is_one_reference():
    """C3."""
    context = ask(a_service(), references=["billing"])
    assert [i.type for i in context.items if i.id == "billing"] == ["reference"]
    assert next(c for c in context.trace.candidates if c.id == "billing").provenance[0] == "explicit"


def test_an_item_has_its_excerpt_with_match_marks_and_what_matched():
    """C3."""
    found = item(ask(a_service()), "billing")
    assert found.excerpt == "<<<Invoices>>> are <<<sent>>> monthly. Billing runs on the first."
    assert found.content == FILES[0]["text"]
    assert found.source == found.metadata["path"] == "docs/billing.md"
    assert found.metadata["matched_keywords"] == ("invoices", "sent")
    assert found.metadata["search_rank"] > 0


def test_the_context_has_4000_tokens_less_500():
    """C7."""
    long = [
        {"id": f"m{n}", "thread_id": "t1", "text": f"invoice {n} " + f"word{n} " * 300} for n in range(20)
    ]
    context = ask(a_service(messages=long))
    assert context.trace.budget == 4000
    assert 3000 < context.total_tokens <= 3500
    less = ask(a_service(messages=long, settings=PrimeSettings(max_tokens=1000, system_prompt_tokens=900)))
    assert 0 < less.total_tokens <= 100


def test_citations_are_unique_and_the_same_in_every_answer():
    """C8."""
    service = a_service()
    first, second = ask(service), ask(service, "invoices and refunds?")
    markers = {i.id: i.citation for i in first.items}
    assert markers["billing"].startswith("[fil-")
    assert markers["m1"].startswith("[mes-")
    assert len(set(markers.values())) == len(markers)
    assert {i.id: i.citation for i in second.items}["billing"] == markers["billing"]
    assert all(marker in first.text for marker in markers.values())


def test_ids_whose_32_bit_hashes_collide_have_different_markers():
    """C8: 'Aa' and 'BB' have one Java hash, which the document uses."""
    files = [{"id": i, "path": i, "text": f"invoices of {i * 3}"} for i in ("AaAa", "BBBB", "AaBB", "BBAa")]
    citations = ask(a_service(files, messages=None, dedupe_threshold=None)).citations
    assert len({citation.marker for citation in citations}) == 4


def test_used_citations_are_read_off_the_answer_and_listed_below_it():
    """C8."""
    service = a_service()
    context = ask(service)
    assert context.format_citations_for_response() == ""
    marker = item(context, "billing").citation
    marked = service.mark_used(context, f"They are sent monthly {marker}.")
    assert [c.marker for c in marked.citations if c.is_used] == [marker]
    assert marked.format_citations_for_response() == (
        f"\n\n---\nSources:\n{marker}: docs/billing.md - {FILES[0]['text'][:50].rstrip()}..."
    )
    assert [c.is_used for c in context.citations] == [False] * len(context.citations)


def test_the_counts_add_up():
    """C9."""
    context = ask(a_service(), references=["refunds"])
    stats = context.stats
    assert (stats.explicit_count, stats.history_count) == (1, 2)
    assert stats.search_count >= 1
    assert (
        stats.explicit_count + stats.search_count + stats.history_count
        == len(context.items) + stats.excluded_count
    )


def test_the_same_request_is_answered_from_the_cache_and_another_is_not():
    """C10: the document keys by thread alone, and so serves the wrong question and the wrong user."""
    service = a_service()
    first = service.build_prime_context("t1", "When are invoices sent?", "ann")
    again = service.build_prime_context("t1", "When are invoices sent?", "ann")
    assert again.metrics.is_cached
    assert (again.text, again.items) == (first.text, first.items)
    other = service.build_prime_context("t1", "Who waters the garden?", "ann")
    assert not other.metrics.is_cached
    assert item(other, "garden")
    assert service.build_prime_context("t1", "When are invoices sent?", "bob").items == ()
    assert service.engine.cache.hit_rate == 0.25


def test_kept_answers_are_forgotten_by_pattern():
    """C10."""
    service = a_service()
    for thread in ("t1", "t2"):
        service.build_prime_context(thread, "invoices", "ann")
    assert service.invalidate('"thread": "t1"') == 1
    assert not service.build_prime_context("t1", "invoices", "ann").metrics.is_cached
    assert service.build_prime_context("t2", "invoices", "ann").metrics.is_cached
    assert service.invalidate() == 2
    assert a_service(settings=PrimeSettings(cache_seconds=0)).engine.cache is None


def test_figures_are_in_every_answer():
    """C13."""
    metrics = ask(a_service()).metrics
    assert metrics.assembly_time == pytest.approx(
        metrics.search_latency + metrics.scoring_latency + metrics.optimization_latency
    )
    assert min(metrics.search_latency, metrics.scoring_latency, metrics.optimization_latency) > 0
    assert metrics.items_retrieved >= metrics.items_selected > 0
    assert metrics.token_usage > 0


def test_nobody_sees_what_is_another_users():
    """C2, promise 4."""
    service = a_service(user="bob")
    context = ask(service, references=["billing", "docs/billing.md"])
    assert (context.text, context.trace.candidates, context.trace.decisions) == ("", (), ())
    with pytest.raises(ScopeError, match="user_id"):
        service.build_prime_context("t1", "When are invoices sent?")
    with pytest.raises(ConfigError, match="no item"):
        service.record_feedback("billing", True, "ann")


def test_a_source_that_forgets_the_scope_lets_nobody_judge_what_is_anothers(tmp_path):
    """C11, promise 4."""

    class Careless(ListSource):
        def get(self, ids, request):
            return [candidate for candidate in self.candidates if candidate.id in ids]

    careless = Careless([a_candidate(id="x", text="of bob", metadata={"user_id": "bob"})])
    service = a_service(sources=[careless], journal=tmp_path / "journal.db")
    with pytest.raises(ConfigError, match="no item"):
        service.record_feedback("x", False, "ann")
    service.record_feedback("x", False, "bob")
    service.close()


def test_async_gives_the_same():
    service = a_service()
    one = asyncio.run(service.abuild_prime_context("t1", "When are invoices sent?", "ann", now="2026-03-10"))
    two = a_service(settings=PrimeSettings()).build_prime_context(
        "t1", "When are invoices sent?", "ann", now="2026-03-10"
    )
    assert [i.content for i in one.items] == [i.content for i in two.items]


def test_a_service_over_any_engine_answers_alike():
    engine = ContextEngine([ListSource([a_candidate(id="a", text="Invoices are sent.", relevance=0.9)])])
    context = PrimeContextService.over(engine).build_prime_context(None, "invoices?")
    assert (context.text, context.stats.search_count) == ("[1] Invoices are sent.", 1)


def test_several_collections_of_files_are_searched():
    from tests.builders import a_collection
    from tests.designs.prime_builders import owned

    one, two = (a_collection(owned([record])) for record in FILES[:2])
    context = ask(PrimeContextService([one, two]), "invoices and refunds")
    assert {i.id for i in context.items} == {"billing", "refunds"}


def test_the_example_shows_a_use_that_moves_a_score(capsys):
    runpy.run_path(str(ROOT / "examples" / "prime_context.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "ContextStats(explicit_count=1, search_count=2, history_count=2, excluded_count=0)" in printed
    before, after = printed.splitlines()[-1].removeprefix("docs/billing.md: ").split(" -> ")
    assert float(after) == pytest.approx(float(before) + 0.01, abs=0.0011)
