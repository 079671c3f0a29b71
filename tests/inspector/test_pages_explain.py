"""The Explain page: one line of facts, fates, sections, and the candidate that is looked at."""

from __future__ import annotations

import re

import pytest

from inspector.opening import Settings, open_trace
from langchain_context_engine import Journal
from langchain_context_engine.models.types import Reason
from langchain_context_engine.trace.explain import explain, final_decisions
from tests.builders import ListSource, a_candidate
from tests.inspector.builders import a_context, a_page, cells, grids, htmls, said
from tests.inspector.task_builders import key_with, stands


def test_the_explanation_tells_figures_fates_and_what_is_not_default():
    context = open_trace("sample-weighted", Settings())
    at = a_page("explain", trace="sample-weighted")
    facts = next(html for html in htmls(at) if "ce-facts" in html)
    cut = sum(passage.is_truncated for passage in context.passages)
    for told in (
        f"{context.tokens} / {context.budget} tokens",
        f"{len(context.passages)} of {len(context.candidates)} candidates in, {cut} cut",
        "1 duplicate",
        " ms",
        "sample-weighted",
    ):
        assert told in facts
    for own in ("weights: relevance 0.5", "item_cap: 0.5", "scope: workspace_id harbor", "reserve: 60"):
        assert own in facts
    assert all(fate.startswith(("in", "out")) for fate in cells(at, "ranked", "fate"))
    assert any("Nothing below this line" in row.get("line", "") for row in grids(at)["ranked"]["rows"])


def test_the_table_and_the_panel_speak_of_one_candidate_that_is_shown():
    at = a_page("explain", trace="sample-weighted", shown="Left out")
    ranked = grids(at)["ranked"]
    assert ranked["chosen"] == ranked["rows"][0]["id"]
    assert "out ·" in next(html for html in htmls(at) if "ce-fate" in html)
    chosen = ranked["rows"][3]["id"]
    at.session_state["candidate"] = chosen
    at.run()
    assert grids(at)["ranked"]["chosen"] == chosen


def test_nothing_matching_shows_nothing_and_what_narrowed_the_question():
    at = a_page("explain", trace="sample-weighted", find="zzz-no-such-thing")
    assert "no source offered it" in said(at)
    assert "ranked" not in grids(at)
    assert not any("ce-fate" in html for html in htmls(at))
    assert "workspace_id" in said(at)


def test_what_would_admit_a_candidate_is_there_without_being_asked_and_opens_in_tune():
    context = a_context(budget=60, truncator="none")
    at = a_page("explain", trace="upload-1", opened={"upload-1": context}, candidate="memories/d")
    assert "no room" in said(at)
    assert "In with budget from 60 to" in said(at)
    next(b for b in at.button if b.label == "Try in Tune").click().run()
    assert not at.exception
    assert at.slider(key="budget").value > 60


def test_a_duplicate_stands_beside_what_it_repeats_with_both_places():
    places = [
        {"path": "a.md", "start_line": 1, "end_line": 2},
        {"path": "b.md", "start_line": 7, "end_line": 9},
    ]
    texts = ("Invoices go out on the 1st of the month.", "Invoices go out on the 1st of each month.")
    found = [
        a_candidate(id=str(i), text=text, metadata=place, relevance=0.9 - i / 10)
        for i, (text, place) in enumerate(zip(texts, places, strict=True))
    ]
    context = a_context(found)
    assert sum(d.is_duplicate for d in final_decisions(context).values()) == 1
    at = a_page("explain", trace="upload-1", opened={"upload-1": context}, candidate="memories/1")
    pair = next(html for html in htmls(at) if "ce-pair" in html)
    assert "a.md:1-2" in pair
    assert "b.md:7-9" in pair
    assert "<u class=ce-del>the</u>" in pair
    assert "<u class=ce-ins>each</u>" in pair


def test_all_decisions_stand_as_the_command_line_prints_them():
    context = open_trace("sample-weighted", Settings())
    key = context.passages[0].key
    at = a_page("explain", trace="sample-weighted", candidate="/".join(key))
    at.session_state["decisions"] = True
    at.run()
    assert explain(context, key) in {code.value for code in at.code}


def test_a_cut_text_says_how_much_of_it_stands():
    context = open_trace("sample-weighted", Settings())
    at = a_page("explain", trace="sample-weighted", candidate="/".join(key_with(context, Reason.EXTRACTED)))
    assert stands(context, Reason.EXTRACTED) in said(at)
    assert any("<del>" in html for html in htmls(at))


def test_every_candidate_shows_where_it_is_from_and_never_its_hash():
    at = a_page("explain", trace="sample-duplicates")
    where = cells(at, "ranked", "where")
    assert "docs/billing.md › Invoices" in where
    assert all(where)
    ids = {row["id"].partition("/")[2] for row in grids(at)["ranked"]["rows"] if "id" in row}
    assert not ids & set(where)


@pytest.mark.parametrize("section", ["Budget", "Duplicates", "Text", "Export"])
def test_every_section_of_the_explanation_opens(section):
    at = a_page("explain", trace="sample-duplicates", section=section)
    assert not at.exception
    assert "This did not work" not in said(at)


