"""The prime-context design (rows C1 to C13), on real Chroma collections."""

from __future__ import annotations

import math

import pytest

from langchain_context_engine import ConfigError, ContextEngine, ScopeError, replay
from langchain_context_engine.designs import PrimeContextService, PrimeSettings
from langchain_context_engine.designs.prime import DEFAULTS, ENGINE
from langchain_context_engine.models.types import Reason
from tests.builders import ListSource, MeetingSource, a_candidate, a_collection, count_words
from tests.designs.prime_builders import FILES, NOW, a_service, ask, item, owned, ranked
from tests.test_telemetry import points, reader  # noqa: F401 - a fixture


def twins(n, **fields):
    """Return files that differ in a number only."""
    return [{"id": f"f{i:02}", "path": f"{i}", "text": f"invoices part {i:02}", **fields} for i in range(n)]


@pytest.fixture
def felt(tmp_path):
    """Return a service over three like files that remembers what it is told."""
    service = a_service(twins(3), messages=None, journal=tmp_path / "journal.db")
    yield service
    service.close()


def test_keywords_are_longer_than_three_letters_and_none_is_not_nan():
    """C1: the document divides by the number of keywords."""
    told = PrimeContextService.extract_keywords
    assert told("What did WE decide about the new billing, Ann?") == ("billing", "decide")
    assert told("請求書 ok") == ("求書", "請求")
    for message in ("", "is it so?", "?!"):
        items = ask(a_service(), message).items
        assert items
        assert all(math.isfinite(item.relevance) for item in items)


def test_files_messages_and_references_are_found_at_once_each_in_its_way():
    """C2"""
    seen = {"id": "seen", "path": "docs/x.md", "text": "Seen lately.", "accessed_at": "2026-03-09"}
    meeting = [MeetingSource(name=name, many=2) for name in ("one", "other")]
    meeting[1].barrier = meeting[0].barrier  # where they are not asked at once, both fail
    context = ask(
        a_service([*FILES, seen], sources=meeting), "invoices in paymnts", references=["docs/refunds.md"]
    )
    found = {candidate.id: candidate.provenance for candidate in context.trace.candidates}
    assert (found["refunds"], found["seen"]) == (("explicit",), ("recent",))
    assert ("full_text" in found["billing"], "fuzzy" in found["payments"]) == (True, True)
    assert (found["m1"], found["m2"], "m3" in found) == (("thread",), ("thread",), False)
    assert (item(context, "refunds").type, item(context, "m1").type) == ("reference", "message")
    assert not any("failed" in warning for warning in context.trace.warnings)


def test_the_numbers_are_those_of_the_document_and_a_greater_one_is_kept():
    """C2, C4, C5, C7, C10: `full_text=400` gave 50 without a word."""
    service = a_service()
    limits = {source.name: getattr(source, "limit", None) for source in service.engine.sources}
    assert limits | {"full_text": 10, "keywords": 10, "fuzzy": 5, "recent": 5, "thread": 20} == limits
    assert (DEFAULTS.fuzzy_threshold, DEFAULTS.history) == (0.3, 20)
    assert (DEFAULTS.max_tokens, service.engine.config.budget.tokens) == (4000, 3500)
    assert (service.engine.cache.max_entries, service.engine.cache.ttl_seconds) == (100, 30)
    assert [*ENGINE["weights"].values()] == [0.35, 0.25, 0.15, 0.15, 0.10]
    files = [{"id": f"f{i}", "path": f"{i}", "text": f"invoices of customer {i}"} for i in range(130)]
    service = a_service(files, messages=None, settings=PrimeSettings(full_text=120), dedupe_threshold=None)
    assert sum("full_text" in c.provenance for c in ask(service, "invoices").trace.candidates) == 120


def test_references_that_a_thread_keeps_are_offered_in_that_thread():
    """C2"""
    about = {"text": "The tax rate is 19 percent.", "thread_id": "t1"}
    service = a_service(references=[{"id": "r1", "file_id": "refunds", **about}, {"id": "r2", **about}])
    context = ask(service)
    assert {i.id for i in context.items if i.type == "reference"} == {"refunds", "r2"}
    assert (context.stats.explicit_count, ask(service, thread="t2").stats.explicit_count) == (2, 0)


