"""The Explain page: figures, fates, sections, and the way from a row to its candidate."""

from __future__ import annotations

import pytest

from inspector.opening import Settings, open_trace
from tests.inspector.builders import a_context, a_page, said


def test_the_explanation_tells_figures_fates_and_the_chosen_candidate():
    at = a_page("explain", trace="sample-weighted")
    assert [metric.label for metric in at.metric] == [
        "Tokens",
        "Passages",
        "Candidates",
        "Duplicates",
        "Time",
        "Status",
    ]
    table = at.dataframe[0].value
    assert table["fate"].str[0].str.startswith(("in", "out", "budget")).all()
    assert "budget line" in set(table["fate"].str[0])


def test_next_and_previous_walk_through_the_candidates():
    at = a_page("explain", trace="sample-weighted")
    names = at.selectbox(key="candidate").options
    at.button(key="next").click().run()
    at.button(key="next").click().run()
    assert names.index(_label(at)) == 2
    at.button(key="previous").click().run()
    assert names.index(_label(at)) == 1


def _label(at):
    box = at.selectbox(key="candidate")
    return box.options[box.index]


def test_a_row_of_the_table_leads_to_its_candidate():
    at = a_page("explain", trace="sample-weighted")
    option = at.dataframe[0].value["option"][3]
    at.session_state["ranked"] = {"selection": {"rows": [3], "columns": [], "cells": []}}
    at.session_state["candidate"] = option
    at.run()
    assert at.session_state["candidate"] == option


def test_what_was_never_offered_is_told_apart_from_what_was_left_out():
    at = a_page("explain", trace="sample-weighted", find="zzz-no-such-thing")
    assert "no source offered it" in said(at)
    assert "scope" in set(at.dataframe[0].value["field"])


def test_what_would_admit_a_candidate_is_found_and_opens_in_tune():
    context = a_context(budget=60, truncator="none")
    at = a_page("explain", trace="upload-1", opened={"upload-1": context}, candidate="memories/d")
    assert "no room" in said(at)
    next(b for b in at.button if b.label.startswith("Find the smallest")).click().run()
    assert "budget from 60 to" in said(at)
    assert any(b.label == "See it in Tune" for b in at.button)


@pytest.mark.parametrize("section", ["Budget", "Duplicates", "Text", "Export"])
def test_every_section_of_the_explanation_opens(section):
    at = a_page("explain", trace="sample-duplicates", section=section)
    assert not at.exception
    assert "This did not work" not in said(at)


def test_a_citation_leads_to_its_candidate():
    at = a_page("explain", trace="sample-duplicates", section="Text")
    context = open_trace("sample-duplicates", Settings())
    assert at.button(key="cite-1").label == context.passages[1].citation.replace("[", "\\[").replace(
        "]", "\\]"
    )
    at.button(key="cite-1").click().run()
    assert at.session_state["section"] == "Candidates"
    assert at.session_state["candidate"] == "/".join(context.passages[1].key)
