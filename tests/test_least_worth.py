"""What hardly answers beside the best, and what says nothing beside another passage, is left out."""

from __future__ import annotations

import pytest

from langchain_context_engine import Budget, ConfigError, Context, ContextEngine, replay
from langchain_context_engine.models.types import Reason
from langchain_context_engine.text.worth import LEAST_WORDS, telling_words
from langchain_context_engine.trace.what_if import what_would_it_take
from tests.builders import ListSource, a_candidate
from tests.pack_builders import reasons


def a_file(id_, relevance):
    """A record of a file that says enough."""
    texts = {
        "best": "The harbour raised its winter berth prices.",
        "good": "Nobody could say what a new jetty costs.",
        "weak": "Seven sailors slept aboard their old boat.",
    }
    return a_candidate(id=id_, text=texts[id_], relevance=relevance, metadata={"path": f"{id_}.md"})


OTHERS = [
    a_candidate(id=f"other-{i}", text=text, relevance=0.8, kind="memory")
    for i, text in enumerate(
        [
            "ash",
            "birch",
            "cedar",
            "elm",
            "fir",
            "hazel",
            "ivy",
            "juniper",
            "larch",
            "maple",
            "oak",
            "pine",
            "rowan",
            "spruce",
            "thorn",
            "willow",
            "yew",
            "alder",
            "beech",
        ]
    )
]


def shown(context):
    """The passages that are none of the others."""
    return {p.key[1] for p in context.passages if not p.key[1].startswith("other")}


def test_what_hardly_answers_beside_the_best_is_left_out_with_both_numbers_though_there_is_room():
    """Seen 1: a tail of weak commits fills what is left."""
    found = [a_file("best", 0.9), a_file("good", 0.45), a_file("weak", 0.225), *OTHERS]
    context = ContextEngine(sources=[ListSource(found)]).build("prices")
    assert shown(context) == {"best", "good"}
    (decision,) = [d for d in context.decisions if d.key[1] == "weak"]
    assert (decision.reason, decision.details) == (Reason.NOT_WORTH_READING, {"worth": 0.25, "least": 0.5})
    assert "worth 0.25 of the best, 0.5 is the least" in context.explain("weak")


def test_the_least_worth_that_would_let_something_in_is_told_and_does():
    """Promise 12."""
    found = [a_file("best", 0.9), a_file("weak", 0.25), *OTHERS]
    context = ContextEngine(sources=[ListSource(found)]).build("prices")
    key = next(d.key for d in context.decisions if d.key[1] == "weak")
    (change,) = [c for c in what_would_it_take(context, key) if c.setting == "budget.least_worth"]
    assert (change.before, change.after) == (0.5, 0.27)
    again = replay(context, **change.settings)
    assert shown(again) == {"best", "weak"}


@pytest.mark.parametrize(
    "weak",
    [
        a_candidate(id="weak", text="Bob likes tea", kind="memory", relevance=0.01),
        a_candidate(
            id="weak", text="Bob likes tea", relevance=0.01, metadata={"path": "a.md"}, is_pinned=True
        ),
    ],
)
def test_what_stands_for_itself_or_is_pinned_is_worth_reading_however_weak(weak):
    context = ContextEngine(sources=[ListSource([a_file("best", 1.0), weak, *OTHERS])]).build("prices")
    assert shown(context) == {"best", "weak"}


def test_a_least_worth_of_nothing_leaves_nothing_out():
    found = [a_file("best", 1.0), a_file("weak", 0.01), *OTHERS]
    engine = ContextEngine(sources=[ListSource(found)], budget=Budget(least_worth=0))
    assert shown(engine.build("prices")) == {"best", "weak"}
    with pytest.raises(ConfigError, match="least_worth must be between 0 and 1"):
        Budget(least_worth=1.5)


def test_a_trace_from_before_there_was_a_least_worth_replays_to_the_same_bytes():
    """Promise 9."""
    found = [a_file("best", 1.0), a_file("weak", 0.01), *OTHERS]
    engine = ContextEngine(sources=[ListSource(found)], budget=Budget(least_worth=0))
    context = engine.build("prices")
    described = context.to_dict()
    del described["settings"]["budget"]["least_worth"]
    assert replay(Context.from_dict(described)).text == context.text


@pytest.mark.parametrize(
    "piece",
    ["See {term}`Service Locator`.", "See :class:`Container`.", "See also {doc}`the guide </guide>`:"],
)
def test_a_bare_reference_in_a_markup_tells_too_little(piece):
    assert telling_words(piece) < LEAST_WORDS