def test_nobody_sees_or_judges_what_is_another_users(tmp_path):
    """C2, C11, promise 4"""

    class Careless(ListSource):
        def get(self, ids, request):
            return [candidate for candidate in self.candidates if candidate.id in ids]

    careless = Careless([a_candidate(id="x", text="of bob", metadata={"user_id": "bob"})])
    service = a_service(user="bob", sources=[careless], journal=tmp_path / "journal.db")
    context = ask(service, references=["billing", "docs/billing.md"])
    assert (context.text, context.trace.candidates, context.trace.decisions) == ("", (), ())
    with pytest.raises(ScopeError, match="user_id"):
        service.build_prime_context("t1", "When are invoices sent?")
    for theirs in ("billing", "x"):
        with pytest.raises(ConfigError, match="no item"):
            service.record_feedback(theirs, True, "ann")
        service.record_feedback(theirs, True, "bob")
    service.close()


def test_an_item_has_the_window_with_most_of_the_question_with_match_marks():
    """C3: of a program it was its imports, although what was asked stood below."""
    found = item(ask(a_service()), "billing")
    assert found.excerpt == "<<<Invoices>>> are <<<sent>>> monthly. Billing runs on the first."
    assert (found.content, found.source) == (FILES[0]["text"], "docs/billing.md")
    assert found.metadata["matched_keywords"] == ("invoices", "sent")
    assert found.metadata["search_rank"] > 0
    imports = "\n".join(f"from package.module{i} import name{i}" for i in range(40))
    body = "\n\n".join(f"def helper{i}(value):\n    return value + {i}" for i in range(40))
    asked = "def charge_customer(invoice):\n    return gateway.charge(invoice.customer)"
    long = {"id": "a", "path": "pay.py", "text": f"{imports}\n\n{body}\n\n{asked}\n\n{body}"}
    found = item(ask(a_service([long], messages=None), "charge the customer"), "a")
    assert "<<<charge_customer>>>" in found.excerpt
    assert "gateway.charge(invoice.customer)" in found.content


def test_a_message_says_who_wrote_it():
    """C3, C8"""
    said = [("Invoices are late again.", {"author": "Ana"}), ("They were sent.", {"role": "assistant"})]
    messages = [{"id": f"m{i}", "thread_id": "t1", "text": text, **by} for i, (text, by) in enumerate(said)]
    context = ask(a_service(messages=messages), history=[("user", "About invoices.")])
    assert f"{item(context, 'm0').citation} message Ana\nInvoices are late again." in context.text
    assert f"{item(context, 'm1').citation} message assistant\nThey were sent." in context.text
    assert " message user\nAbout invoices." in context.text


def test_the_score_is_the_weighted_sum_of_the_signals():
    """C4"""
    kinds = {"ref": {}, "file": {}, "chunk": {"kind": "chunk"}, "other": {"kind": "picture"}}
    files = [{"id": n, "path": n, "text": f"invoices {n} {n * 3}", **kind} for n, kind in kinds.items()]
    context = ask(a_service(files), references=["ref"])
    for passage, item_ in zip(context.trace.passages, context.items, strict=True):
        signals = passage.ranked.signals
        expected = math.fsum(weight * signals[name] for name, weight in ENGINE["weights"].items())
        assert item_.relevance == passage.ranked.score == pytest.approx(expected)
    told = {i: ranked(context, i).signals["source_priority"] for i in ("ref", "file", "chunk", "m1", "other")}
    assert told == {"ref": 1.0, "file": 0.7, "chunk": 0.6, "m1": 0.5, "other": 0.3}


def test_text_similarity_is_the_cosine_of_tf_idf_and_keywords_match_whole_words():
    """C4: in the document `art` is found in `party`."""

    def signal(name, question, *texts):
        files = [{"id": f"f{i}", "path": f"{i}", "text": text} for i, text in enumerate(texts)]
        context = ask(a_service(files, messages=None), question)
        return [ranked(context, f"f{i}").signals[name] for i in range(len(texts))]

    alpha, rare = math.log(1 + 2 / 2), math.log(1 + 2 / 1)
    expected = alpha * alpha / (math.hypot(alpha, rare) * math.hypot(alpha, 2 * rare))
    told = signal("term_similarity", "alpha beta", "alpha beta", "alpha gamma gamma")
    assert told == [pytest.approx(1), pytest.approx(expected)]
    texts = ("the billing of the card", "many billings and cards are here")
    assert signal("keyword_match", "billing card policy rule", *texts) == [0.5, 0]


