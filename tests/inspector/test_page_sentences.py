"""What pages say in figures of a whole answer, a journal or a set is so: counted anew, sentence by sentence."""

from __future__ import annotations

import re
from html import unescape

import pytest

from inspector.candidates import near_misses
from inspector.marking import whole_tokens
from inspector.opening import Settings, open_trace
from inspector.wording import option_of
from langchain_context_engine import Journal, replay
from langchain_context_engine.models.types import Reason
from tests.builders import a_candidate
from tests.inspector.builders import a_context, a_page, a_shared_context, htmls, rows_of
from tests.inspector.page_sentences import SENTENCES, Seen, proved

SECTIONS = ("Candidates", "Budget", "Text")
OF_ONE = re.compile(r"That is a part|.+ count as one\.$|[\d,]+ ranked later|[\d,]+ of its ")
MOST = 3
SAMPLES = ("sample-duplicates", "sample-weighted")
OF_A_JOURNAL = (
    "traces", "figures", "sets", "judge",
)  # fmt: skip
FACT = re.compile(r"\d|Nothing changed")
NO_FIGURE = re.compile(r"trace |searched: |keys: |Score |asked: \d+ \w{3} \d{4},")
"""A trace's name, the head of one candidate's score, the time of the question."""


def sentences(at):
    """Return what a page says with a figure in it, but what it says of one candidate, or a setting's value."""
    assert not at.exception
    told = [element.value for element in (*at.text, *at.caption, *at.subheader)]
    told += [box.label for box in at.expander]
    for html in htmls(at):
        if "ce-moves" in html:
            told.append(html)
        if "ce-facts" in html:
            told += re.findall(r"<span(?: title=\"[^\"]*\")?>(.*?)</span>", html)
    said = (unescape(re.sub(r"<[^>]*>", "", one)).strip() for one in told)
    return [one for one in said if FACT.search(one) and not NO_FIGURE.match(one)]


def of_an_answer(answer, monkeypatch):
    """Return what Explain says of an answer, and Tune and Compare of it with half its budget."""
    given = {"trace": "upload-1", "opened": {"upload-1": answer}, "monkeypatch": monkeypatch}
    seen = Seen(context=answer, before=answer)
    for section in SECTIONS:
        yield from ((one, seen) for one in sentences(a_page("explain", section=section, **given)))
    rows = rows_of(answer)
    wholes = whole_tokens(answer)
    told = (
        near_misses(rows, MOST)
        + [row for row in rows if row.key in wholes or row.reason is Reason.DUPLICATE][:MOST]
    )
    for row in told:
        at = a_page("explain", candidate=option_of(row.key), **given)
        own = Seen(context=answer, own={"key": row.key})
        yield from ((one, own) for one in sentences(at) if OF_ONE.match(one))
    at = a_page("tune", **given)
    head = sentences(at)
    yield from ((one, seen) for one in head)
    budget = answer.budget // 2
    at.slider(key="budget").set_value(budget).run()
    after = Seen(context=replay(answer, budget=budget), before=answer, own={"tries": 1})
    # The head of the page is of what was recorded, the bench of what is tried.
    yield from ((one, after) for one in sentences(at) if one not in head)
    opened = {"upload-1": answer, "upload-2": after.context}
    at = a_page("compare", opened=opened, compare=list(opened), monkeypatch=monkeypatch)
    compared = ("From A to B: ", "passages not alike.", "passage not alike.")
    yield from ((one, after) for one in sentences(at) if one.startswith(compared) or one.endswith(compared))


def of_a_journal(path, monkeypatch):
    """Return what the pages say of two questions that two people graded and a set holds."""
    with Journal(path) as journal:
        for context in (open_trace(name, Settings()) for name in SAMPLES):
            journal.record(context)
            for number, candidate in enumerate(context.candidates[:6]):
                journal.judge(context.request.query, candidate.key, number % 4, rater="")
                journal.judge(context.request.query, candidate.key, number % 3, rater="bob")
        traces = journal.traces()
        journal.keep_set("both", {trace.query: trace.id for trace in traces})
        contexts, judgments = [journal.trace(trace.id) for trace in traces], journal.judgments()
    seen = Seen(contexts=contexts, judgments=judgments, own={"days": 1})
    for page in OF_A_JOURNAL:
        at = a_page(page, journal=path, monkeypatch=monkeypatch)
        yield from ((one, seen) for one in sentences(at))
    graded = [one for one in judgments if one.query == traces[0].query]
    at = a_page("judge", journal=path, trace=traces[0].id, monkeypatch=monkeypatch)
    own = {"judged": len(traces), "kept": len(judgments)}
    yield from ((one, Seen(context=contexts[0], judgments=graded, own=own)) for one in sentences(at))


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Return every sentence with a figure that pages say, with what they were drawn from."""
    answers = [open_trace(name, Settings()) for name in SAMPLES]
    copies = [a_candidate(id=str(i), text="The same of all.", relevance=0.9 - i / 10) for i in range(4)]
    answers += [
        a_context(copies),
        a_shared_context(),
        a_context(budget=150),
        a_context(budget=10, truncator="none"),
    ]
    with pytest.MonkeyPatch.context() as monkeypatch:
        found = [one for answer in answers for one in of_an_answer(answer, monkeypatch)]
        return found + list(of_a_journal(tmp_path_factory.mktemp("sentences") / "j.db", monkeypatch))


def test_every_figure_that_a_page_says_of_an_answer_or_a_journal_has_a_proof_and_none_is_untrue(said):
    """Issue 14: a new sentence without a proof in the list fails here."""
    assert {proved(sentence, seen) for sentence, seen in said} == set(SENTENCES)


def test_a_figure_that_is_not_so_is_found():
    context = a_context(budget=150)
    untrue = ("9 duplicates", "151 / 150 tokens (99 %)", "4 offered · 4 in")
    for sentence in untrue:
        with pytest.raises(AssertionError):
            proved(sentence, Seen(context=context))
    with pytest.raises(AssertionError, match="no proof"):
        proved("7 dwarfs", Seen())
