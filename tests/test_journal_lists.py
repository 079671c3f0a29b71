"""How the journal's traces are filtered and sorted, its raters, its named sets, and questions that failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from langchain_context_engine import ContextEngine
from langchain_context_engine.journal import Journal
from langchain_context_engine.models.errors import AllSourcesFailedError, ConfigError
from tests.builders import ListSource, a_candidate
from tests.journal_builders import KEY, a_context


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "journal.db") as journal:
        yield journal


class BrokenSource:
    name = "broken"

    def fetch(self, request):
        raise RuntimeError(f"no answer with token sk-{'x' * 30}")


def test_words_of_a_search_stand_in_any_order(journal):
    journal.record(a_context("When are invoices sent to Ann?"))
    journal.record(a_context("When does Ann leave?"))
    assert [row.query for row in journal.traces(search="ann INVOICES")] == ["When are invoices sent to Ann?"]
    assert journal.count(search="ann") == 2


def test_a_question_is_found_exactly(journal):
    for query in ("why?", "but why?", "why?"):
        journal.record(a_context(query))
    assert [row.query for row in journal.traces(query="why?")] == ["why?", "why?"]


def test_traces_with_nothing_kept_with_cuts_and_slow_ones_are_told_apart(journal):
    passage = a_context().passages[0]
    journal.record(a_context("bare", passages=()))
    journal.record(a_context("cut", passages=(replace(passage, is_truncated=True),)))
    journal.record(a_context("slow", timings={"collect": 900.0}))
    assert [row.query for row in journal.traces(is_bare=True)] == ["bare"]
    assert [row.query for row in journal.traces(is_cut=True)] == ["cut"]
    assert [row.query for row in journal.traces(is_slow=True)] == ["slow"]
    assert journal.count(is_slow=True) == 1


def test_what_is_slow_within_a_scope_is_told_from_what_that_scope_took_alone(journal):
    """Another tenant's slow question said that none of one's own was slow."""
    for user, took in (("ann", 5.0), ("ann", 7.0), ("bob", 900.0)):
        context = a_context(f"{user} {took:g}", timings={"collect": took})
        journal.record(replace(context, request=replace(context.request, scope={"user": user})))
    ann = journal.scope_digest({"user": "ann"})
    assert [row.query for row in journal.traces(is_slow=True, scope=ann)] == ["ann 7"]
    assert journal.count(is_slow=True, scope=ann, search="ann") == 1
    assert [row.query for row in journal.traces(is_slow=True)] == ["bob 900"]


def test_traces_are_sorted_over_all_before_they_are_paged(journal):
    for tokens in (3, 9, 1, 7):
        journal.record(a_context(f"q{tokens}", tokens=tokens))
    assert [row.tokens for row in journal.traces(2, sort="tokens")] == [9, 7]
    assert [row.tokens for row in journal.traces(2, 1, sort="tokens", ascending=True)] == [3, 7]
    with pytest.raises(ConfigError, match="sorted by"):
        journal.traces(sort="1; DROP TABLE traces")


def test_a_row_tells_what_each_stage_took_and_each_source_offered(journal):
    journal.record(a_context())
    (row,) = journal.traces()
    assert row.timings == {"collect": 2.0, "rank": 1.5}
    assert row.offered == {"notes": 1, "chat": 2}


def test_the_grades_of_two_people_stand_beside_each_other(journal):
    journal.judge("q", KEY, 3, rater="ann")
    journal.judge("q", KEY, 1, rater="bob")
    journal.judge("q", KEY, 2, rater="bob")
    assert [(j.rater, j.grade) for j in journal.judgments("q")] == [("ann", 3), ("bob", 2)]
    journal.judge("q", KEY, None, rater="ann")
    assert [(j.rater, j.grade) for j in journal.judgments("q")] == [("bob", 2)]


def test_a_named_set_is_kept_over_an_earlier_one_and_removed_when_empty(journal):
    journal.keep_set("release", {"why?": "1", "when?": "2"})
    journal.keep_set("release", {"why?": "3"})
    journal.keep_set("other", {"who?": "4"})
    assert journal.sets() == {"other": {"who?": "4"}, "release": {"why?": "3"}}
    journal.keep_set("other", {})
    assert set(journal.sets()) == {"release"}
    with pytest.raises(ConfigError, match="name of a set"):
        journal.keep_set("  ", {"why?": "3"})


def test_a_question_that_every_source_failed_to_answer_is_recorded_and_raised(journal):
    engine = ContextEngine([BrokenSource()], journal=journal)
    with pytest.raises(AllSourcesFailedError):
        engine.build("why is it down?")
    (row,) = journal.traces(status="failed")
    assert (row.query, row.candidates) == ("why is it down?", 0)
    (warning,) = journal.trace(row.id).warnings
    assert warning.startswith("source 'broken' failed")
    assert "sk-x" not in warning
    assert list(row.source_timings) == ["broken"]


async def test_a_question_that_failed_is_recorded_when_it_is_asked_from_a_loop(journal):
    engine = ContextEngine([BrokenSource()], journal=journal)
    with pytest.raises(AllSourcesFailedError):
        await engine.abuild("why is it down?")
    assert journal.count(status="failed") == 1


def test_one_source_that_answers_makes_no_failed_question(journal):
    ContextEngine([BrokenSource(), ListSource([a_candidate()])], journal=journal).build("why?")
    assert [row.status for row in journal.traces()] == ["partial"]