@pytest.mark.parametrize(
    ("created_at", "recency"),
    [(NOW, 1.0), ("2026-03-09T12:00:00Z", math.exp(-0.24)), ("2027-01-01", 1.0), ("unreadable", 0.5)],
)
def test_recency_is_e_to_minus_a_hundredth_per_hour(created_at, recency):
    """C4"""
    context = ask(a_service(twins(1, created_at=created_at)))
    assert ranked(context, "f00").signals["recency_exponential"] == pytest.approx(recency)


def test_what_costs_less_for_the_same_worth_is_chosen_first():
    """C5: value density."""
    texts = ("invoices go out", "invoices are sent monthly " + "by mail as agreed " * 5)
    files = [
        {"id": name, "path": name, "text": text} for name, text in zip(("short", "long"), texts, strict=True)
    ]
    settings = {"messages": None, "tokenizer": count_words, "truncator": "none", "budget": 28}
    for more, chosen in (({"selection": "score"}, "long"), ({}, "short")):
        context = ask(a_service(files, **settings, **more), "are invoices sent monthly?")
        assert [i.id for i in context.items] == [chosen]


def test_a_kind_above_70_percent_of_more_than_five_makes_room_for_others():
    """C5"""
    grown = ("roses", "snails", "a pond", "tea")
    texts = [f"the garden has {word} in it {n} of the year" for n, word in enumerate(grown)]
    messages = [{"id": f"m{n}", "thread_id": "t1", "text": text} for n, text in enumerate(texts)]
    settings = {"dedupe_threshold": None, "tokenizer": count_words, "budget": 80}
    services = (a_service(twins(20), messages, **settings, **more) for more in ({}, {"diversity": None}))
    kinds, alone = ([i.type for i in ask(service).items] for service in services)
    assert kinds.count("message") > alone.count("message")
    assert kinds.count("file") <= 0.75 * len(kinds)


def test_it_stops_above_90_percent_with_ten_chosen():
    """C5"""
    texts = [f"invoices message {n:02} of the thread" for n in range(10)]
    messages = [{"id": f"m{n}", "thread_id": "t1", "text": text} for n, text in enumerate(texts)]
    settings = {"dedupe_threshold": None, "tokenizer": count_words}
    cost = sum(i.tokens for i in ask(a_service(twins(10), messages, **settings)).items[:12])
    context = ask(a_service(twins(10), messages, **settings, budget=cost))
    assert Reason.ENOUGH in {decision.reason for decision in context.trace.decisions}
    assert (len(context.items) >= 10, context.total_tokens > 0.9 * cost) == (True, True)


def test_the_budget_is_never_exceeded_and_where_nothing_fits_whole_one_item_is_cut():
    """C5: the document exceeds the budget here."""
    files = [{"id": f"f{n}", "path": f"{n}", "text": f"invoices w{n} " + f"x{n} " * 98} for n in range(20)]
    for budget in (0, 1, 7, 100, 500):
        context = ask(a_service(files, messages=None, tokenizer=count_words, budget=budget))
        assert context.total_tokens == count_words(context.text) <= budget
    long = [{"id": "a", "path": "1", "text": "Invoices are sent monthly to every customer. " * 100}]
    for tokens in (20, 200):
        context = ask(a_service(long, messages=None, budget=tokens), references=["a"])
        assert [i.id for i in context.items] == ["a"]
        assert (0 < context.total_tokens <= tokens, context.trace.is_truncated) == (True, True)


def test_the_optimal_selection_is_at_least_as_good_and_the_gap_says_by_how_much():
    """C6"""
    texts = [f"invoices sent part{n} " + f"filler{n} " * size for n, size in enumerate((1, 20, 21, 22))]
    files = [{"id": f"f{n}", "path": f"{n}", "text": text} for n, text in enumerate(texts)]
    settings = {"messages": None, "tokenizer": count_words, "truncator": "none", "diversity": None}
    greedy, best = (a_service(files, selection=by, budget=60, **settings) for by in ("density", "knapsack"))
    by_density, by_worth = ask(greedy), ask(best)
    got, most = (sum(i.relevance for i in context.items) for context in (by_density, by_worth))
    assert got <= most
    assert best.optimality_gap(by_worth) == pytest.approx(0)
    assert greedy.optimality_gap(by_density) == pytest.approx(1 - got / most)