def test_among_few_records_nothing_is_said_of_their_worth():
    context = ContextEngine(sources=[ListSource([a_file("best", 1.0), a_file("weak", 0.01)])]).build("prices")
    assert shown(context) == {"best", "weak"}


def test_a_file_of_a_word_or_two_is_read_only_for_a_question_that_has_one_of_them():
    """Seen 1: `HELLO`, `tobi, loki, jane`: what tests read says nothing to anybody else."""
    found = [
        a_file("best", 1.0),
        a_candidate(
            id="input", text="HELLO", relevance=0.9, metadata={"path": "test/input.txt", "start_line": 1}
        ),
    ]
    engine = ContextEngine(sources=[ListSource(found)])
    assert [p.key[1] for p in engine.build("prices").passages] == ["best"]
    assert {p.key[1] for p in engine.build("who says hello?").passages} == {"best", "input"}


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


def commits_and_code(number=30, words=0):
    """Return a code record that answers, commits with and without a reason, and weaker code."""
    reason = (
        "Drop winter prices\n\nNobody paid them since the jetty closed, and the harbour office asked us to stop"
        " printing bills that come back."
    )
    told = [("thin", "Forget bills of winter prices at piers"), ("told", reason)]
    found = [
        a_candidate(id=id_, text=text, kind="commit", relevance=0.6, metadata={"sha": id_ * 10})
        for id_, text in told
    ]
    found.append(
        a_candidate(
            id="best", text="Winter prices fell in May.", relevance=1.0, metadata={"path": "CHANGES.md"}
        )
    )
    return found + [
        a_candidate(
            id=f"f{i}",
            text=f"Berth {i} has its own {word} and a lamp at pier {i}."
            + "".join(f" {word}{j}" for j in range(words)),
            relevance=0.58 - i / 1000,
            metadata={"path": f"{i}.md"},
        )
        for i, word in zip(range(number), [o.text for o in OTHERS] * 2, strict=False)
    ]


def test_a_subject_alone_tells_no_why():
    """Seen 6: the commit that explains loses its room to subjects of many others."""
    engine = ContextEngine(sources=[ListSource(commits_and_code())], budget=4000)
    why = engine.build("why were winter prices dropped?")
    assert {"told", "best"} <= shown(why)
    assert "thin" not in shown(why)
    dropped = next(d for d in why.decisions if d.key[1] == "thin")
    assert (dropped.reason, dropped.details["least"]) == (Reason.NOT_WORTH_READING, pytest.approx(0.7))
    assert "thin" in shown(engine.build("winter prices"))
    (change,) = [c for c in what_would_it_take(why, dropped.key) if c.setting == "budget.least_worth"]
    assert "thin" in shown(replay(why, budget=Budget(tokens=4000, least_worth=float(change.after))))


def asked_for_prices(found, budget):
    return ContextEngine(sources=[ListSource(found)], budget=budget).build("winter prices")


def test_of_what_is_indexed_the_first_few_are_read_and_more_of_a_larger_budget():
    found = commits_and_code(words=60)
    few = asked_for_prices(found, 1200)
    assert len(few.passages) <= 12
    late = next(d for d in few.decisions if d.key[1] == "f29")
    assert (late.reason, late.details) == (Reason.NOT_WORTH_READING, {"rank": 33, "most": 12})
    assert "the 33rd best, of files and histories the best 12" in few.explain(late.key)
    more = asked_for_prices(found, 2500)
    assert next(d for d in more.decisions if d.key[1] == "f29").details["most"] == 25
    before = replay(few, fusion={"edition": 4})
    assert not any("rank" in decision.details for decision in before.decisions), "promise 9"


def test_of_small_records_as_many_are_read_as_fill_the_budget():
    """Promise 11: a dozen of eight words each are no context of a thousand tokens."""
    found = commits_and_code()
    assert len(asked_for_prices(found, 1200).passages) == len(found)


def test_what_stands_for_itself_has_no_bound_of_rank():
    memories = [
        a_candidate(id=f"other-{i}", text=f"{o.text} is planted at pier {i}", kind="memory", relevance=0.9)
        for i, o in enumerate(OTHERS * 2)
    ]
    context = ContextEngine(sources=[ListSource(memories)], budget=4000).build("what is planted?")
    assert len(context.passages) == len(memories)
