"""What answers best and does not fit whole is cut in its turn; a crumb of what is worse is not read."""

from __future__ import annotations

import pytest

from langchain_context_engine import Budget, ConfigError, Context, replay
from langchain_context_engine.models.types import Reason
from tests.builders import a_candidate
from tests.pack_builders import engine_of, reasons


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
    engine = engine_of(candidates, budget=Budget(tokens=budget, least_worth=0, **fields))
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


def test_a_trace_from_before_cuts_were_made_in_turn_replays_to_the_same_bytes():
    """Promise 9."""
    context = built([BEST, NEXT, *SHORT], 180, cut_from=1)
    described = {**context.to_dict()}
    del described["settings"]["budget"]["cut_from"]
    assert replay(Context.from_dict(described), engine_of([NEXT])).text == context.text