def test_the_context_has_4000_tokens_less_500():
    """C7"""
    texts = [f"invoice {n} " + f"word{n} " * 300 for n in range(20)]
    long = [{"id": f"m{n}", "thread_id": "t1", "text": text} for n, text in enumerate(texts)]
    assert 3000 < ask(a_service(messages=long)).total_tokens <= 3500
    settings = PrimeSettings(max_tokens=1000, system_prompt_tokens=900)
    assert 0 < ask(a_service(messages=long, settings=settings)).total_tokens <= 100


def test_citations_are_unique_the_same_in_every_answer_and_read_off_an_answer():
    """C8: "Aa" and "BB" have one Java hash, which the document uses."""
    files = [{"id": i, "path": i, "text": f"invoices of {i * 3}"} for i in ("AaAa", "BBBB", "AaBB", "BBAa")]
    citations = ask(a_service(files, messages=None, dedupe_threshold=None)).citations
    assert len({citation.marker for citation in citations}) == 4
    service = a_service()
    context, other = ask(service), ask(service, "invoices and refunds?")
    markers = {i.id: i.citation for i in context.items}
    assert (markers["billing"][:5], markers["m1"][:5]) == ("[fil-", "[mes-")
    assert item(other, "billing").citation == markers["billing"]
    assert all(marker in context.text for marker in markers.values())
    assert context.format_citations_for_response() == ""
    marked = service.mark_used(context, f"They are sent monthly {markers['billing']}.")
    assert [c.marker for c in marked.citations if c.is_used] == [markers["billing"]]
    told = f"{markers['billing']}: docs/billing.md - {FILES[0]['text'][:50].rstrip()}..."
    assert marked.format_citations_for_response() == f"\n\n---\nSources:\n{told}"
    assert not any(c.is_used for c in context.citations)


def test_one_id_in_two_collections_is_two_items(tmp_path):
    """C8, C11: their markers differ, and an opinion finds the one that is meant."""
    texts = ("Invoices are sent monthly", "Invoices are sent by letter to everybody")
    collections = [a_collection(owned([{"id": "a", "path": text[-5:], "text": text}])) for text in texts]
    service = PrimeContextService(collections, journal=tmp_path / "journal.db")
    context = ask(service)
    first, last = (i.id for i in context.items)
    assert [first, last] == ["/".join(p.key) for p in context.trace.passages]
    assert len({c.marker for c in context.citations}) == 2
    service.record_feedback(last, True, "ann")
    after = ask(service)
    assert item(after, last).relevance > item(context, last).relevance
    assert item(after, first).relevance == item(context, first).relevance
    with pytest.raises(ValueError, match="stands in several collections"):
        service.record_feedback("a", True, "ann")
    service.close()


def test_the_counts_add_up():
    """C9"""
    context = ask(a_service(), references=["refunds"])
    stats = context.stats
    assert (stats.explicit_count, stats.history_count, stats.search_count >= 1) == (1, 2, True)
    found = stats.explicit_count + stats.search_count + stats.history_count
    assert found == len(context.items) + stats.excluded_count


def test_the_same_request_is_answered_from_the_cache_and_another_is_not():
    """C10: the document keys by thread alone, and so serves the wrong question and the wrong user."""
    service = a_service()

    def asked(message="When are invoices sent?", user="ann", thread="t1"):
        return service.build_prime_context(thread, message, user)

    first, again = asked(), asked()
    assert (again.is_cached, again.text, again.items) == (True, first.text, first.items)
    assert item(asked("Who waters the garden?"), "garden")
    assert asked(user="bob").items == ()
    assert service.engine.cache.hit_rate == 0.25
    asked(thread="t2")
    assert service.invalidate('"thread": "t1"') == 3
    assert (asked().is_cached, asked(thread="t2").is_cached) == (False, True)
    assert service.invalidate() == 2
    assert a_service(settings=PrimeSettings(cache_seconds=0)).engine.cache is None


