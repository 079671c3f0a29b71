"""The Tune and Compare pages: what a turned knob does, and what stands beside what."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from inspector.opening import Settings, open_trace
from langchain_context_engine import Journal
from tests.inspector.builders import a_context, a_page, cells, column, go_on, grids, htmls, said

WEIGHTED = "sample-weighted"


@pytest.fixture(autouse=True)
def _no_journal(monkeypatch):
    monkeypatch.delenv("CONTEXT_ENGINE_JOURNAL", raising=False)
    monkeypatch.delenv("CONTEXT_ENGINE_TRACE", raising=False)


def test_a_turned_weight_gives_another_order_and_can_be_undone():
    at = a_page("tune", trace=WEIGHTED)
    assert "need a new question" in said(at)
    before = cells(at, "aligned", "B place")
    at.slider(key="w_relevance").set_value(0.0).run()
    assert cells(at, "aligned", "B place") != before
    assert column(at, 0, "try") == ["1"]
    assert "Entered: " in said(at)
    at.session_state["export"] = True
    assert [button.label for button in at.run().download_button] == [
        "Settings, JSON, for ContextEngine.from_file",
        "Candidates compared, CSV",
    ]
    at.session_state["export"] = False
    at.button(key="undo").click().run()
    assert at.slider(key="w_relevance").value == 0.5
    assert cells(at, "aligned", "B place") == before


def test_one_undo_takes_back_one_drag_and_says_what(monkeypatch):
    """Each step of a drag was a try of its own, and one undo went back one step."""
    clock = [100.0]
    monkeypatch.setattr("inspector.views.tune.time.monotonic", lambda: clock[0])
    at = a_page("tune", trace=WEIGHTED)
    for budget in (500, 400, 300):
        at.slider(key="budget").set_value(budget).run()
    at.slider(key="k").set_value(3).run()
    clock[0] += 10
    at.slider(key="k").set_value(2).run()
    assert column(at, 0, "changed") == ["budget: 300, k: 2", "budget: 300, k: 3", "budget: 300"]
    for told, budget, k in (("3 → 2", 300, 3), ("0 → 3", 300, 0), ("→ 300", None, 0)):
        assert told in at.button(key="undo").label
        at.button(key="undo").click().run()
        assert at.slider(key="k").value == k
        assert budget is None or at.slider(key="budget").value == budget
    assert at.button(key="undo").disabled
    written = next(one for one in at.number_input if one.label == "Budget, tokens")
    written.set_value(450).run()
    assert at.slider(key="budget").value == 450


def test_the_passages_of_two_answers_stand_beside_each_other_in_full_those_not_alike_first():
    opened = {"upload-1": a_context(budget=2000), "upload-2": a_context(budget=150)}
    at = a_page("compare", opened=opened, compare=list(opened))
    assert "3 of 3 passages not alike." in said(at) or "2 of 3 passages not alike." in said(at)
    whole = [html for html in htmls(at) if "ce-whole" in html]
    assert any("not in this text" in html for html in whole)
    assert not any("equal characters" in html for html in whole)


def test_only_what_changed_is_shown_where_that_is_wanted_and_the_chosen_one_is_told_of_twice():
    at = a_page("tune", trace=WEIGHTED, budget="300")
    everyone = len(cells(at, "aligned", "text"))
    at.toggle(key="onlydiff").set_value(True).run()
    assert 0 < len(cells(at, "aligned", "text")) < everyone
    (told,) = [html for html in htmls(at) if "ce-sides" in html]
    assert "<strong>A</strong>" in told
    assert "<strong>B</strong>" in told


def test_a_budget_is_turned_by_steps_up_to_four_times_the_answers_and_any_is_written():
    """It went to where everything would fit: 180 tokens a pixel."""
    opened = {"upload-1": a_context(budget=1000)}
    at = a_page("tune", trace="upload-1", opened=opened, budget="1313")
    slider = at.slider(key="budget")
    assert (slider.max, slider.step, slider.value) == (4000, 20, 1313)
    for tokens in (9001, 1002):
        next(one for one in at.number_input if one.label == "Budget, tokens").set_value(tokens).run()
        assert at.slider(key="budget").value == tokens
        assert f"of {tokens:,} tokens" in said(at)


def test_what_a_budget_does_to_the_evidence_is_told_beside_the_order(tmp_path, monkeypatch):
    """Of a passage graded 3 that came in nothing was told: nDCG is of the order alone."""
    context = a_context(budget=40, truncator="none")
    with Journal(tmp_path / "j.db") as journal:
        trace = journal.record(context)
        journal.judge(context.request.query, ("memories", "d"), 3)
    at = a_page("tune", trace=trace, journal=tmp_path / "j.db", monkeypatch=monkeypatch, budget="2000")
    assert "evidence in the text 0 % → 100 %" in said(at)
    assert "nDCG@10, of the order alone, " in said(at)


def test_settings_come_from_the_address_and_nonsense_in_it_is_dropped():
    given = {"budget": "300", "w_relevance": "7", "order": "evil", "w_nope": "1", "w_importance": "0.3"}
    at = a_page("tune", trace=WEIGHTED, **given)
    assert at.slider(key="budget").value == 300
    assert at.slider(key="w_relevance").value == 0.5
    assert at.selectbox(key="order").value == "relevance"
    assert at.slider(key="w_importance").value == 0.3
    assert a_page("tune", trace=WEIGHTED, budget="99000").slider(key="budget").value == 99_000


def test_all_weights_at_zero_are_a_card_not_a_crash():
    names = ("w_relevance", "w_recency_half_life", "w_confidence", "w_keyword")
    at = a_page("tune", trace=WEIGHTED, **dict.fromkeys(names, "0"))
    assert not at.exception
    assert "at least one must be above 0" in said(at)


@pytest.fixture
def recorded(tmp_path):
    """Return a journal and the ids of three answers in it, of which the first two are to one question."""
    with Journal(tmp_path / "j.db") as journal:
        contexts = a_context(), a_context(budget=60), a_context(query="Who waters the plants?")
        return tmp_path / "j.db", [journal.record(context) for context in contexts]


def compare(at):
    """Go on to Compare by its link and return what is compared there."""
    go_on(at, "compare")
    assert not at.exception
    return at.multiselect(key="compare").value


def test_a_knob_that_another_page_did_not_draw_stands_as_it_was_turned():
    """A signal from the folded ones fell back to its first value."""
    at = a_page("tune", trace="sample-latest")
    at.session_state["more-signals"] = True
    at.run()
    at.slider(key="w_keyword").set_value(0.5).run()
    go_on(at, "explain")
    assert go_on(at, "tune").slider(key="w_keyword").value == 0.5


def test_a_signal_that_is_turned_stays_where_it_is_until_the_others_are_folded():
    """It was moved from under the pointer at the first step, and took the keys with it."""
    at = a_page("tune", trace="sample-latest")
    used = [one.key for one in at.slider if one.key.startswith("w_")]
    at.session_state["more-signals"] = True
    at.run()
    order = [one.key for one in at.slider]
    for value in (0.1, 0.2):
        at.slider(key="w_keyword").set_value(value).run()
        assert [one.key for one in at.slider] == order
    at.session_state["more-signals"] = False
    assert [one.key for one in at.run().slider if one.key.startswith("w_")] == [*used, "w_keyword"]


def test_what_was_added_on_the_page_stays(recorded, monkeypatch):
    path, names = recorded
    at = a_page("explain", journal=path, monkeypatch=monkeypatch, trace=names[0])
    chosen = [*compare(at), "sample-latest"]
    at.multiselect(key="compare").set_value(chosen).run()
    for page in ("tune", "explain"):
        go_on(at, page)
        assert compare(at) == chosen


def test_elsewhere_what_is_ticked_is_compared_else_what_is_near_to_the_trace(recorded, monkeypatch):
    path, names = recorded
    at = a_page("traces", journal=path, monkeypatch=monkeypatch)
    at.session_state["ticked"] = [names[2], names[0]]
    assert compare(at.run()) == [names[0], names[2]]
    at = a_page("traces", journal=path, monkeypatch=monkeypatch)
    at.session_state["ticked"] = [names[2], names[0]]
    next(b for b in at.run().button if b.key == "compare-ticked").click().run()
    assert at.multiselect(key="compare").value == [names[0], names[2]]
    at = a_page("explain", journal=path, monkeypatch=monkeypatch, trace=names[0])
    assert compare(at) == names[:2]
    at = a_page("explain", journal=path, monkeypatch=monkeypatch, trace="sample-latest")
    at.query_params["trace"] = names[2]
    assert compare(at.run()) == [names[2], "sample-latest"]


def test_answers_are_compared_by_their_address_and_nonsense_is_a_card(recorded, monkeypatch):
    path, names = recorded
    at = a_page("compare", journal=path, monkeypatch=monkeypatch, compare=names[:2])
    contexts = [open_trace(name, Settings(journal=path)) for name in names[:2]]
    assert column(at, 0, "Tokens") == [f"{one.tokens:,} of {one.budget:,}" for one in contexts]
    assert column(at, 0, "Changed from A") == ["", "tokens allowed 2,000 → 60"]
    columns = {one["name"] for one in grids(at)["aligned"]["columns"]}
    assert {"A fate", "A place", "A in text", "A score", "B fate", "B in text"} <= columns
    assert "Left: " in next(html for html in htmls(at) if "From A to B: " in html)
    at = a_page("compare", journal=path, monkeypatch=monkeypatch, compare=[names[0], "evil"])
    assert not at.exception
    assert "This did not work" in said(at)


def test_an_answer_of_any_age_is_told_by_its_time_and_question(recorded, monkeypatch):
    """Beyond the latest 300 it was called `776a99df9221`."""
    path, names = recorded
    monkeypatch.setattr("inspector.views.compare.LATEST", 1)
    at = a_page("compare", journal=path, monkeypatch=monkeypatch, compare=names[:2])
    for told, name in zip(column(at, 0, "What"), names, strict=False):
        assert re.fullmatch(rf"\d+ \w+ \d{{4}}, [\d:]+ · [\d,]+ tokens · {name[:8]}", told)
    options = at.multiselect(key="compare").options
    assert sum(one.endswith(" · When do invoices go out?") for one in options) >= len(names[:2])


def test_two_questions_of_one_text_in_one_minute_are_compared_as_the_address_names_them(
    tmp_path, monkeypatch
):
    """Streamlit takes the first of equal labels: Compare showed another trace than the address named."""
    at_once = datetime(2026, 3, 1, 9, 0, 5, tzinfo=UTC)
    with Journal(tmp_path / "j.db") as journal:
        names = [journal.record(a_context(budget=b), at=at_once) for b in (900, 800, 700, 600)]
    at = a_page("compare", journal=tmp_path / "j.db", monkeypatch=monkeypatch, compare=names[2:])
    assert [told.rpartition(" of ")[2] for told in column(at, 0, "Tokens")] == ["700", "600"]
    options = at.multiselect(key="compare").options
    assert len(set(options)) == len(options)


def test_the_chosen_candidate_is_told_of_in_every_context():
    at = a_page("compare", compare=[WEIGHTED, "sample-duplicates"])
    (told,) = [html for html in htmls(at) if "ce-sides" in html]
    assert sum(told.count(said) for said in ("In, ", "Dropped: ", "No source offered it.")) == 2
    at = a_page("compare", compare=["upload-1", WEIGHTED], side="ghost", opened={"upload-1": a_context()})
    assert "No source offered it." in said(at)