def test_copies_of_one_text_are_drawn_once_with_the_places_of_all(monkeypatch):
    text = "The plants are watered on Friday."
    notes = [a_candidate(id=f"n{i}", text=text, metadata={"title": f"Note {i}"}) for i in range(4)]
    opened = {"upload-1": a_context(notes, budget=2000)}
    at = a_page("explain", trace="upload-1", opened=opened, section="Duplicates", monkeypatch=monkeypatch)
    (drawn,) = (html for html in htmls(at) if "Repeated by" in html)
    assert "Repeated by 3:" in drawn
    assert [drawn.count(f"Note {i}") for i in range(4)] == [1, 1, 1, 1]


def test_the_budget_has_a_bar_a_source_with_a_segment_a_passage():
    context = open_trace("sample-weighted", Settings())
    at = a_page("explain", trace="sample-weighted", section="Budget")
    table = next(html for html in htmls(at) if "ce-groups" in html)
    assert table.count('tokens" style=') == len(context.passages)
    assert "left over" in said(at)


def test_thirty_sources_have_thirty_bars_and_a_key_that_says_how_many_it_leaves_out():
    sources = [
        ListSource([a_candidate(text=f"{chr(97 + i % 26) * 9} {7919 * i}", relevance=0.5)], name=f"source{i}")
        for i in range(30)
    ]
    context = a_context([], sources=sources, budget=5000)
    at = a_page("explain", trace="upload-1", opened={"upload-1": context}, section="Budget")
    bar, table = (next(html for html in htmls(at) if name in html) for name in ("ce-keys", "ce-groups"))
    assert table.count("<tr>") == 31
    assert "23 other sources" in bar


def test_a_source_has_one_colour_in_the_bar_and_in_the_table():
    """Of sources that took as many tokens the bar and the table had other orders, and so other colours."""
    sources = [
        ListSource([a_candidate(text=f"{word} {number}", relevance=0.9 - number / 10)], name=word * 3)
        for number, word in enumerate(("oak", "fir", "elm", "ash"))
    ]
    context = a_context([], sources=sources, budget=5000)
    at = a_page("explain", trace="upload-1", opened={"upload-1": context}, section="Budget")
    bar, table = (next(html for html in htmls(at) if name in html) for name in ("ce-keys", "ce-groups"))
    in_bar = dict(re.findall(r'<span><b style="background:(#\w+)"></b>(\w+) ', bar))
    in_table = {colour: name for name, colour in re.findall(r"<tr><td>(\w+)</td>.*?background:(#\w+)", table)}
    assert len(in_table) == 4
    assert in_table.items() <= in_bar.items()


def test_two_that_are_known_by_the_same_name_are_told_apart_by_their_ids_where_one_repeats_the_other():
    context = a_context(budget=2000)
    duplicate = key_with(context, Reason.DUPLICATE)
    at = a_page("explain", trace="upload-1", opened={"upload-1": context}, candidate="/".join(duplicate))
    pair = next(html for html in htmls(at) if "ce-pair" in html)
    assert "memories · a" in pair
    assert "memories · b" in pair


def test_of_many_settings_that_are_not_default_some_are_folded_and_counted():
    """A design's fourteen settings pushed the table below a fifth of the window."""
    few, many = {"k": 3, "dedupe_threshold": 80}, {
        "k": 3, "dedupe_threshold": 80, "selection": "score", "empty_section": "nothing",
        "min_score": 0.01, "closing": "End.", "truncator": "none", "template": "chat", "weights": {"relevance": 1, "recency": 1},
    }  # fmt: skip
    heads = []
    for settings in (few, many):
        context = a_context(**settings)
        at = a_page("explain", trace="upload-1", opened={"upload-1": context})
        heads.append(next(html for html in htmls(at) if "ce-facts" in html))
    assert "<details>" not in heads[0]
    shown, folded = heads[1].split("<details>")
    assert shown.count("ce-own") == 6
    assert f"{folded.count('ce-own')} other settings not default" in folded


def test_a_citation_leads_to_its_candidate():
    at = a_page("explain", trace="sample-duplicates", section="Text")
    context = open_trace("sample-duplicates", Settings())
    button = next(b for b in at.button if b.key.startswith("cite-1-"))
    assert button.label == context.passages[1].citation.replace("[", "\\[").replace("]", "\\]")
    button.click().run()
    assert at.session_state["section"] == "Candidates"
    assert at.session_state["candidate"] == "/".join(context.passages[1].key)


def test_a_models_answer_stands_below_the_text_with_what_it_cites_and_never_used(tmp_path, monkeypatch):
    """B23."""
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        name = journal.record(a_context())
        answer = journal.record_answer(name, "On the first [1].")
    at = a_page("explain", trace=name, journal=path, section="Text", monkeypatch=monkeypatch)
    assert not at.exception
    assert "On the first [1]." in said(at)
    assert "It cites [1]; it was given and never used" in said(at)
    assert answer.unused
