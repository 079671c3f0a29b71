"""The prime-context design (rows C1 to C13), on real Chroma collections."""

from __future__ import annotations

import math

import pytest

from langchain_context_engine import ConfigError, ContextEngine, ScopeError, replay
from langchain_context_engine.designs import PrimeContextService, PrimeSettings
from langchain_context_engine.designs.prime import DEFAULTS, ENGINE
from langchain_context_engine.models.types import Reason
from tests.builders import ListSource, SlowSource, a_candidate, a_collection, count_words
from tests.designs.prime_builders import FILES, NOW, a_service, ask, item, ranked
from tests.test_telemetry import points, reader  # noqa: F401 - a fixture


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


def test_a_service_over_any_engine_answers_alike():
    engine = ContextEngine([ListSource([a_candidate(id="a", text="Invoices are sent.", relevance=0.9)])])
    context = PrimeContextService.over(engine).build_prime_context(None, "invoices?")
    assert (context.text, context.stats.search_count) == ("[1] Invoices are sent.", 1)


def reasons(context):
    return {
        decision.key[1]: decision.reason for decision in context.trace.decisions if decision.stage == "pack"
    }


def twins(n, **fields):
    """Return files that differ in a number only."""
    return [{"id": f"f{i:02}", "path": f"{i}", "text": f"invoices part {i:02}", **fields} for i in range(n)]


def test_the_score_is_the_weighted_sum_of_the_signals():
    """C4."""
    context = ask(a_service(), references=["refunds"])
    for passage in context.trace.passages:
        signals = passage.ranked.signals
        expected = math.fsum(weight * signals[name] for name, weight in ENGINE["weights"].items())
        assert passage.ranked.score == pytest.approx(expected)
    assert [i.relevance for i in context.items] == [p.ranked.score for p in context.trace.passages]


def test_text_similarity_is_the_cosine_of_tf_idf():
    """C4."""
    files = [
        {"id": "a", "path": "1", "text": "alpha beta"},
        {"id": "b", "path": "2", "text": "alpha gamma gamma"},
    ]
    context = ask(a_service(files, messages=None), "alpha beta")
    alpha, rare = math.log(1 + 2 / 2), math.log(1 + 2 / 1)
    query = math.hypot(alpha, rare)
    assert ranked(context, "a").signals["term_similarity"] == pytest.approx(1)
    assert ranked(context, "b").signals["term_similarity"] == pytest.approx(
        alpha * alpha / (query * math.hypot(alpha, 2 * rare))
    )


def test_keywords_match_words_and_not_parts_of_words():
    """C4: in the document `art` is found in `party`."""
    files = [
        {"id": "part", "path": "1", "text": "many billings and cards are here"},
        {"id": "word", "path": "2", "text": "the billing of the card"},
    ]
    context = ask(a_service(files, messages=None), "billing card policy rule")
    assert ranked(context, "word").signals["keyword_match"] == pytest.approx(2 / 4)
    assert ranked(context, "part").signals["keyword_match"] == 0
    other = ask(a_service(files, messages=None), "what is the billing of it, ann?")
    assert ranked(other, "word").signals["keyword_match"] == 1


@pytest.mark.parametrize(
    ("created_at", "recency"),
    [
        (NOW, 1.0),
        ("2026-03-09T12:00:00Z", math.exp(-0.24)),
        ("2026-02-28T12:00:00Z", math.exp(-2.4)),
        ("2027-01-01", 1.0),
        ("unreadable", 0.5),
    ],
)
def test_recency_is_e_to_minus_a_hundredth_per_hour(created_at, recency):
    """C4."""
    context = ask(a_service(twins(1, created_at=created_at)))
    assert ranked(context, "f00").signals["recency_exponential"] == pytest.approx(recency)


def test_priorities_are_reference_1_file_7_chunk_6_message_5_other_3():
    """C4."""
    files = [
        {"id": "ref", "path": "ref", "text": "invoices one"},
        {"id": "file", "path": "b", "text": "invoices two beta"},
        {"id": "chunk", "path": "c", "text": "invoices three gamma", "kind": "chunk"},
        {"id": "other", "path": "d", "text": "invoices four delta", "kind": "picture"},
    ]
    context = ask(a_service(files), references=["ref"])
    priority = {
        i: ranked(context, i).signals["source_priority"] for i in ("ref", "file", "chunk", "m1", "other")
    }
    assert priority == {"ref": 1.0, "file": 0.7, "chunk": 0.6, "m1": 0.5, "other": 0.3}


def test_usage_is_a_tenth_for_each_use_and_1_at_most(tmp_path):
    """C4."""
    service = a_service(twins(3), journal=tmp_path / "journal.db")
    source = service.engine.sources[0].collection_name
    service.engine.journal.touch([(source, "f01")] * 3 + [(source, "f02")] * 40)
    context = ask(service)
    assert [ranked(context, f"f0{n}").signals["usage"] for n in range(3)] == pytest.approx([0, 0.3, 1])
    service.close()


