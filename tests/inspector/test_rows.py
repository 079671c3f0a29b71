"""What pages draw, worked out of contexts by pure functions: rows, bars, pieces, knobs, exports."""

from __future__ import annotations

import csv
import doctest
import io
import json
import re
from collections import Counter
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.candidates import (
    FRAME,
    LEFT,
    RESERVED,
    budget_parts,
    fates_told,
    groups_of,
    last_kept,
    meant_by,
    near_misses,
    ranked_rows,
    rows_like,
    score_tree,
    shared_tokens,
)
from inspector.exports import as_csv, as_markdown, rows_as_csv
from inspector.grading import UNJUDGED, grade_columns, grade_rows, quality_rows, tally
from inspector.knobs import can_turn_to, changes, recorded, turned_by
from inspector.marking import cut, cut_pieces, cut_tokens, how_joined, passages_of_text, pieces, sides
from inspector.palette import FATE_COLOURS, FATES
from inspector.views.compare import aligned, changed, compared_files, moves_html
from inspector.views.traces import trace_rows
from inspector.wording import option_of, zone_of
from langchain_context_engine import Budget, Context, Journal, Template, diff, replay
from langchain_context_engine.evaluation.quality import quality
from langchain_context_engine.journal import Judgment
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.text.words import query_terms
from tests.builders import a_candidate
from tests.conftest import ROOT
from tests.inspector.builders import HOSTILE, a_context, a_shared_context, rows_of

