"""The Explain page: one line of facts, fates, sections, and the candidate that is looked at."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest

from inspector.opening import Settings, open_trace
from inspector.views.compare import moves_html
from inspector.wording import option_of
from langchain_context_engine import ContextEngine, Journal, diff, replay
from langchain_context_engine.models.types import Reason
from langchain_context_engine.trace.explain import explain
from langchain_context_engine.trace.what_if import Changes
from tests.builders import FailingSource, ListSource, SlowSource, a_candidate
from tests.inspector.builders import a_context, a_page, cells, grids, htmls, rows_of, said
from tests.inspector.task_builders import key_with, stands

WEIGHTED = open_trace("sample-weighted", Settings())


def html_with(at, name):
    return next(html for html in htmls(at) if name in html)


def test_the_explanation_tells_how_it_ended_figures_fates_and_what_is_not_default():
    at = a_page("explain", trace="sample-weighted")
    facts = html_with(at, "ce-facts")
    cut = sum(passage.is_truncated for passage in WEIGHTED.passages)
    for told in (
        f"<strong>{WEIGHTED.status}</strong>, confidence {WEIGHTED.confidence:.2f}",
        f"{WEIGHTED.tokens} / {WEIGHTED.budget} tokens",
        f"{len(WEIGHTED.passages)} of {len(WEIGHTED.candidates)} candidates in, {cut} in part",
        "1 duplicate",
        " ms",
        "sample-weighted",
        "weights: relevance 0.5",
        "scope: workspace_id harbor",
    ):
        assert told in facts
    assert all(fate.startswith(("in", "out")) for fate in cells(at, "ranked", "fate"))
    assert any("Nothing below this line" in row.get("line", "") for row in grids(at)["ranked"]["rows"])


def test_of_many_settings_that_are_not_default_some_are_folded_and_counted():
    """A design's fourteen settings pushed the table below a fifth of the window."""
    settings = {
        "k": 3, "dedupe_threshold": 80, "selection": "score", "empty_section": "nothing", "min_score": 0.01,
        "closing": "End.", "truncator": "none", "template": "chat", "weights": {"relevance": 1, "recency": 1},
    }  # fmt: skip
    at = a_page("explain", trace="upload-1", opened={"upload-1": a_context(**settings)})
    shown, folded = html_with(at, "ce-facts").split("<details>")
    assert shown.count("ce-own") == 6
    assert f"and {folded.count('ce-own')} other settings" in folded


def test_the_table_and_the_panel_speak_of_one_candidate_that_is_shown():
    opened = {"upload-1": a_context(budget=60, truncator="none")}
    at = a_page("explain", trace="upload-1", opened=opened, shown="Left out")
    ranked = grids(at)["ranked"]
    assert ranked["chosen"] == ranked["rows"][0]["id"]
    assert "out ·" in html_with(at, "ce-fate")
    at.session_state["candidate"] = chosen = ranked["rows"][1]["id"]
    assert grids(at.run())["ranked"]["chosen"] == chosen


def test_nothing_matching_shows_nothing_and_what_narrowed_the_question():
    at = a_page("explain", trace="sample-weighted", find="zzz-no-such-thing")
    assert "no source offered it" in said(at)
    assert "ranked" not in grids(at)
    assert "workspace_id" in said(at)


def test_a_source_that_is_named_says_that_it_was_late_failed_or_offered_nothing():
    """Of one that was waited for until the deadline it was said that a limit narrowed the question."""
    late = [
        ListSource([a_candidate(id="n-41", text="Le café est fermé, says the disk.")]),
        SlowSource(name="slow-wiki", seconds=1),
        FailingSource(OSError("gone"), name="bad-disk"),
        ListSource([], name="nobody"),
    ]
    context = ContextEngine(late, timeout_seconds=0.3).build("which?")
    waited = f"{context.source_timings['slow-wiki']:,.0f}"
    for find, told in (
        ("slow-WIKI", f"no answer within the deadline (timeout_seconds) (waited {waited} of 300 ms)."),
        ("bad", "Source 'bad-disk' failed: "),
        ("disk", "Source 'bad-disk' failed: "),
        ("nobody", "Source 'nobody' answered with 0 candidates (waited "),
    ):
        at = a_page("explain", trace="upload-1", opened={"upload-1": context}, find=find)
        assert told in said(at)
        assert "narrowed" not in said(at)