def test_what_costs_less_for_the_same_worth_is_chosen_first():
    """C5: value density."""
    files = [
        {"id": "short", "path": "1", "text": "invoices go out"},
        {"id": "long", "path": "2", "text": "invoices are sent monthly " + "by mail as agreed " * 5},
    ]
    settings = {"messages": None, "tokenizer": count_words, "truncator": "none", "budget": 28}
    message = "are invoices sent monthly?"
    best_first = ask(a_service(files, selection="score", **settings), message)
    assert [i.id for i in best_first.items] == ["long"]
    assert [i.id for i in ask(a_service(files, **settings), message).items] == ["short"]


def test_a_kind_above_70_percent_of_more_than_five_makes_room_for_others():
    """C5."""
    messages = [
        {"id": f"m{n}", "thread_id": "t1", "text": f"the garden has {word} in it {n} of the year"}
        for n, word in enumerate(("benches", "roses", "snails", "a pond"))
    ]
    settings = {"dedupe_threshold": None, "tokenizer": count_words, "budget": 80}
    context = ask(a_service(twins(20), messages, **settings))
    kinds = [i.type for i in context.items]
    alone = ask(a_service(twins(20), messages, **settings, diversity=None))
    assert kinds.count("message") > [i.type for i in alone.items].count("message")
    assert kinds.count("file") <= 0.75 * len(kinds)


def test_it_stops_above_90_percent_with_ten_chosen():
    """C5."""
    files = twins(10)
    messages = [
        {"id": f"m{n:02}", "thread_id": "t1", "text": f"invoices message {n:02} of the thread"}
        for n in range(10)
    ]
    wide = ask(a_service(files, messages, dedupe_threshold=None, tokenizer=count_words))
    cost = sum(i.tokens for i in wide.items[:12])
    context = ask(a_service(files, messages, dedupe_threshold=None, tokenizer=count_words, budget=cost))
    assert Reason.ENOUGH in reasons(context).values()
    assert len(context.items) >= 10
    assert context.total_tokens > 0.9 * cost


@pytest.mark.parametrize("tokens", [20, 60, 200])
def test_where_nothing_fits_whole_one_item_is_cut(tokens):
    """C5: the document exceeds the budget here."""
    files = [{"id": "a", "path": "1", "text": "Invoices are sent monthly to every customer. " * 100}]
    context = ask(a_service(files, messages=None, budget=tokens), references=["a"])
    assert [i.id for i in context.items] == ["a"]
    assert 0 < context.total_tokens <= tokens
    assert context.trace.is_truncated


def test_the_budget_is_never_exceeded():
    """C5: the document's own test: 20 items of 100 tokens each in 500."""
    files = [{"id": f"f{n}", "path": f"{n}", "text": f"invoices w{n} " + f"x{n} " * 98} for n in range(20)]
    for budget in (0, 1, 7, 100, 500):
        context = ask(a_service(files, messages=None, tokenizer=count_words, budget=budget))
        assert context.total_tokens == count_words(context.text) <= budget


def test_the_optimal_selection_is_at_least_as_good_and_the_gap_says_by_how_much():
    """C6."""
    files = [
        {"id": f"f{n}", "path": f"{n}", "text": f"invoices sent part{n} " + f"filler{n} " * size}
        for n, size in enumerate((1, 20, 21, 22))
    ]
    settings = {"messages": None, "tokenizer": count_words, "truncator": "none", "diversity": None}
    greedy, best = (
        a_service(files, budget=60, selection=selection, **settings) for selection in ("density", "knapsack")
    )
    by_density, by_worth = ask(greedy), ask(best)

    def worth(context):
        return sum(i.relevance for i in context.items)

    assert worth(by_worth) >= worth(by_density)
    assert best.optimality_gap(by_worth) == pytest.approx(0)
    assert greedy.optimality_gap(by_density) == pytest.approx(1 - worth(by_density) / worth(by_worth))


def test_feedback_is_felt_at_once_although_answers_are_kept(tmp_path):
    """C10, C11."""
    service = a_service(twins(2), messages=None, journal=tmp_path / "journal.db")
    first = service.build_prime_context("t1", "invoices", "ann")
    source = first.trace.candidates[0].source
    service.record_feedback(f"{source}/f01", True, "ann")
    second = service.build_prime_context("t1", "invoices", "ann")
    assert not second.metrics.is_cached
    assert second.items[0].id == "f01"
    service.close()


def test_a_trace_replays_without_the_service():
    """Promise 9."""
    context = ask(a_service(), references=["refunds"])
    assert replay(context.trace.to_dict()).text == context.text


