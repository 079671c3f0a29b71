"""The prime-context design over a very long file, several collections, and people's messages (FEATURES C2, C3)."""

from __future__ import annotations

import pytest

from langchain_context_engine.designs import PrimeContextService
from langchain_context_engine.text.densest import densest
from tests.builders import a_collection
from tests.designs.prime_builders import NOW, a_service, ask, item
from tests.growth import least_seconds

ANSWER = "Lost keys are kept in the blue cabinet downstairs."
LINES = [f"Berth {i} costs {i % 50} euros and its bill is sent on day {i % 28}." for i in range(26_000)]
LONG = " ".join([*LINES[:20_000], ANSWER, *LINES[20_000:]])


@pytest.mark.parametrize("references", [(), ("long",)])
@pytest.mark.unmeasured
def test_a_file_of_many_megabytes_costs_no_second_and_its_answer_is_found(references):
    """C2, C3: each source cut all of its sentences for every question, and was late."""
    service = a_service([{"id": "long", "path": "long.md", "text": LONG}], messages=None)
    service.prepare()
    ask(service, "What does berth 7 cost?")
    assert len(LONG) > 1_500_000
    context = ask(service, "Where are lost keys kept?", references=references)
    others = iter(f"Which berth costs {euros} euros?" for euros in range(5))
    assert least_seconds(lambda: ask(service, next(others), references=references), 1) <= 1
    assert ANSWER in item(context, "long").content
    assert not context.trace.warnings


def test_a_long_text_is_read_where_most_of_the_rarest_terms_stand():
    text = "the harbor " * 500 + "a lost key " + "the harbor " * 500
    assert "lost key" in densest(text, ["harbor", "key", "lost"], 200)
    assert densest(text, ["nothing"], 100) == ("the harbor " * 500)[:100].rpartition(" ")[0]
    assert densest("short", ["x"], 10) == "short"
    assert "companies" in densest("w " * 900 + "companies here " + "w " * 900, ["compani"], 100)
    assert "鍵" in densest("港" * 900 + "鍵を" + "港" * 900, ["鍵を"], 90)
    for width in (1, 7, 50, 4000):
        piece = densest(text, ["key"], width)
        assert piece in text
        assert len(piece) <= width


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