def test_what_would_admit_a_candidate_is_there_without_being_asked_and_opens_in_tune():
    context = a_context(budget=60, truncator="none")
    at = a_page("explain", trace="upload-1", opened={"upload-1": context}, candidate="memories/d")
    assert "no room" in said(at)
    assert re.search(r"budget from 60 to [\d,]+ .*· \d enter", said(at))
    next(b for b in at.button if b.label == "Try in Tune").click().run()
    assert not at.exception
    assert at.slider(key="budget").value > 60
    assert grids(at)["aligned"]["chosen"] == "memories/d"
    budget = at.query_params["budget"]
    other = a_page("tune", trace="upload-1", opened={"upload-1": context}, budget=budget)
    assert html_with(other, "ce-figures") == html_with(at, "ce-figures")


@pytest.mark.parametrize("name", ["c", "d"])
def test_a_budget_that_admits_a_candidate_is_said_with_who_enters_and_leaves_then(name):
    context = a_context(budget=60, truncator="none")
    at = a_page("explain", trace="upload-1", opened={"upload-1": context}, candidate=f"memories/{name}")
    told = unescape(re.sub("<[^>]*>", "", html_with(at, "ce-change")))
    budget = int(re.match(r"budget from 60 to ([\d,]+)", told)[1].replace(",", ""))
    moved = diff(context, replay(context, budget=budget))
    assert ("memories", name) in moved.entered
    others = tuple(key for key in moved.entered if key != ("memories", name))
    names = {row.key: row.label for row in rows_of(context)}
    left = f" · {len(moved.left)} leave" if moved.left else ""
    beside = replace(moved, entered=others, recut=(), moved={})
    both = moves_html(beside, rows_of(context), most=1) if others or moved.left else ""
    both = unescape(re.sub("<[^>]*>", "", both))
    passage = next(one for one in replay(context, budget=budget).passages if one.key == ("memories", name))
    assert f": in, whole, {passage.tokens} tokens · {len(moved.entered)} enter{left}{both}" in told
    # Who leaves was named by the sentence and after it.
    assert all(told.count(names[key]) <= 1 for key in moved.left)
    is_smallest = all(("memories", name) not in keys_of(replay(context, budget=b)) for b in range(61, budget))
    assert "(no smaller one does" not in told or is_smallest


def test_what_time_did_not_suffice_for_is_named_and_searched_on(monkeypatch):
    """It was said that no change was found, though the budget was never tried to the end."""
    given = []

    def without_time(context, key, *, tries, seconds):
        given.append((tries, seconds))
        return Changes((), ("budget", "weights"))

    monkeypatch.setattr("inspector.views.explain.what_would_it_take", without_time)
    context = a_context(budget=60, truncator="none")
    at = a_page("explain", trace="upload-1", opened={"upload-1": context}, candidate="memories/d")
    assert "Not tried to the end: budget, weights." in said(at)
    assert "No single change" not in said(at)
    at.button(key="search-on").click().run()
    assert given == [(60, 10), (240, 40)]


def keys_of(context):
    return [passage.key for passage in context.passages]


def test_a_duplicate_stands_beside_what_it_repeats_with_both_places_and_leads_to_it():
    texts = ("Invoices go out on the 1st of the month.", "Invoices go out on the 1st of each month.")
    found = [
        a_candidate(
            id=str(i), text=text, relevance=0.9 - i / 10,
            metadata={"path": f"{i}.md", "start_line": 1, "end_line": 2},
        )
        for i, text in enumerate(texts)
    ]  # fmt: skip
    opened = {"upload-1": a_context(found)}
    at = a_page("explain", trace="upload-1", opened=opened, candidate="memories/1")
    pair = html_with(at, "ce-pair")
    for told in (
        "0.md:1-2 · rank 1",
        "1.md:1-2",
        "<u class=ce-del>the</u>",
        "<u class=ce-ins>each</u>",
    ):
        assert told in pair
    next(b for b in at.button if b.label == "Go to winner").click().run()
    assert grids(at)["ranked"]["chosen"] == "memories/0"
    at = a_page("explain", trace="upload-1", opened=opened, shown="Duplicates")
    assert [row["id"] for row in grids(at)["ranked"]["rows"]] == ["memories/0", "memories/1"]
    assert grids(at)["ranked"]["chosen"] == "memories/1"


def test_equal_copies_are_named_once_beneath_what_stands_for_them():
    """Five copies of one text were five times the same sentence."""
    found = [a_candidate(id=str(i), text="The same of all.", relevance=0.9 - i / 10) for i in range(5)]
    opened = {"upload-1": a_context([*found, a_candidate(id="x", text="Another thing.", relevance=0.1)])}
    at = a_page("explain", trace="upload-1", opened=opened)
    rows = [row for row in grids(at)["ranked"]["rows"] if "id" in row]
    assert [row["id"] for row in rows] == [f"memories/{name}" for name in (*"01234", "x")]
    assert rows[0]["cells"]["text"][0] == ["stands for 4 ", True]


