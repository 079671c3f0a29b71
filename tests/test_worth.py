"""What is worth reading, and what a context leaves out though there is room."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import ContextEngine
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.pipeline.telling import tells_alone
from langchain_context_engine.text.sentences import unit_spans
from langchain_context_engine.text.words import query_terms
from langchain_context_engine.text.worth import LEAST_WORDS, is_ornament, telling_words
from tests.builders import ListSource, a_candidate
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


@pytest.mark.parametrize(
    "piece",
    [
        "Signed-off-by: Ana <ana@a.org>",
        "Co-authored-by: Bo <b@b.org>",
        "- dependency-name: actions/setup-python",
        "  dependency-type: direct:production",
        "[![build](https://a.b/c.svg)](https://a.b)",
        "(local-registries)=",
        "<!-- begin benefits -->",
    ],
)
def test_trailers_badges_and_labels_are_ornaments_and_tell_nothing(piece):
    assert is_ornament(piece)
    assert telling_words(piece) == 0


@pytest.mark.parametrize(
    "piece", ["For example:", "(Pull #608)", "warning", "* lint", "True", "[12] 2024-05-01"]
)
def test_a_crumb_tells_too_little(piece):
    assert telling_words(piece) < LEAST_WORDS


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


@pytest.mark.parametrize("text", ["👍", "…", "---"])
def test_what_has_no_word_is_not(text):
    context = engine_of([a_candidate(id="x", text=text, kind="memory")]).build("which one?")
    assert reasons(context) == {"x": Reason.NOT_WORTH_READING}


def test_a_short_part_that_holds_half_of_the_question_is_its_answer():
    context = engine_of([a_part("p", "Python 3.8 removed")]).build("was Python 3.8 removed?")
    assert [p.key[1] for p in context.passages] == ["p"]


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


def test_a_lone_crumb_of_a_long_text_is_no_extract_but_its_neighbourhood_may_be():
    text = REPORT + "Why? " + REPORT.replace("harbour", "river")
    context = engine_of([a_candidate(text=text)], tokenizer="auto").build("why?", budget=40)
    assert all(telling_words(p.text) >= LEAST_WORDS for p in context.passages)


def test_a_list_of_single_words_that_does_not_fit_is_cut_rather_than_lost():
    text = "\n".join(f"- fruit{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(120))
    context = engine_of([a_candidate(text=text)], tokenizer="auto").build("fruit", budget=60)
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
    ("query", "is_shown"),
    [
        ("What was the value of S & P 500 in December 2006?", True),
        ("What was the value of ZZ in December 2006?", False),
    ],
)
def test_a_row_of_figures_is_read_where_the_question_speaks_of_it(query, is_shown):
    row = "S & P 500 | 100.00 | 77.90 | 100.24 | 111.15"
    part = a_candidate(
        text=f"{row}\n", metadata={"path": "report.md", "headings": "Returns"}, neighbours=("beside",)
    )
    asked = frozenset(query_terms(query))
    assert telling_words(row) < LEAST_WORDS
    assert tells_alone(part, row, asked) is is_shown