def test_instruments_tell_times_items_tokens_and_cache_hits(reader):  # noqa: F811
    """C13: from end to end."""
    service = a_service()
    for _ in range(3):
        context = service.build_prime_context("t1", "When are invoices sent?", "ann")
    told = points(reader)
    assert told["context_engine.assembly.duration"][0].count == 3
    for phase in ("search", "scoring", "optimisation"):
        (point,) = told[f"context_engine.{phase}.duration"]
        assert point.count == 1
        assert point.sum > 0
    assert told["context_engine.items.retrieved"][0].max == context.metrics.items_retrieved
    assert told["context_engine.items.selected"][0].max == len(context.items)
    assert told["context_engine.tokens"][0].max == context.total_tokens
    hits = {p.attributes["hit"]: p.value for p in told["context_engine.cache.lookups"]}
    assert hits == {True: 2, False: 1}
    assert service.engine.cache.hit_rate == pytest.approx(2 / 3)


@pytest.mark.parametrize("useful", [True, False])
def test_feedback_moves_what_was_never_cited(tmp_path, useful):
    """C11: below zero uses there was nothing to take away."""
    service = a_service(twins(3), messages=None, journal=tmp_path / "journal.db")
    assert [i.id for i in ask(service).items] == ["f00", "f01", "f02"]
    service.record_feedback("f01", useful, "ann")
    assert [i.id for i in ask(service).items].index("f01") == (0 if useful else 2)
    service.close()


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


def test_a_message_says_who_wrote_it():
    """C3, C8."""
    messages = [
        {"id": "m1", "thread_id": "t1", "text": "Invoices are late again.", "author": "Ana"},
        {"id": "m2", "thread_id": "t1", "text": "The invoices were sent.", "role": "assistant"},
    ]
    context = ask(a_service(messages=messages), history=[("user", "About invoices.")])
    assert f"{item(context, 'm1').citation} message Ana\nInvoices are late again." in context.text
    assert f"{item(context, 'm2').citation} message assistant\nThe invoices were sent." in context.text
    assert " message user\nAbout invoices." in context.text


def test_one_id_in_two_collections_is_two_items(tmp_path):
    """C8, C11: their markers differ, and an opinion finds the one that is meant."""
    records = [
        [{"id": "a", "path": f"{n}.md", "text": f"Invoices are sent {n}", "user_id": "ann"}]
        for n in ("monthly", "by letter to everybody")
    ]
    collections = [a_collection(own) for own in records]
    service = PrimeContextService(collections, journal=tmp_path / "journal.db")
    context = service.build_prime_context("t1", "How are invoices sent?", "ann", now=NOW)
    assert [i.id for i in context.items] == ["/".join(p.key) for p in context.trace.passages]
    assert len({c.marker for c in context.citations}) == 2
    first, last = (i.id for i in context.items)
    service.record_feedback(last, True, "ann")
    after = service.build_prime_context("t1", "How are invoices sent?", "ann", now=NOW)
    assert item(after, last).relevance > item(context, last).relevance
    assert item(after, first).relevance == item(context, first).relevance
    with pytest.raises(ValueError, match="stands in several collections"):
        service.record_feedback("a", True, "ann")
    service.close()


def test_an_excerpt_is_the_window_that_has_most_of_the_question():
    """C3: of a program it was its imports, although what was asked stood below."""
    imports = "\n".join(f"from package.module{i} import name{i}" for i in range(40))
    body = "\n\n".join(f"def helper{i}(value):\n    return value + {i}" for i in range(40))
    asked = "def charge_customer(invoice):\n    return gateway.charge(invoice.customer)"
    text = f"{imports}\n\n{body}\n\n{asked}\n\n{body}"
    context = ask(
        a_service([{"id": "a", "path": "pay.py", "text": text}], messages=None), "charge the customer"
    )
    assert "<<<charge_customer>>>" in item(context, "a").excerpt
    assert "gateway.charge(invoice.customer)" in item(context, "a").content


@pytest.mark.parametrize("useful", [True, False])
def test_opinions_count_and_the_more_the_surer(tmp_path, useful):
    """C11: one, three or ten times useful gave the same."""
    service = a_service(twins(3), messages=None, journal=tmp_path / "journal.db")

    def distance():
        found = ask(service)
        return abs(item(found, "f01").relevance - item(found, "f02").relevance)

    felt = [distance()]
    for _ in range(3):
        service.record_feedback("f01", useful, "ann")
        felt.append(distance())
    assert felt == sorted(felt)
    assert felt[0] < felt[-1]
    service.close()


def test_a_setting_above_what_an_engine_asks_for_is_kept():
    """Issue 26: `full_text=400` gave 50 without a word."""
    files = [{"id": f"f{i}", "path": f"{i}", "text": f"invoices of customer {i}"} for i in range(130)]
    service = a_service(files, messages=None, settings=PrimeSettings(full_text=120), dedupe_threshold=None)
    assert sum("full_text" in c.provenance for c in ask(service, "invoices").trace.candidates) == 120