@pytest.mark.parametrize("useful", [True, False])
def test_opinions_count_up_and_down_the_more_the_surer_though_answers_are_kept(felt, useful):
    """C10, C11: one, three or ten times useful gave the same, and what was never cited was not moved."""

    def distance():
        context = felt.build_prime_context("t1", "invoices", "ann")
        assert not context.is_cached
        places = [i.id for i in context.items]
        return abs(item(context, "f01").relevance - item(context, "f02").relevance), places.index("f01")

    told = [distance()]
    for _ in range(3):
        felt.record_feedback("f01", useful, "ann")
        told.append(distance())
    distances = [value for value, _ in told]
    assert distances == sorted(distances)
    assert len(set(distances)) == 4
    assert [place for _, place in told[1:]] == [0 if useful else 2] * 3


def test_uses_are_a_tenth_each_and_1_at_most(felt):
    """C4, C11"""
    before = ask(felt)
    assert before.items[0].id == "f00"
    for _ in range(5):
        felt.mark_used(before, f"as said in {item(before, 'f02').citation}")
    after = ask(felt)
    assert after.items[0].id == "f02"
    assert item(after, "f02").relevance == pytest.approx(item(before, "f02").relevance + 0.10 * 0.5)
    felt.engine.journal.touch([(felt.engine.sources[0].collection_name, "f01")] * 40)
    felt.invalidate()
    assert ranked(ask(felt), "f01").signals["usage"] == 1


def test_what_was_opened_or_used_is_among_the_recently_accessed(tmp_path):
    """C11: access time updated."""
    service = a_service(journal=tmp_path / "journal.db")

    def found(message):
        return {c.id: c.provenance for c in ask(service, message).trace.candidates}

    assert "garden" not in found("invoices")
    service.update_access_time("garden", "ann")
    assert found("invoices")["garden"] == ("recent",)
    context = ask(service, "refunds")
    service.mark_used(context, item(context, "refunds").citation)
    assert "refunds" in found("garden")
    service.close()
    with pytest.raises(ConfigError, match="journal="):
        a_service().record_feedback("billing", True, "ann")


def test_instruments_tell_times_items_tokens_and_cache_hits(reader, caplog):  # noqa: F811
    """C13: under the document's names, in the log and as OpenTelemetry instruments."""
    service = a_service()
    with caplog.at_level("INFO", logger="langchain_context_engine.designs.prime"):
        contexts = [service.build_prime_context("t1", "When are invoices sent?", "ann") for _ in range(3)]
    metrics, told = contexts[0].metrics, points(reader)
    times = [metrics[f"{phase}Latency"] for phase in ("search", "scoring", "optimization")]
    assert (metrics["assemblyTime"], min(times) > 0) == (pytest.approx(sum(times)), True)
    assert set(metrics) == {
        "assemblyTime", "itemsRetrieved", "itemsSelected", "tokenUsage", "cacheHitRate",
        "searchLatency", "scoringLatency", "optimizationLatency",
    }  # fmt: skip
    assert told["context_engine.assembly.duration"][0].count == 3
    for phase in ("search", "scoring", "optimisation"):
        (point,) = told[f"context_engine.{phase}.duration"]
        assert (point.count, point.sum > 0) == (1, True)
    assert (
        told["context_engine.items.retrieved"][0].max == metrics["itemsRetrieved"] >= metrics["itemsSelected"]
    )
    assert told["context_engine.items.selected"][0].max == metrics["itemsSelected"] == len(contexts[0].items)
    assert told["context_engine.tokens"][0].max == metrics["tokenUsage"] == contexts[0].total_tokens
    hits = {p.attributes["hit"]: p.value for p in told["context_engine.cache.lookups"]}
    assert (hits, service.engine.cache.hit_rate) == ({True: 2, False: 1}, pytest.approx(2 / 3))
    logged = [record for record in caplog.records if record.name.endswith("prime")]
    assert logged[2].cacheHitRate == pytest.approx(2 / 3)
    assert "Invoices" not in caplog.text


def test_a_service_over_any_engine_answers_alike_and_a_trace_replays_without_it():
    """Promise 9"""
    engine = ContextEngine([ListSource([a_candidate(id="a", text="Invoices are sent.", relevance=0.9)])])
    context = PrimeContextService.over(engine).build_prime_context(None, "invoices?")
    assert (context.text, context.stats.search_count) == ("[1] Invoices are sent.", 1)
    context = ask(a_service(), references=["refunds"])
    assert replay(context.trace.to_dict()).text == context.text
