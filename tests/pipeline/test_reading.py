"""What is worth reading, and what a context leaves out though there is room."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import ContextEngine
from langchain_context_engine.models.types import Ranked, Reason, Verdict
from langchain_context_engine.pipeline.reading import breaks_off, tells_cut
from langchain_context_engine.text.sentences import unit_spans
from langchain_context_engine.text.units import UnitValue, split_units
from langchain_context_engine.text.worth import LEAST_WORDS, telling_words, without_pictures
from tests.builders import ListSource, a_candidate, count_words
from tests.growth import assert_linear, repeated
from tests.pack_builders import engine_of, reasons

REPORT = (
    "The harbour office wrote down what each boat paid for the winter, berth by berth, with the dates. "
    "Nobody had asked for it, yet the council read every page of it and thanked the office twice. "
    "The prices went up in spring, since the new jetty had cost more than the bank had promised. "
)


def units(text):
    return [text[a:b] for a, b in unit_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rained.\nFor example:\n\n- a boat sank", ["It rained.", "For example:\n\n- a boat sank"]),
        ("We left.\n## Removed\n\n* Curio is gone.", ["We left.", "## Removed\n\n* Curio is gone."]),
        ("We left.\n**Benefits**\n\nIt is fast.", ["We left.", "**Benefits**\n\nIt is fast."]),
        ("It drips no more.\n(Pull #608)", ["It drips no more.\n(Pull #608)"]),
        ("(a-label)=\nWe left.\n(b-label)=", ["(a-label)=\nWe left.\n(b-label)="]),
        ("We left.\n::: {note}\nNever do it.\n:::", ["We left.", "::: {note}\nNever do it.\n:::"]),
    ],
)
def test_a_piece_goes_with_what_it_belongs_to(text, expected):
    assert units(f"A title\nand a sentence.\n{text}")[1:] == expected


def a_part(id_, text, relevance=0.9):
    """A record of a file, with another one beside it."""
    return a_candidate(
        id=id_, text=text, relevance=relevance, neighbours=(f"{id_}-next",), metadata={"path": f"{id_}.md"}
    )


def test_a_part_that_says_too_little_is_left_out_with_both_numbers_and_its_room_stays_empty():
    found = [
        a_part("crumb", "## Removed"),
        a_part("told", "The harbour raised the winter berth prices.", 0.5),
    ]
    context = ContextEngine(sources=[ListSource(found)]).build("prices")
    (decision,) = [d for d in context.decisions if d.key[1] == "crumb"]
    assert (decision.reason, decision.details) == (
        Reason.NOT_WORTH_READING,
        {"words": 1, "least": LEAST_WORDS},
    )
    assert "says too little by itself: 1 telling words, 4 are the least" in context.explain("crumb")
    assert [p.key[1] for p in context.passages] == ["told"]


@pytest.mark.parametrize("text", ["JWT it is.", "Bob likes tea", "42", "認証"])
def test_a_short_record_that_stands_for_itself_is_worth_reading(text):
    context = engine_of([a_candidate(text=text, kind="memory")]).build("which one?")
    assert context.text == text


def test_the_message_of_a_commit_is_shown_whole_and_its_files_never_alone():
    """Seen 7: the commit that explains loses no room to single sentences of others."""
    message = "Refuse NUL bytes in module paths\n\n" + REPORT
    files = "\n".join(f"src/part{i}.c (+{i} −1)" for i in range(30))
    commit = a_candidate(
        id="c", kind="commit", text=f"{message.strip()}\n\nSigned-off-by: Ana <a@b.c>\n\n{files}",
        metadata={"sha": "9d223f153c36"},
    )  # fmt: skip
    for budget in (20, 60, 90, 120, 400):
        context = ContextEngine(sources=[ListSource([commit])], truncator="none").build(
            "why refuse NUL bytes?", budget=budget
        )
        for passage in context.passages:
            assert message.strip() in passage.text
    assert context.passages


pieces_of = st.lists(
    st.sampled_from(
        ["For example:", "True", "* lint", "(Pull #608)", "## Removed", "Signed-off-by: A <a@b.c>", "word",
         "The office raised the winter prices of all berths by a tenth.", "Nobody at the council had asked why."]
    ),
    min_size=1, max_size=14,
)  # fmt: skip


@settings(deadline=None, max_examples=80)
@given(st.lists(pieces_of, min_size=1, max_size=5), st.sampled_from([12, 30, 60, 120, 600]))
def test_no_part_in_a_context_says_too_little(records, budget):
    """Promise 11: the budget is used by what is worth reading."""
    found = [a_part(str(i), "\n\n".join(pieces), 0.9 - i / 10) for i, pieces in enumerate(records)]
    context = ContextEngine(sources=[ListSource(found)]).build("prices of berths", budget=budget)
    for passage in context.passages:
        assert telling_words(passage.text) >= LEAST_WORDS
    for decision in context.decisions:
        if decision.reason is Reason.NOT_WORTH_READING:
            assert decision.verdict is Verdict.DROPPED
            assert decision.details["words"] < decision.details["least"]


@pytest.mark.parametrize(
    "again",
    [
        "Merge pull request #1685 from ana/tides\n\nTell the tides a day ahead",
        "Merge branch 'tides' of github.com/ana/harbour\n\nTell the tides a day ahead",
        "Tell the tides a day ahead (#1685)",
    ],
)
def test_a_merge_that_only_repeats_what_it_merged_is_said_once(again):
    """T5: its twin by the words that a person wrote."""
    found = [
        a_candidate(id="merge", text=again, relevance=1.0, kind="commit", metadata={"sha": "aa"}),
        a_candidate(
            id="commit",
            text="Tell the tides a day ahead\n\nharbour/tides.py (+3 −1)",
            relevance=0.9,
            kind="commit",
            metadata={"sha": "bb"},
        ),
    ]
    context = ContextEngine(sources=[ListSource(found)]).build("why are tides told ahead?")
    assert [p.key[1] for p in context.passages] == ["commit"]
    assert reasons(context)["merge"] is Reason.DUPLICATE


BADGE = (
    '<a href="https://ci.org/x/y"><img src="https://img.shields.io/x/y.svg" alt="Build status of today"></a>'
)
CONTENTS = (
    "## Table of contents\n\n- [Getting started here](#getting-started)\n  - [Installing on Linux](#linux)\n"
    "- [Advanced usage notes](#advanced)\n1. [Contributing guidelines](#contributing)"
)
LOOKED_AT = {
    "badge": BADGE,
    "row of badges": f'<p align="center">\n  {BADGE}\n  {BADGE.replace("status", "coverage")}\n</p>',
    "references": "[![Build Status][ci-image]][ci-url] ![License of this][license]\n\n[ci-url]: https://ci.org/x/y",
    "definitions": "[ci-image]: https://img.shields.io/travis/x/y/master.svg\n[docs]: ./guide/first-steps.md",
    "markdown around a tag": '[<img src="https://a.b/slack-chat-green.svg" alt="chat room here">](https://chat.io)',
    "logos": '<table><tr><td><a href="https://acme.com" target="_blank"><img width="222px" alt="Acme Corporation"'
    ' src="https://a.b/acme.png"></a></td></tr></table>',
    "sponsors": '### Sponsors\n\n<a href="https://open.org/x/sponsor/0/website"><img src="https://open.org/0.svg"></a>',
    "fold": "<details>\n<summary><b>Click here to see all of the supported languages</b></summary>",
    "contents": CONTENTS,
    "contents in a row": "[Install it](#install) | [Usage notes](#usage) · [Contributing guide](#contributing)",
    "contents in HTML": '<ul>\n<li><a href="#install">Installation instructions</a></li>\n</ul>',
    "AsciiDoc": "image:https://a.b/license-apache-blue.svg[license badge image here]\n\n* <<usage,Usage notes of it>>",
    "reStructuredText": ".. image:: https://docs.org/x/badge\n   :target: https://x.org\n   :alt: Status of the builds",
    "substitutions": "|build-status| |docs| |coverage|",
}  # fmt: skip


def a_page(id_, text, relevance=0.9):
    return a_candidate(
        id=id_, text=text, kind="doc", relevance=relevance, neighbours=("x",), metadata={"path": "README.md"}
    )


@pytest.mark.parametrize("text", LOOKED_AT.values(), ids=LOOKED_AT)
def test_what_is_looked_at_tells_nothing_and_is_no_passage(text):
    assert telling_words(text) < LEAST_WORDS
    context = engine_of([a_page("looked", text)], budget=500).build("how is the harbor run?")
    assert reasons(context) == {"looked": Reason.NOT_WORTH_READING}


def test_a_sentence_that_breaks_off_is_no_passage():
    sentence = "Returns a promise that settles when all the tasks of the queue are through and none is left."
    candidate = a_page("x", f"{sentence} It does so once, and then never again. Others may wait for it too.")
    assert breaks_off(candidate, sentence[:70])
    assert not breaks_off(candidate, sentence)
    assert not tells_cut(candidate, sentence[:70], 0.0, 3)
    assert tells_cut(candidate, sentence[:70], 0.0, 0), "of the best of all any beginning is read"


def test_the_reasons_of_the_commit_that_answers_best_stay_whole():
    told = " ".join(f"Reason {i} is that nobody of the harbor knew which berth was free." for i in range(24))
    commits = [
        Ranked(
            candidate=a_candidate(id=id_, text=f"Give up {id_}\n\n{told}\n\na.py (+1 −1)", kind="commit"),
            signals={"relevance": score},
            contributions={"relevance": score},
        )
        for id_, score in [("lists", 1.0), ("berths", 0.9)]
    ]
    query = "why were the lists given up?"
    best, other = split_units(commits, query, UnitValue(), count_words)
    assert len(best) == 2, "the message, and the files"
    assert len(other) > 20


@pytest.mark.parametrize(
    "unit", ["<a href='#", "[![a]", "[a](#b) | ", ".. image:: a\n   :alt: b\n", "<summary>", "|a| "]
)
def test_a_million_characters_are_read_in_linear_time(unit):
    assert_linear(without_pictures, repeated(unit), 400_000)
