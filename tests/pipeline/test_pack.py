"""Pack: what gets in, whole or in part, and what is told of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import Budget, ConfigError, Template
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.pipeline.selection import Diversity, by_density, knapsack
from langchain_context_engine.text.units import UnitValue
from tests.builders import a_candidate
from tests.pack_builders import BARE, MARKED, engine_of, reasons, text_of


@pytest.mark.parametrize("selection", ["adaptive", "score", "density", "knapsack"])
def test_a_big_item_never_ends_the_loop(selection):
    """C20."""
    found = [
        a_candidate(id=str(n), text=text_of(n, f"x{n}_"), relevance=1 - n / 10_000) for n in (900, 40, 30)
    ]
    found[0] = a_candidate(id="900", text=text_of(900), relevance=1.0)
    context = engine_of(found, truncator="none", selection=selection).build("q", budget=100)
    assert {p.key[1] for p in context.passages} == {"40", "30"}
    assert context.is_truncated


def test_every_exclusion_is_listed_with_its_reason_and_its_shortfall():
    """C22."""
    found = [a_candidate(id=str(i), text=text_of(30, f"i{i}_"), relevance=1 - i / 100) for i in range(10)]
    context = engine_of(found, truncator="none").build("q", budget=100)
    assert len(context.candidates) == 10
    out = [d for d in context.decisions if d.verdict is Verdict.DROPPED]
    assert len(out) == 7
    assert all((d.reason, d.details) == (Reason.OVER_BUDGET, {"needed": 30, "left": 10}) for d in out)


@pytest.mark.parametrize("template", [BARE, Template(name="t", passage="{{title}} {{content}}")])
def test_metadata_larger_than_the_budget_neither_counts_unused_nor_breaks_used(template):
    """C23."""
    found = [
        a_candidate(id="big", text="content", metadata={"title": text_of(1500)}),
        a_candidate(id="small", text="other"),
    ]
    context = engine_of(found, template=template).build("q", budget=512)
    assert "small" in {p.key[1] for p in context.passages}
    assert context.tokens <= 512
    assert ("big" in {p.key[1] for p in context.passages}) == (template is BARE)


def test_an_open_code_fence_is_closed_within_the_budget_and_the_next_item_stands_outside():
    """B10."""
    code = "Intro\n\n```python\nprint('one')\nprint('two')\nprint('three')\n```\nend"
    for truncator in ("keep_start", "extractive", "keep_end"):
        for budget in range(8, 40):
            found = [
                a_candidate(id="code", text=code, relevance=0.9),
                a_candidate(id="next", text="next", relevance=0.8),
            ]
            context = engine_of(
                found, tokenizer="auto", template="cited", truncator=truncator, selection="score"
            ).build("q", budget=budget)
            fences = [line for line in context.text.splitlines() if line.startswith("```")]
            assert len(fences) % 2 == 0, context.text
            assert context.tokens <= budget


def test_a_table_is_cut_between_rows():
    """B11."""
    table = "| name | price |\n|---|---|\n" + "\n".join(f"| item {i} | {i} |" for i in range(20))
    for truncator in ("keep_start", "extractive"):
        context = engine_of([a_candidate(text=table)], tokenizer="auto", truncator=truncator).build(
            "item", budget=60
        )
        (passage,) = context.passages
        rows = [line for piece in passage.text.split(" … ") for line in piece.splitlines()]
        assert all(row.startswith("|") and row.endswith("|") for row in rows)
        assert rows[:2] == ["| name | price |", "|---|---|"]


def test_a_pinned_item_is_packed_before_better_ones_and_cut_rather_than_left_out():
    found = [
        a_candidate(id="best", text=text_of(50, "b"), relevance=1.0),
        a_candidate(id="pin", text=text_of(200, "p"), relevance=0.0, is_pinned=True),
    ]
    context = engine_of(found, template=MARKED).build("q", budget=60)
    assert reasons(context)["pin"] in {Reason.CUT, Reason.EXTRACTED}
    assert context.tokens <= 60


def test_k_bounds_the_passages():
    found = [a_candidate(id=str(i), text=text_of(5, f"i{i}_"), relevance=1 - i / 10) for i in range(5)]
    context = engine_of(found).build("q", k=2)
    assert {p.key[1] for p in context.passages} == {"0", "1"}
    assert reasons(context)["2"] is Reason.OVER_K


def test_a_long_passage_is_packed_by_the_sentences_that_answer():
    filler = "The weather was mild and nothing much happened in the harbor that day. "
    text = filler * 6 + "The invoice total was 4200 euros. " + filler * 6
    found = [
        a_candidate(id="long", text=text, relevance=0.9),
        a_candidate(id="other", text=filler * 9, relevance=0.1),
    ]
    context = engine_of(found, tokenizer="auto", template="cited").build(
        "what was the invoice total?", budget=40
    )
    assert "The invoice total was 4200 euros." in context.text
    decision = next(d for d in context.decisions if d.key[1] == "long" and d.verdict is Verdict.KEPT)
    assert decision.reason is Reason.EXTRACTED
    assert decision.details["units"] == 13


@pytest.mark.parametrize(("size", "first"), [(0.25, "short"), (0.0, "long")])
def test_of_two_passages_that_are_nearly_as_good_the_shorter_goes_first(size, first):
    found = [
        a_candidate(id="long", text=text_of(30), relevance=0.9),
        a_candidate(id="short", text=text_of(10, "v"), relevance=0.89),
    ]
    context = engine_of(found, unit_value=UnitValue(size=size)).build("q", budget=32)
    assert [key for key, reason in reasons(context).items() if reason is Reason.WHOLE] == [first]


def test_density_prefers_more_score_per_token():
    assert by_density([0.9, 0.5, 0.5], [100, 10, 20]) == [1, 2, 0]


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(1, 8)), max_size=9), st.integers(0, 24))
@settings(deadline=None)
def test_the_knapsack_is_optimal(items, budget):
    """C6: against every subset."""
    scores, costs = [s / 10 for s, _ in items], [c for _, c in items]
    chosen = knapsack(scores, costs, budget)
    best = max(
        sum(s for i, s in enumerate(scores) if mask >> i & 1)
        for mask in range(1 << len(items))
        if sum(c for i, c in enumerate(costs) if mask >> i & 1) <= budget
    )
    assert sum(costs[i] for i in chosen) <= budget
    assert sum(scores[i] for i in chosen) == pytest.approx(best)


def test_one_kind_may_not_dominate():
    """C5."""
    found = [
        a_candidate(id=f"f{i}", kind="file", text=text_of(5, f"f{i}_"), relevance=0.9) for i in range(12)
    ]
    found += [
        a_candidate(id=f"m{i}", kind="message", text=text_of(5, f"m{i}_"), relevance=0.1) for i in range(4)
    ]
    context = engine_of(found, selection="density", diversity=Diversity()).build("q", budget=2000)
    assert Reason.DIVERSITY in reasons(context).values()


def test_a_compactor_rewrites_what_does_not_fit_and_is_asked_once():
    asked = []

    def shorten(text, allowance):
        asked.append(text)
        return "short words"

    found = [a_candidate(id="long", text=text_of(300))]
    context = engine_of(found, compactor=shorten).build("q", budget=50)
    assert context.text == "short words"
    assert reasons(context)["long"] is Reason.COMPACTED
    assert len(asked) == 1


@pytest.mark.parametrize("answer", ["", text_of(900), None])
def test_a_compactor_that_fails_is_followed_by_a_cut_and_a_warning(answer):
    """B15."""
    asked = []

    def broken(text, allowance):
        asked.append(text)
        if answer is None:
            raise RuntimeError("no model")
        return answer

    context = engine_of([a_candidate(text=text_of(300))], compactor=broken).build("q", budget=50)
    assert 0 < context.tokens <= 50
    assert context.text == text_of(300)[: len(context.text)]
    assert len(asked) == 1
    assert context.warnings


def test_a_truncator_of_ones_own_is_kept_to_its_allowance():
    context = engine_of(
        [a_candidate(text=text_of(300))], truncator=lambda text, allowance, count: text
    ).build("q", budget=50)
    assert 0 < context.tokens <= 50


def test_the_best_of_all_is_shown_in_part_where_it_could_never_fit_whole():
    found = [
        a_candidate(id="best", kind="code", text=text_of(300, "b"), relevance=1.0),
        *(a_candidate(id=f"s{i}", text=text_of(10, f"s{i}_"), relevance=0.5) for i in range(20)),
    ]
    context = engine_of(found).build("q", budget=100)
    cost = {p.key[1]: p.tokens for p in context.passages}
    assert 30 <= cost["best"] <= 50
    assert len(cost) > 3


def a_function(name, *, lines, relevance):
    """A function of some lines, five words each, as it is read from a file."""
    body = "\n".join(f"    value_{i} = {name}_{i}({i}) # berth" for i in range(lines))
    return a_candidate(
        id=name,
        text=f"def {name}(harbour):\n{body}",
        kind="code",
        relevance=relevance,
        neighbours=("beside",),
        metadata={"path": f"{name}.py", "symbol": name, "start_line": 1},
    )


def built(candidates, budget, **fields):
    engine = engine_of(candidates, budget=Budget(tokens=budget, **fields))
    return engine.build("what sets the harbour?")


SHORT = [a_function(f"short_{i}", lines=7, relevance=0.5) for i in range(6)]
BEST, NEXT = a_function("best", lines=14, relevance=1.0), a_function("next", lines=30, relevance=0.9)


def test_what_is_nearly_as_good_as_the_best_is_cut_before_what_is_worse_but_shorter_takes_the_room():
    """Seen 5: the function is dropped for room, or one line of it is left."""
    context = built([BEST, NEXT, *SHORT], 180)
    assert [p.key[1] for p in context.passages] == ["best", "next"]
    assert reasons(context)["next"] is Reason.CUT
    assert context.tokens <= 180


def test_where_less_than_half_of_it_fits_the_shorter_ones_have_their_turn():
    context = built([BEST, NEXT, *SHORT], 130)
    assert {p.key[1] for p in context.passages} >= {"best", "short_0"}


def test_at_a_share_of_one_nothing_is_cut_in_its_turn():
    context = built([BEST, NEXT, *SHORT], 180, cut_from=1)
    assert "short_0" in {p.key[1] for p in context.passages}
    with pytest.raises(ConfigError, match="cut_from must be between 0 and 1"):
        Budget(cut_from=1.5)


def test_the_first_line_of_what_is_worse_than_the_best_is_not_read_though_there_is_room():
    """Seen: `// Mount attaches another handler or router as a` of a function of forty lines."""
    others = [BEST, a_function("worse", lines=30, relevance=0.6)]
    assert [p.key[1] for p in built(others, 95).passages] == ["best"]
    assert {p.key[1] for p in built(others, 95, cut_from=1).passages} == {"best", "worse"}


def test_of_the_best_of_all_the_beginning_is_read_however_little_fits():
    """T2."""
    (passage,) = built([NEXT, *SHORT], 20).passages
    assert passage.key[1] == "next"
    assert passage.is_truncated
