"""What a reader looks at and does not read is no passage: badges, logos, folds, lists of links within a page."""

from __future__ import annotations

import pytest

from langchain_context_engine import replay
from langchain_context_engine.models.types import Ranked, Reason
from langchain_context_engine.pipeline.telling import breaks_off, tells_cut
from langchain_context_engine.text.pictured import without_pictures
from langchain_context_engine.text.units import UnitValue, split_units
from langchain_context_engine.text.worth import LEAST_WORDS, is_ornament, telling_words
from tests.builders import a_candidate, count_words
from tests.growth import assert_linear, repeated
from tests.pack_builders import engine_of, reasons

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


@pytest.mark.parametrize(
    "text",
    [
        "It rained on the harbor all <b>day</b> long, and the boats stayed.",
        "![the harbor](a.png) A request passes the router, then the handler that was found for it.",
        f"{BADGE}\n\nA small library to read the tides of a harbor.",
        "- [Usage](https://a.b/usage): how boats are moored, with examples\n- [Prices](#prices) of winter berths",
        "[^1]: The harbor master keeps the list of berths, see below.",
        "| berth | price |\n|---|---|\n| north jetty | 300 |",
        "A list holds `Vec<Boat>` of whoever moored here, in order.",
    ],
)
def test_what_says_something_beside_it_is_read(text):
    assert telling_words(text) >= LEAST_WORDS
    assert not is_ornament(text)


def test_a_list_of_links_is_read_where_the_question_asks_for_what_it_lists():
    context = engine_of([a_page("contents", CONTENTS)], budget=500).build("installing on linux")
    assert reasons(context) == {"contents": Reason.WHOLE}


def test_in_code_tags_are_what_is_read():
    page = (
        '<div class="harbor berth-list"><img src="boats.png" alt="boats"><a href="#prices">prices</a></div>'
    )
    context = engine_of([a_candidate(id="x", text=page, kind="code", metadata={"path": "a.html"})]).build(
        "boats"
    )
    assert reasons(context) == {"x": Reason.WHOLE}


def test_a_trace_of_before_has_its_badges_still():
    """Promise 9."""
    row = f"{BADGE}\n{BADGE.replace('status', 'coverage')}"
    context = engine_of([a_page("row", row)], tokenizer="auto", fusion={"edition": 5}).build("harbor status")
    assert context.text
    assert replay(context).text == context.text
    assert replay(context, fusion={"edition": 6}).text == ""


def test_a_sentence_that_breaks_off_is_no_passage():
    sentence = "Returns a promise that settles when all the tasks of the queue are through and none is left."
    candidate = a_page("x", f"{sentence} It does so once, and then never again. Others may wait for it too.")
    assert breaks_off(candidate, sentence[:70])
    assert not breaks_off(candidate, sentence)
    assert not tells_cut(candidate, sentence[:70], 0.0, 3)
    assert tells_cut(candidate, sentence[:70], 0.0, 0), "of the best of all any beginning is read"
    assert tells_cut(candidate, sentence[:70], 0.0, 3, edition=5)


def test_of_speech_without_stops_the_half_is_read():
    """T2."""
    speech = "and then we went to the harbor and the boats were there and nobody had paid for them so " * 6
    candidate = a_page("x", f"{speech}it was. Nobody said so, but all of them knew it well.")
    assert breaks_off(candidate, speech[:200])
    assert not breaks_off(candidate, speech[:300])


def test_a_merge_that_lists_other_files_says_again_what_the_merged_commit_says():
    """T5."""
    subject = "Add the winter berths to the harbor list"
    body = "Boats that stay over winter had none, so that nobody knew who lay where."
    found = [
        a_candidate(
            id=id_, text=text, kind="commit", relevance=score, metadata={"sha": id_ * 20, "path": ""}, claims={}
        )
        for id_, text, score in [
            ("ab", f"{subject}\n\n{body}\n\nberths.py (+3 −0)\nlist.py (+1 −1)", 0.9),
            ("cd", f"Merge pull request #7 from harbor/winter\n\n{subject}\n\nlist.py (+1 −1)", 0.8),
        ]
    ]  # fmt: skip
    assert reasons(engine_of(found, budget=500).build("winter berths"))["cd"] is Reason.DUPLICATE


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
    before, _ = split_units(commits, query, UnitValue(), count_words, in_rows=False)
    assert len(before) > 20, "promise 9"


@pytest.mark.parametrize(
    "unit", ["<a href='#", "[![a]", "[a](#b) | ", ".. image:: a\n   :alt: b\n", "<summary>", "|a| "]
)
def test_a_million_characters_are_read_in_linear_time(unit):
    assert_linear(without_pictures, repeated(unit), 400_000)