def test_all_decisions_stand_as_the_command_line_prints_them():
    key = WEIGHTED.passages[0].key
    at = a_page("explain", trace="sample-weighted", candidate="/".join(key))
    at.session_state["decisions"] = True
    assert explain(WEIGHTED, key) in {code.value for code in at.run().code}


def test_a_cut_text_says_how_much_of_it_stands():
    at = a_page("explain", trace="sample-weighted", candidate="/".join(key_with(WEIGHTED, Reason.EXTRACTED)))
    assert stands(WEIGHTED, Reason.EXTRACTED) in said(at)
    assert any("<del>" in html for html in htmls(at))
    # And what would keep it whole is proved, and can be tried.
    assert "It would stand whole with one of these:" in said(at)
    next(b for b in at.button if b.label == "Try in Tune").click().run()
    chosen = grids(at)["aligned"]["chosen"]
    row = next(row for row in grids(at)["aligned"]["rows"] if row.get("id") == chosen)
    assert (row["cells"]["A fate"], row["cells"]["B fate"]) == ("in · parts", "in · whole")


@pytest.mark.parametrize("section", ["Candidates", "Budget", "Text"])
def test_every_section_of_the_explanation_opens_and_what_can_be_saved_keeps_its_name(section):
    at = a_page("explain", trace="sample-duplicates", section=section)
    assert "This did not work" not in said(at)
    at.session_state["export"] = True
    before = [button.proto.url for button in at.run().download_button]
    assert [button.proto.url for button in at.run().download_button] == before
    assert len(before) == 4


def test_what_is_shown_is_what_is_taken_away():
    context = a_context(budget=60, truncator="none")
    given = {"shown": "Left out", "find": "office"}
    at = a_page("explain", trace="upload-1", opened={"upload-1": context}, **given)
    at.session_state["export"] = True
    assert "The 1 candidates shown" in [button.label for button in at.run().download_button]
    at.text_input(key="find").set_value("").run()
    assert "The 3 candidates shown" in [button.label for button in at.download_button]


def test_thirty_sources_have_thirty_bars_with_a_segment_a_passage_each_in_its_sources_colour():
    """Of sources that took as many tokens the bar and the table had other orders, and so other colours."""
    sources = [
        ListSource([a_candidate(text=f"{chr(97 + i % 26) * 9} {7919 * i}", relevance=0.5)], name=f"source{i}")
        for i in range(30)
    ]
    context = a_context([], sources=sources, budget=5000)
    at = a_page("explain", trace="upload-1", opened={"upload-1": context}, section="Budget")
    bar, table = html_with(at, "ce-keys"), html_with(at, "ce-groups")
    assert table.count("data-leads-to") == len(context.passages)
    assert table.count("<tr>") == 31
    assert "23 other sources" in bar
    in_bar = dict(re.findall(r'<span><b style="background:(#\w+)"></b>(source\w+) ', bar))
    in_table = dict(re.findall(r"<tr><td>(\w+)</td>.*?background:(#\w+)", table))
    assert all(in_table[name] == colour for colour, name in in_bar.items() if name in in_table)
    assert "left over" in said(at)


def test_a_row_of_the_budget_and_a_citation_of_the_text_lead_to_their_candidate():
    at = a_page("explain", trace="sample-duplicates", section="Text")
    context = open_trace("sample-duplicates", Settings())
    button = next(b for b in at.button if b.key.startswith("cite-1-"))
    assert button.label == context.passages[1].citation.replace("[", "\\[").replace("]", "\\]")
    button.click().run()
    assert at.session_state["section"] == "Candidates"
    assert at.session_state["candidate"] == "/".join(context.passages[1].key)
    at = a_page("explain", trace="sample-weighted", section="Budget")
    rows = grids(at)["room"]["rows"]
    assert len([row for row in rows if "id" in row]) > len(WEIGHTED.passages)
    out = next(row["id"] for row in rows if "id" in row and row["cells"]["fate"].startswith("out"))
    at.button(key="find-budgets").click().run()
    found = next(row["cells"] for row in grids(at)["room"]["rows"] if row.get("id") == out)
    assert found["left"]
    budget = int(found["from"].removeprefix("≤ ").split(" ")[0].replace(",", ""))
    assert out in map(option_of, keys_of(replay(WEIGHTED, budget=budget)))


def test_a_models_answer_stands_below_the_text_with_what_it_cites_and_never_used(tmp_path, monkeypatch):
    """B23."""
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        name = journal.record(a_context())
        answer = journal.record_answer(name, "On the first [1].")
    at = a_page("explain", trace=name, journal=path, section="Text", monkeypatch=monkeypatch)
    assert "On the first [1]." in said(at)
    assert "It cites [1]; it was given and never used" in said(at)
    assert answer.unused
