from __future__ import annotations

import pytest

from inspector.figures.knobs import PRESETS, changes, largest_budget, recorded, turned_by
from inspector.trying import Try, added, try_table, undone
from langchain_context_engine import Budget, diff, replay
from tests.inspector.builders import a_context, a_shared_context


def test_unturned_knobs_change_nothing_so_that_a_replay_gives_the_same_bytes():
    for context in (a_context(), a_shared_context(), a_context(weights={"relevance": 1, "keyword": 2})):
        assert changes(context, recorded(context)) == {}
        assert replay(context, **changes(context, recorded(context))).text == context.text


@pytest.mark.parametrize(
    ("knob", "value", "setting", "expected"),
    [
        ("budget", 300, "budget", 300),
        ("k", 2, "k", 2),
        ("threshold", 100, "dedupe_threshold", None),
        ("threshold", 70, "dedupe_threshold", 70.0),
        ("part_link", 0.0, "fusion", {"link": 0.0}),
        ("min_score", 0.25, "min_score", 0.25),
        ("order", "edges", "order", "edges"),
        ("selection", "knapsack", "selection", "knapsack"),
        ("truncator", "none", "truncator", "none"),
        ("template", "xml", "template", "xml"),
    ],
)
def test_a_turned_knob_is_one_changed_setting(knob, value, setting, expected):
    context = a_context()
    assert changes(context, {knob: value}) == {setting: expected}
    replay(context, **changes(context, {knob: value}))


def test_turned_weights_replace_all_and_zero_ones_are_left_out():
    changed = changes(a_context(weights={"relevance": 1, "keyword": 1}), {"w_keyword": 0.0})
    assert changed == {"weights": {"relevance": 0.5}}


def test_shares_and_caps_make_a_budget_and_keep_the_rest_of_it():
    changed = changes(a_shared_context(), {"share_code": 0.0, "item_cap": 40})
    assert changed == {"budget": Budget(tokens=160, reserve=20, shares={"notes": 3.0}, item_cap=0.4)}


def test_names_that_are_no_knobs_change_nothing():
    assert changes(a_context(), {"w_evil": 1.0, "journal": "/etc"}) == {}


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_replayed(name):
    context = a_shared_context()
    knobs = PRESETS[name](recorded(context))
    assert replay(context, **changes(context, knobs)).tokens <= knobs["budget"]


def test_a_change_that_admits_turns_the_knobs_to_itself():
    knobs = recorded(a_context())
    turned = turned_by(knobs, {"weights": {"relevance": 1.0, "keyword": 4.0}, "budget": 700})
    assert (turned["w_relevance"], turned["w_keyword"], turned["budget"]) == (0.25, 1.0, 700)
    assert turned_by(knobs, {"dedupe_threshold": 97.3})["threshold"] == 98
    assert turned_by(knobs, {"min_score": 0.129})["min_score"] == 0.12
    assert turned_by(knobs, {"k": 4})["k"] == 4


def test_the_budget_can_be_turned_to_where_everything_fits():
    context = a_context(budget=100)
    assert replay(context, budget=largest_budget(context)).is_truncated is False


def test_tries_are_kept_in_order_without_repeats_and_undone_to_the_first():
    context = a_context()
    knobs = recorded(context)
    smaller = replay(context, budget=60)
    first = Try(knobs, {}, context, diff(context, context))
    second = Try({**knobs, "budget": 60}, {"budget": 60}, smaller, diff(context, smaller))
    tries = added(added(added((), first), second), second)
    assert [one.told for one in tries] == ["as recorded", "budget: 60"]
    assert [row["try"] for row in try_table(tries)] == ["1", "recorded"]
    assert undone(undone(tries)) == (first,)


def test_tries_keep_their_numbers_and_the_recorded_one():
    context = a_context()
    knobs = recorded(context)
    tries = added((), Try(knobs, {}, context, diff(context, context)))
    for budget in range(100, 150):
        tries = added(tries, Try(knobs, {"budget": budget}, context, diff(context, context)))
    assert tries[0].told == "as recorded"
    assert [one.number for one in tries[1:]] == list(range(22, 51))
    again = added(undone(tries), Try(knobs, {"budget": 9}, context, diff(context, context)))
    assert again[-1].number == 50


def test_a_lifted_cap_turns_the_knobs_to_itself():
    knobs = recorded(a_shared_context())
    turned = turned_by(knobs, {"budget": Budget(tokens=160, reserve=20)})
    assert (turned["share_notes"], turned["share_code"], turned["item_cap"]) == (0.0, 0.0, 100)
