"""What is worth reading, and what a context leaves out though there is room."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import ContextEngine
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.text.boilerplate import LEAST_WORDS, only_opens, telling_words
from langchain_context_engine.text.sentences import unit_spans
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


def a_part(id_, text, relevance=0.9):
    """A record of a file, with another one beside it."""
    return a_candidate(
        id=id_, text=text, relevance=relevance, neighbours=(f"{id_}-next",), metadata={"path": f"{id_}.md"}
    )


@pytest.mark.parametrize("budget", range(20, 140, 10))
def test_an_underlined_heading_is_no_passage_by_itself(budget):
    heading = "How winter prices of berths are raised permanently"
    text = (
        f"{heading}\n{len(heading) * '+'}\n\n{REPORT}\n\n{heading}\n{len(heading) * '~'}\n\n.. berths:: all"
    )
    context = ContextEngine(sources=[ListSource([a_part("report", text)])]).build(heading, budget=budget)
    assert not [passage.text for passage in context.passages if only_opens(passage.text)]


def test_what_is_cut_from_below_an_underlined_title_does_not_begin_with_the_line_of_marks():
    """Seen: `~~~~` below titles of reStructuredText was read as a fence, and opened again in each extract."""
    text = f"Prices\n~~~~~~\n\n{REPORT}Whoever comes late pays the storm fee in full."
    context = ContextEngine(sources=[ListSource([a_part("berths", text)])]).build("storm fee", budget=30)
    assert context.passages[0].text == "Whoever comes late pays the storm fee in full."
    assert "~" not in context.text


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


@pytest.mark.parametrize(
    "subject",
    [
        "Rename engines/mount-params.md to guide/mount-params.md",
        "typo in a.md",
        "Merge pull request #225 from ana/mount-params-of-engines",
    ],
)
@pytest.mark.parametrize(
    ("query", "is_in"), [("how are engines mounted?", False), ("why was it renamed?", True)]
)
def test_a_commit_that_only_names_files_is_left_out_unless_a_change_is_asked_for(subject, query, is_in):
    """Seen: of 498 passages of 36 contexts 121 were commits, most of them "Rename …", "Merge …", "typo"."""
    files = "guide/a-page-of-many-words-in-its-name.md (+0 −0)"
    commit = a_candidate(
        id="c", kind="commit", text=f"{subject}\n\n{files}", relevance=0.9, metadata={"sha": "9d223f153c36"}
    )
    context = ContextEngine(sources=[ListSource([commit, a_part("page", REPORT, 0.8)])]).build(query)
    assert ("c" in [passage.key[1] for passage in context.passages]) == is_in
    assert is_in or reasons(context)["c"] is Reason.NOT_WORTH_READING


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
        assert telling_words(passage.text, True) >= LEAST_WORDS
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


def test_a_heading_that_is_all_a_file_holds_is_no_passage_of_another_question():
    page = {"path": "docs/introduction.mdx", "start_line": 1, "headings": "Introduction"}
    found = [
        a_candidate(id="page", text="# Introduction", relevance=0.2, metadata=page),
        a_candidate(id="watch", text="The watch utility was deprecated since nobody used it.", relevance=0.9),
    ]
    assert [p.key[1] for p in engine_of(found).build("why was watch deprecated?").passages] == ["watch"]
    assert "page" in [p.key[1] for p in engine_of(found).build("where is the introduction?").passages]
