"""What Compare begins with: from Tune the last try, from Traces what is ticked, from elsewhere what is near."""

from __future__ import annotations

import pytest

from langchain_context_engine import Journal
from tests.inspector.builders import a_context, a_page, cells, grids, htmls, said

WEIGHTED = "sample-weighted"


@pytest.fixture
def recorded(tmp_path):
    """Return a journal and the ids of three answers in it, of which the first two are to one question."""
    with Journal(tmp_path / "j.db") as journal:
        contexts = a_context(), a_context(budget=60), a_context(query="Who waters the plants?")
        return tmp_path / "j.db", [journal.record(context) for context in contexts]


def compare(at):
    """Go on to Compare by its link, which clears the address, and return what is compared there."""
    at.query_params.clear()
    at.switch_page("views/compare.py").run()
    assert not at.exception
    return at.multiselect(key="compare").value


def test_from_tune_the_last_try_stands_beside_what_was_recorded():
    at = a_page("tune", trace=WEIGHTED)
    at.slider(key="budget").set_value(400).run()
    assert compare(at) == [WEIGHTED, f"try-{WEIGHTED}~budget=400"]
    assert cells(at, "letters", "changed") == ["", "tokens allowed 700 → 400"]
    told = next(text.value for text in at.text if text.value.startswith("From A to B: "))
    assert "Left: " in told
    at.switch_page("views/tune.py").run()
    at.slider(key="budget").set_value(300).run()
    assert compare(at) == [WEIGHTED, f"try-{WEIGHTED}~budget=300"]


def test_a_turn_that_was_taken_back_leaves_the_last_try_that_changed_something():
    at = a_page("tune", trace=WEIGHTED)
    at.slider(key="budget").set_value(400).run()
    at.button(key="reset").click().run()
    assert compare(at) == [WEIGHTED, f"try-{WEIGHTED}~budget=400"]


def test_a_knob_that_another_page_did_not_draw_stands_as_it_was_turned():
    """A signal from the folded ones fell back to its first value, and so did what was compared with it."""
    at = a_page("tune", trace="sample-latest")
    at.session_state["more-signals"] = True
    at.run()
    at.slider(key="w_keyword").set_value(0.5).run()
    assert compare(at) == ["sample-latest", "try-sample-latest~w_keyword=0.5"]
    at.query_params.clear()
    at.switch_page("views/tune.py").run()
    assert at.slider(key="w_keyword").value == 0.5


def test_what_was_added_on_the_page_stays_where_nothing_new_was_tried():
    at = a_page("tune", trace=WEIGHTED)
    at.slider(key="budget").set_value(400).run()
    chosen = [*compare(at), "sample-latest"]
    at.multiselect(key="compare").set_value(chosen).run()
    for page in ("tune", "explain"):
        at.switch_page(f"views/{page}.py").run()
        assert compare(at) == chosen


def test_from_traces_what_is_ticked_is_compared(recorded, monkeypatch):
    path, names = recorded
    at = a_page("traces", journal=path, monkeypatch=monkeypatch)
    at.session_state["ticked"] = [names[2], names[0]]
    assert compare(at.run()) == [names[2], names[0]]


def test_from_elsewhere_another_answer_to_the_question_is_near_else_what_was_looked_at_before(
    recorded, monkeypatch
):
    path, names = recorded
    at = a_page("explain", journal=path, monkeypatch=monkeypatch, trace=names[0])
    assert compare(at) == names[:2]
    at = a_page("explain", journal=path, monkeypatch=monkeypatch, trace="sample-latest")
    at.query_params["trace"] = names[2]
    assert compare(at.run()) == [names[2], "sample-latest"]


def test_the_chosen_candidate_is_told_of_in_every_context():
    at = a_page("compare", compare=[WEIGHTED, f"try-{WEIGHTED}~budget=400"])
    (told,) = [html for html in htmls(at) if "ce-sides" in html]
    assert "In, " in told
    assert "Dropped: " in told
    last = grids(at)["aligned"]["rows"][-1]["id"]
    at = a_page("compare", compare=["upload-1", WEIGHTED], side="ghost", opened={"upload-1": a_context()})
    assert "No source offered it." in said(at)
    at = a_page("compare", compare=[WEIGHTED, f"try-{WEIGHTED}~budget=400"], side=last)
    assert not at.exception
    (told,) = [html for html in htmls(at) if "ce-sides" in html]
    assert "In, " not in told
