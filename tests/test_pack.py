"""Pack and render: what gets in, whole or in part, and what it costs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import Budget, ConfigError, ContextEngine, Template
from langchain_context_engine.budget import split_tokens
from langchain_context_engine.stages.select import Diversity, by_density, knapsack, optimality_gap
from langchain_context_engine.types import Reason, Verdict
from tests.builders import ListSource, a_candidate, count_words

BARE = Template(name="bare", passage="{{content}}", separator="\n", note="")
MARKED = Template(name="marked", passage="{{content}}", separator="\n", note=" (cut)")


def text_of(words: int, name: str = "w") -> str:
    return " ".join(f"{name}{i}" for i in range(words))


def engine_of(candidates, *, sources=None, **settings):
    given_sources = sources or [ListSource(candidates)]
    return ContextEngine(
        sources=given_sources, **{"tokenizer": count_words, "template": BARE, "limit": 100, **settings}
    )


def reasons(context):
    return {d.key[1]: d.reason for d in context.decisions if d.verdict is not Verdict.CHANGED}


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


def test_what_one_share_leaves_over_goes_to_the_others():
    """C21."""
    a = ListSource([a_candidate(source="A", text=text_of(10, "a"), relevance=0.9)], "A")
    b = ListSource(
        [a_candidate(source="B", text=text_of(50, f"b{i}_"), relevance=0.5) for i in range(10)], "B"
    )
    context = engine_of([], sources=[a, b], budget=Budget(tokens=400, shares={"A": 3, "B": 1})).build("q")
    assert sum(p.tokens for p in context.passages if p.key[0] == "B") >= 300
    assert context.tokens <= 400


def test_shares_hold_where_everyone_has_enough():
    a = ListSource(
        [a_candidate(source="A", text=text_of(20, f"a{i}_"), relevance=0.9) for i in range(30)], "A"
    )
    b = ListSource(
        [a_candidate(source="B", text=text_of(20, f"b{i}_"), relevance=0.1) for i in range(30)], "B"
    )
    context = engine_of([], sources=[a, b], budget=Budget(tokens=400, shares={"A": 1, "B": 1})).build("q")
    spent = {name: sum(p.tokens for p in context.passages if p.key[0] == name) for name in "AB"}
    assert spent == {"A": 200, "B": 200}


def test_every_exclusion_is_listed_with_its_reason_and_its_shortfall():
    """C22."""
    found = [a_candidate(id=str(i), text=text_of(30, f"i{i}_"), relevance=1 - i / 100) for i in range(10)]
    context = engine_of(found, truncator="none").build("q", budget=100)
    assert len(context.candidates) == 10
    out = [d for d in context.decisions if d.verdict is Verdict.DROPPED]
    assert len(out) == 7
    assert all(
        (d.reason, d.details) == (Reason.OVER_BUDGET, {"needed": 30, "left": 10, "missing": 20}) for d in out
    )


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


def test_no_item_takes_more_than_its_cap():
    found = [
        a_candidate(id="long", text=text_of(500, "l"), relevance=1.0),
        *(a_candidate(text=text_of(10, f"s{i}_"), relevance=0.5) for i in range(20)),
    ]
    context = engine_of(found, budget=Budget(tokens=200, item_cap=0.25), template=MARKED).build("q")
    cost = {p.key[1]: p.tokens for p in context.passages}
    assert 0 < cost["long"] <= 50
    assert context.tokens > 180


def test_no_source_takes_more_than_its_cap():
    a = ListSource(
        [a_candidate(source="A", text=text_of(20, f"a{i}_"), relevance=0.9) for i in range(30)], "A"
    )
    b = ListSource(
        [a_candidate(source="B", text=text_of(20, f"b{i}_"), relevance=0.1) for i in range(30)], "B"
    )
    context = engine_of([], sources=[a, b], budget=Budget(tokens=400, source_cap=0.6)).build("q")
    assert sum(p.tokens for p in context.passages if p.key[0] == "A") == 240
    assert context.tokens == 400


def test_a_reserve_stays_free():
    found = [a_candidate(text=text_of(10, f"i{i}_")) for i in range(50)]
    assert engine_of(found, budget=Budget(tokens=100, reserve=30)).build("q").tokens == 70


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
    assert optimality_gap(scores, costs, budget, []) >= 0


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


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 10), max_size=6), st.integers(0, 5000))
@settings(deadline=None)
def test_shares_lose_no_token(weights, tokens):
    shares = split_tokens(tokens, weights)
    assert sum(shares.values()) == (tokens if sum(weights.values()) > 0 else 0)
    assert all(share >= 0 for share in shares.values())


@pytest.mark.parametrize(
    "bad",
    [
        {"tokens": -1},
        {"tokens": 1.5},
        {"item_cap": 0},
        {"item_cap": 2},
        {"shares": {"a": -1}},
        {"shares": {"a": float("nan")}},
        {"reserve": True},
    ],
)
def test_a_budget_that_cannot_be_is_refused(bad):
    with pytest.raises(ConfigError, match=next(iter(bad)).rstrip("s")):
        Budget(**bad)


@pytest.mark.parametrize("budget", [-1, 1.5, "many", True])
def test_a_negative_budget_is_refused_everywhere(budget):
    with pytest.raises(ConfigError, match="budget"):
        engine_of([a_candidate()], budget=budget)
    with pytest.raises(ConfigError, match="budget"):
        engine_of([a_candidate()]).build("q", budget=budget)


def test_a_soft_budget_is_exceeded_only_by_the_frame_and_with_a_warning():
    """L9."""
    framed = Template(
        name="framed", header="many words stand here before\n", passage="{{content}}", separator="\n"
    )
    found = [a_candidate(text=text_of(10, f"i{i}_")) for i in range(10)]
    context = engine_of(found, template=framed, budget=Budget(tokens=50, is_soft=True)).build("q")
    assert context.tokens == 55
    assert any("soft budget" in warning for warning in context.warnings)
    assert engine_of(found, template=framed, budget=50).build("q").tokens <= 50


def test_nothing_fits_gives_no_lonely_frame():
    framed = Template(name="framed", header="one two three ", passage="{{content}}", footer=" four")
    context = engine_of([a_candidate(text="five six")], template=framed, truncator="none").build(
        "q", budget=5
    )
    assert (context.text, context.tokens, context.passages) == ("", 0, ())


def test_passage_costs_and_the_frame_add_up_to_the_text():
    found = [a_candidate(text=text_of(7, f"i{i}_")) for i in range(5)]
    context = engine_of(found).build("q")
    assert sum(p.tokens for p in context.passages) == context.tokens


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


@pytest.mark.parametrize(
    ("order", "ids"),
    [("relevance", "abcd"), ("edges", "acdb"), ("chronological", "dcba"), ("stable", "abcd")],
)
def test_orders(order, ids):
    """B7."""
    found = [
        a_candidate(
            id=name, text=f"text {name} {name * 9}", relevance=0.9 - i / 10, created_at=f"2025-01-0{9 - i}"
        )
        for i, name in enumerate("abcd")
    ]
    context = engine_of(found, order=order).build("q")
    assert "".join(p.key[1] for p in context.passages) == ids


def test_passages_that_adjoin_stand_together_in_reading_order():
    """B4."""
    found = [
        a_candidate(
            id="2", text="second part here", relevance=0.9, neighbours=("1", "3"), position=("doc", 2)
        ),
        a_candidate(id="x", text="something else entirely", relevance=0.8),
        a_candidate(id="1", text="first part here", relevance=0.1, neighbours=("2",), position=("doc", 1)),
    ]
    context = engine_of(found).build("q")
    assert [p.key[1] for p in context.passages] == ["1", "2", "x"]


def test_sections_have_titles_in_their_order_and_cost_what_they_cost():
    a = ListSource([a_candidate(source="A", text="from a")], "A")
    b = ListSource([a_candidate(source="B", text="from b")], "B")
    engine = engine_of([], sources=[a, b], template="sections", titles={"B": "Beta"})
    context = engine.build("q")
    assert [s.title for s in context.sections] == ["Beta", "A"]
    assert context.text.index("## Beta") < context.text.index("from b") < context.text.index("## A")


def test_markers_resolve_to_the_text_beside_them_after_dedupe_cut_and_reorder():
    """L92."""
    found = [
        a_candidate(
            id=str(i), text=f"fact number {i} is [{i}] " + text_of(40, f"z{i}_"), relevance=1 - i / 30
        )
        for i in range(12)
    ]
    found.append(a_candidate(id="dup", text=found[0].text.upper(), relevance=0.01))
    context = ContextEngine(sources=[ListSource(found)], order="edges").build("fact", budget=600)
    for passage in context.passages:
        assert context.citations[passage.citation] == passage.key
        assert f"{passage.citation} {passage.text.splitlines()[0][:20]}" in context.text


def test_a_value_with_braces_stays_verbatim_and_survives_a_prompt_template():
    """F50, F51."""
    from langchain_core.prompts import PromptTemplate

    content = "{\"a\": {b}} {0} {} {{ ''.__class__ }} {{content}} <br /> {{{{"
    context = engine_of([a_candidate(text=content)]).build("q")
    assert context.text == content
    assert PromptTemplate.from_template("{context}").format(context=context) == content
