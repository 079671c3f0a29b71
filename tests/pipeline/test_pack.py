"""Pack: what gets in, whole or in part, and what is told of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import Budget, Template
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.pipeline.selection import Diversity, knapsack
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


@pytest.mark.parametrize("place", [{}, {"place": "invoices.md"}])
def test_a_record_of_few_words_over_and_over_is_cut_like_any_other(place):
    """Promise 11: of one with a place nothing was taken, since no part of it had four words."""
    text = "Invoices: " + "the invoice is paid. " * 200
    context = engine_of([a_candidate(text=text, metadata=place)], tokenizer="auto").build("paid?", budget=100)
    assert context.tokens > 90


def test_a_pinned_item_is_packed_before_better_ones_and_cut_rather_than_left_out():
    found = [
        a_candidate(id="best", text=text_of(50, "b"), relevance=1.0),
        a_candidate(id="pin", text=text_of(200, "p"), relevance=0.0, is_pinned=True),
    ]
    context = engine_of(found, template=MARKED).build("q", budget=60)
    assert reasons(context)["pin"] in {Reason.CUT, Reason.EXTRACTED}
    assert context.tokens <= 60


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


def test_of_the_best_of_all_the_beginning_is_read_however_little_fits():
    """T2."""
    (passage,) = built([NEXT, *SHORT], 20).passages
    assert passage.key[1] == "next"
    assert passage.is_truncated