MODULES = [p.stem for p in sorted((ROOT / "inspector").glob("*.py")) if ">>>" in p.read_text("utf-8")]
GRADES = {("memories", "a"): 3, ("memories", "c"): 2, ("memories", "d"): 0}
TIGHT = {"budget": 60, "truncator": "none"}


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_give_what_they_show(name):
    result = doctest.testmod(import_module(f"inspector.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_every_final_reason_has_two_words_and_a_colour():
    steps = {
        "clamped", "merged", "expanded", "neighbour", "linked", "latest", "reranked", "shortened", "pinned",
    }  # fmt: skip
    assert {str(reason) for reason in Reason} - {str(reason) for reason in FATES} <= steps
    assert all(words in FATE_COLOURS for words in FATES.values())


def test_every_candidate_is_counted_once_by_what_it_fell_for():
    context = a_context(budget=120)
    numbers = [int(part.split()[0]) for part in fates_told(context).split(" · ")]
    assert numbers[0] == len(context.final_decisions()) == sum(numbers[1:])
    assert numbers[1] == len(context.passages)
    assert "1 duplicate" in fates_told(context)
    assert fates_told(Context()) == "0 offered · 0 in"


def test_the_budget_line_stands_after_the_last_that_got_in_and_is_drawn_from_all_rows_or_not_at_all():
    """Of filtered rows it said that nothing below got in, where what got in was only not shown."""

    def line_of(context, rows, **given):
        table = ranked_rows(context, rows, {}, [], **given)
        return next((row["line"] for row in table if "line" in row), None)

    tight, wide = a_context(budget=50, truncator="none"), a_context(budget=5000)
    rows = rows_of(tight)
    assert "of 50 tokens" in line_of(tight, rows, everyone=rows)
    assert line_of(tight, rows[:2], everyone=rows) is None
    assert line_of(wide, rows_of(wide)) is None
    at = last_kept(rows)
    assert rows[at].verdict is Verdict.KEPT
    assert all(row.verdict is Verdict.DROPPED for row in rows[at + 1 :])


def test_a_line_of_a_file_is_found_in_the_record_that_holds_it():
    """ "no source offered it" was said of `exceptions.py:90`, a line of the best ranked."""
    places = {"path": "src/exceptions.py", "start_line": 87, "end_line": 111}
    context = a_context([a_candidate(id="e", text="raise", metadata=places), a_candidate(id="o", text="no")])
    rows = rows_of(context)
    assert [row.key[1] for row in rows_like(rows, "All", "exceptions.py:90", context)] == ["e"]
    assert not rows_like(rows, "All", "exceptions.py:900", context)


def test_rows_are_narrowed_by_fate_and_words_and_a_missing_one_is_meant_before_one_that_stands():
    rows = rows_of(a_context(**TIGHT))
    assert all(row.verdict is Verdict.KEPT for row in rows_like(rows, "In the context"))
    assert [row.key[1] for row in rows_like(rows, "All", "EYES refunds")] == ["c"]
    assert rows_like(rows, "Near misses") == near_misses(rows, 99)
    assert len(rows_like(rows, "Left out")) + len(rows_like(rows, "In the context")) == len(rows)
    assert meant_by(rows, "öffice PLANTS").key == ("memories", "d")
    assert meant_by(rows, "memories") == next(row for row in rows if row.verdict is Verdict.DROPPED)
    assert meant_by(rows, "nothing like it") is meant_by(rows, " ") is None


def test_a_row_tells_where_it_is_from_and_never_its_hash():
    found = [
        a_candidate(id="9f3c" * 8, text="alpha", metadata={"path": "a.py", "start_line": 3, "end_line": 9})
    ]
    context = a_context(found)
    (row,) = ranked_rows(context, rows_of(context), {}, ["alpha"])
    assert row["cells"]["where"] == "a.py:3-9"
    assert row["cells"]["text"] == [("alpha", True)]
    assert "9f3c" not in str(row["cells"])


@given(
    st.tuples(st.text(max_size=6), st.text(max_size=6)), st.tuples(st.text(max_size=6), st.text(max_size=6))
)
def test_two_candidates_that_look_alike_in_the_address_stay_two(first, second):
    assert (option_of(first) == option_of(second)) == (first == second)


def test_a_score_is_a_tree_with_the_parts_of_relevance_under_it():
    found = [
        a_candidate(id=str(i), text=f"{word} rope", claims={"dense": 0.2 * i, "lexical": i})
        for i, word in enumerate(("old", "new", "blue"))
    ]
    tree = score_tree(rows_of(a_context(found, weights={"relevance": 3, "keyword": 1}))[0])
    names = [part.name for part in tree]
    assert {part.depth for part in tree if part.name in {"relevance", "keyword"}} == {0}
    under = {part.name for part in tree[names.index("relevance") + 1 :] if part.depth == 1}
    assert {"dense", "lexical"} <= under
    shares = [part.share for part in tree if part.share is not None]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)


def test_a_trace_row_tells_the_viewers_time_and_what_is_new(tmp_path):
    at = datetime(2026, 7, 1, 22, 30, tzinfo=UTC)
    with Journal(tmp_path / "j.db") as journal:
        journal.record(a_context(budget=200), at=at)
        journal.record(Context(budget=0))
        _, row = (one["cells"] for one in trace_rows(journal.traces(), zone_of("Europe/Berlin"), at))
    assert row["question"] == "When do invoices go out?"
    assert (row["candidates"], row["time"]) == ("4", "2 Jul 2026, 00:30:00")
    assert row["duplicates"] == "1"


@pytest.mark.parametrize("template", ["cited", "chat", "sections", "xml"])
@pytest.mark.parametrize("budget", [60, 1000])
def test_the_parts_of_the_budget_add_up_to_it_and_what_the_template_adds_is_the_frame(template, budget):
    context = a_context(template=template, budget=budget)
    parts = budget_parts(context)
    assert sum(parts.values()) == budget
    assert all(tokens > 0 for tokens in parts.values())
    assert parts.get(FRAME, 0) == context.tokens - sum(passage.tokens for passage in context.passages)


def test_groups_tell_what_they_offered_took_and_were_promised():
    context = a_shared_context()
    groups = {group.name: group for group in groups_of(context)}
    segments = {key: tokens for group in groups.values() for key, tokens in group.segments.items()}
    assert segments == {passage.key: passage.tokens for passage in context.passages}
    assert budget_parts(context)[RESERVED] == 20
    assert {name: group.share for name, group in groups.items()} == {"notes": 105, "code": 35}
    assert groups["notes"].candidates == 4
    assert budget_parts(Context(budget=10)) == {LEFT: 10}
    joined = replace(context, tokens=sum(passage.tokens for passage in context.passages) - 3)
    assert shared_tokens(joined) == 3


@pytest.mark.parametrize("template", ["cited", "detailed", "markdown", "xml", "sections"])
@pytest.mark.parametrize("budget", [0, 150, 2000])
def test_the_pieces_of_the_text_are_the_text_each_with_the_passage_it_holds(template, budget):
    context = a_context(template=template, budget=budget)
    found = passages_of_text(context)
    assert "".join(piece.text for piece in found) == context.text
    texts = {passage.key: passage.text for passage in context.passages}
    assert [piece.key for piece in found if piece.key] == [passage.key for passage in context.passages]
    assert all(texts[piece.key] in piece.text for piece in found if piece.key)


def test_passages_that_share_a_line_are_told_apart_within_it():
    context = a_context(template=Template(name="one line", passage="{{content}}", separator=" "), budget=2000)
    assert [piece.key for piece in passages_of_text(context)] == [passage.key for passage in context.passages]


def test_the_pieces_of_a_cut_are_the_original_and_the_kept_ones_the_passage():
    context = a_context(budget=150)
    passage = next(p for p in context.passages if p.is_truncated)
    original, found = passage.ranked.candidate.text, cut_pieces(passage)
    assert "".join(text for text, _ in found) == original
    kept = " ".join(text for text, is_kept in found if is_kept)
    assert kept.split() == passage.text.replace(" … ", " ").split()
    assert cut_tokens(context, passage) == (len(passage.text.encode()), len(original.encode()))


def test_what_is_struck_out_is_folded_between_words():
    struck = re.findall(r"<del>(.*?)</del>", cut([("alphabet " * 40, False)], ()))
    assert {word for part in struck for word in part.split()} == {"alphabet"}


def test_of_a_name_of_several_words_those_that_match_are_marked():
    text = "HelpFormatter.write_usage writes the usages"
    marked = [piece for piece, is_marked in pieces(text, query_terms("write usage")) if is_marked]
    assert marked == ["write", "usage", "writes", "usages"]


def test_a_duplicate_stands_with_its_survivor_whether_that_is_in_or_fell_too():
    for budget in (2000, 10):
        context = a_context(budget=budget, truncator="none")
        shown = rows_like(rows_of(context), "Duplicates")
        assert [row.key[1] for row in shown] == ["a", "b"]
        assert how_joined(context, shown[1].key) == "The same but for articles and punctuation."


def test_of_a_duplicate_it_is_told_in_what_it_is_alike():
    """ "100 % alike" and "Nothing new in it" stood over lines that were marked as new."""
    whole = "Invoices go out on the first working day of the month, and plants are watered on Friday."
    texts = (whole, whole.partition(", and")[0])
    found = [
        a_candidate(id=str(i), text=text, relevance=0.9 - i / 10, metadata={"path": "a.md"})
        for i, text in enumerate(texts)
    ]
    for context, told in (
        (a_context(), "the same but for articles and punctuation"),
        (a_context(found), "all that would stand of it is said there"),
    ):
        (row,) = (row for row in rows_of(context) if context.final_decisions()[row.key].repeats)
        cells = [one["cells"]["text"] for one in ranked_rows(context, rows_of(context), {}, ())]
        assert any(f", {told} " in piece for text in cells if isinstance(text, list) for piece, _ in text)
        assert how_joined(context, row.key).lower().startswith(told)
    assert how_joined(context, row.key).endswith("marked below are the whole texts.")


@pytest.mark.parametrize("budget", [10, 60, 150, 2000])
def test_rows_funnel_near_misses_and_groups_count_one_number_each(budget):
    """Of 74 answers 56 had another number of duplicates in the head than in the rows."""
    context = a_context(budget=budget, truncator="none")
    rows = rows_of(context)
    fates = Counter(row["cells"]["fate"] for row in ranked_rows(context, rows, {}, []) if "cells" in row)
    told = fates_told(context)
    assert (
        fates["out · duplicate"] == sum(one.is_duplicate for one in context.final_decisions().values()) == 1
    )
    assert "1 duplicate" in told
    no_room = fates["out · no room"]
    assert len(near_misses(rows, 99)) == sum(group.no_room for group in groups_of(context)) == no_room
    assert f"{no_room} no room" in told or not no_room


def test_what_fell_for_its_score_has_it_beside_it():
    rows = rows_of(a_context(min_score=0.5))
    cells = {row["id"]: row["cells"] for row in ranked_rows(a_context(), rows, {}, []) if "cells" in row}
    assert (cells["memories/d"]["fate"], cells["memories/d"]["score"]) == ("out · low score", "0.200")


@pytest.mark.parametrize("folds", [True, False])
def test_of_two_texts_each_is_said_once_whatever_is_marked(folds):
    """What was equal before a difference, and short, stood there twice: "drop end of drop end of life"."""
    first, second = "drop end of life python versions", "drop end of life python versions (#2893)"
    told = [re.sub("<[^>]*>", "", html) for html in sides(first, second, folds=folds)]
    assert told == [first, second]


def test_what_entered_and_left_is_named():
    before = a_context(**TIGHT)
    after = replay(before, budget=5000)
    assert "Entered: " in moves_html(diff(before, after), rows_of(after))
    assert "Left: " in moves_html(diff(after, before), rows_of(after))


def test_a_name_written_from_right_to_left_turns_nothing_round_beside_it():
    """After a place with an override, "Left:" and what followed were read backwards."""
    before, after = a_context(), a_context(budget=45)
    rows = [replace(row, label="gnp\u202e.exe") for row in rows_of(before)]
    assert "Left: \u2068gnp\u202e.exe\u2069" in moves_html(diff(before, after), rows)


def test_of_many_that_entered_all_can_be_read():
    """ "And 34 more" stood in the text alone."""
    found = [
        a_candidate(id=str(i), text=f"{word} rope") for i, word in enumerate(("old", "new", "red", "wet"))
    ]
    told = moves_html(diff(a_context(found, budget=0), a_context(found)), rows_of(a_context(found)))
    assert "<summary>and 1 more</summary>" in told
    assert all(f"memories/{i}" in told for i in range(4))


@pytest.mark.parametrize(
    ("label", "told"),
    [
        (f"docs/{'deep/' * 12}a.md › One › Two › Three", "a.md › Three"),
        (f"docs/{'deep/' * 9}core.py:1-9 · test_of_a_very_long_name", f"docs/{'deep/' * 9}core.py:1-9"),
        (f"docs/{'deep/' * 15}core.py:11-29 · {'word ' * 20}end", f"…{'deep/' * 11}core.py:11-29"),
        (f"the {'word ' * 20}end", f"…{'word ' * 13}end"),
        ("docs/a.md › One › Two", "docs/a.md › One › Two"),
    ],
)
def test_a_long_name_keeps_its_file_and_lines_or_its_end_and_is_cut_between_words(label, told):
    before, after = a_context(), a_context(budget=45)
    said = moves_html(diff(before, after), [replace(row, label=label) for row in rows_of(before)])
    assert f"Left: {told}" in said.replace("\u2068", "").replace("\u2069", "")


def test_candidates_are_aligned_by_key_what_differs_above_what_is_alike_each_counted():
    one = a_context([a_candidate(id="x", text="alpha one"), a_candidate(id="y", text="beta two")])
    other = a_context([a_candidate(id="y", text="beta two"), a_candidate(id="z", text="gamma too")])
    table = aligned({"A": rows_of(one), "B": rows_of(other)}, {"A": one, "B": other}, only=False)
    found = {row["id"]: row["cells"] for row in table if "id" in row}
    assert (found["memories/x"]["B fate"], found["memories/x"]["A place"]) == ("not offered", "1")
    assert (found["memories/y"]["A in text"], found["memories/y"]["B in text"]) == ("2", "1")
    assert [row["line"] for row in table if "line" in row] == [
        "Not alike in the texts: 2",
        "Treated alike: 1",
    ]
    assert aligned({"A": rows_of(one), "B": rows_of(one)}, {"A": one, "B": one}, only=True) == []


def test_what_is_compared_is_taken_away_with_its_whole_text_and_its_rank():
    context = a_context([a_candidate(id="x", text="alpha " * 200)])
    (file,) = compared_files({"A": rows_of(context)}, {"A": context}, ["t"])
    (line,) = csv.DictReader(io.StringIO(file.data.decode("utf-8-sig")))
    assert (line["text"], line["A rank"]) == ("alpha " * 200, "1")


def test_what_is_cut_to_another_length_is_not_alike():
    """76 tokens of a text and 160 of it were told as treated alike."""
    one, other = a_context(budget=150), a_context(budget=230)
    only = aligned({"A": rows_of(one), "B": rows_of(other)}, {"A": one, "B": other}, only=True)
    assert "memories/c" in {row.get("id") for row in only}


def test_what_was_asked_or_set_otherwise_is_told_in_one_line_and_a_budget_once():
    context = a_context(budget=60)
    other = a_context(budget=1200, query="another")
    assert changed(context, other) == "another question; tokens allowed 60 → 1,200"
    assert changed(context, context) == ""
    assert changed(context, replay(context, dedupe_threshold=70.0)) == "dedupe_threshold 90.0 → 70.0"


def test_the_worst_question_comes_first_and_a_regression_is_named_where_enough_is_judged():
    context = a_context(budget=5000)
    turned = replay(context, weights={"keyword": 1.0})
    good = quality(context, rows_of(context), GRADES)
    worse = quality(turned, rows_of(turned), {("memories", "d"): 3, ("memories", "a"): 0})
    judged = [("fine?", good, good), ("worse?", good, replace(worse, coverage=0.5))]
    assert [row["question"] for row in quality_rows(judged)] == ["worse?", "fine?"]
    assert [row["verdict"] for row in quality_rows(judged)] == ["regression", "unchanged"]
    assert tally(judged) == "0 better, 1 worse, 1 unchanged"
    few = [("worse?", good, replace(worse, coverage=0.2))]
    assert tally(few) == "0 better, 0 worse, 0 unchanged, 1 not enough judged"


def test_the_grades_of_two_people_stand_beside_each_other_and_none_where_one_judges_blindly():
    at, rows = datetime(2026, 1, 1, tzinfo=UTC), rows_of(a_context())
    by_ann = [Judgment(query="q", key=key, grade=g, time=at, rater="ann") for key, g in GRADES.items()]
    table = {row["id"]: row["cells"] for row in grade_rows(rows, by_ann, "bob")}
    assert (table["memories/a"]["by ann"], table["memories/a"]["grade"]) == ("3", UNJUDGED)
    assert [c["label"] for c in grade_columns(["ann", "bob"], "bob")][:3] == ["Grade", "ann", "#"]
    blind = {c["label"] for c in grade_columns(["ann", "bob"], "bob", blind=True)}
    assert not blind & {"ann", "#", "Fate"}
    left = grade_rows(rows, by_ann, "ann", is_queue=True)
    assert [row["id"] for row in left] == ["memories/b"]


def test_the_queue_has_first_what_nearly_got_in_or_nearly_did_not():
    rows = rows_of(a_context([a_candidate(id=str(i), text=f"{i} rope " * 9, relevance=1 - i / 20)
                              for i in range(9)], budget=300, truncator="none"))  # fmt: skip
    kept = sum(row.verdict is Verdict.KEPT for row in rows)
    queue = [row["cells"]["place"] for row in grade_rows(rows, [], "", is_queue=True)]
    assert queue[:3] == [str(kept), str(kept + 1), str(kept - 1)]
    assert len(queue) == len(rows)


def test_csv_holds_every_candidate_and_no_formula():
    found = [a_candidate(id="=1+1", text="=HYPERLINK(1)"), a_candidate(id="b", text="line\none,two")]
    data = rows_as_csv(rows_of(a_context(found))).decode("utf-8-sig")
    read = list(csv.DictReader(io.StringIO(data)))
    assert {row["text"] for row in read} == {"'=HYPERLINK(1)", "line\none,two"}
    assert not any(cell.startswith(("=", "+", "@")) for row in read for cell in row.values())


def test_csv_of_the_list_holds_plain_values_and_json(tmp_path):
    """A reader got `datetime.datetime(2026, …)` and `('billing',)`."""
    at = datetime(2026, 7, 1, 22, 30, tzinfo=UTC)
    with Journal(tmp_path / "j.db") as journal:
        name = journal.record(a_context(), at=at)
        journal.note(name, "why?", ["billing", "à voir"])
        (row,) = csv.DictReader(
            io.StringIO(as_csv([asdict(one) for one in journal.traces()]).decode("utf-8-sig"))
        )
    assert datetime.fromisoformat(row["time"]) == at
    assert json.loads(row["tags"]) == ["billing", "à voir"]
    assert json.loads(row["offered"]) == {"memories": 4}
    assert set(json.loads(row["timings"])) >= {"collect", "pack"}
    assert row["query"] == "When do invoices go out?"


def test_markdown_shows_hostile_texts_as_they_are_inside_a_longer_fence():
    context = a_context([a_candidate(id="a|b", text=f"{HOSTILE}\n````\ncode\n````")], query="# <b>why</b>?")
    text = as_markdown(context)
    assert text.startswith("# \\# \\<b\\>why\\</b\\>?")
    assert len(text.rstrip().splitlines()[-1]) > 4
    assert "memories/a|b: in, whole" in text


def test_unturned_knobs_change_nothing_so_that_a_replay_gives_the_same_bytes():
    for context in (a_context(), a_shared_context(), a_context(weights={"relevance": 1, "keyword": 2})):
        assert changes(context, recorded(context)) == {}


@pytest.mark.parametrize(
    ("knob", "value", "setting", "expected"),
    [
        ("budget", 300, "budget", 300),
        ("k", 2, "k", 2),
        ("threshold", 100, "dedupe_threshold", None),
        ("part_link", 0.0, "fusion", {"link": 0.0}),
        ("min_score", 0.25, "min_score", 0.25),
        ("order", "edges", "order", "edges"),
        ("template", "xml", "template", "xml"),
    ],
)
def test_a_turned_knob_is_one_changed_setting(knob, value, setting, expected):
    context = a_context()
    assert changes(context, {knob: value}) == {setting: expected}
    replay(context, **changes(context, {knob: value}))


def test_turned_weights_replace_all_and_what_is_no_knob_changes_nothing():
    changed = changes(a_context(weights={"relevance": 1, "keyword": 1}), {"w_keyword": 0.0})
    assert changed == {"weights": {"relevance": 0.5}}
    changed = changes(a_shared_context(), {"share_code": 0.0, "item_cap": 40})
    assert changed == {"budget": Budget(tokens=160, reserve=20, shares={"notes": 3.0}, item_cap=0.4)}
    assert changes(a_context(), {"w_evil": 1.0, "journal": "/etc"}) == {}


def test_a_change_that_admits_turns_the_knobs_to_itself_or_is_said_to_have_none():
    context = a_context()
    turned = turned_by(recorded(context), {"weights": {"relevance": 1.0, "keyword": 3.0}, "budget": 700})
    assert (turned["w_relevance"], turned["w_keyword"], turned["budget"]) == (0.3333, 1.0, 700)
    assert turned_by(recorded(context), {"dedupe_threshold": 97.3})["threshold"] == 98
    lifted = turned_by(recorded(a_shared_context()), {"budget": Budget(tokens=160, reserve=20)})
    assert (lifted["share_notes"], lifted["item_cap"]) == (0.0, 100)
    assert can_turn_to(context, {"budget": 700})
    assert can_turn_to(context, {"dedupe_rules": ()})
    assert not can_turn_to(context, {"thresholds": {"memories": 0.2}})
