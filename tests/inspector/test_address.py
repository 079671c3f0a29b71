"""Whatever an address says, the page is drawn, and nothing of it is run or believed: not a mistake of ours."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langchain_context_engine import Journal
from tests.inspector.builders import HOSTILE, a_context, a_page, said

GARBAGE = st.sampled_from(
    ["", "-1", "0", "1e999", "NaN", "inf", "9" * 30, "0x10", "None", "True", "[]", "{}", "a~b=c", "try-x~k=",
     "2026-99-99", "0001-01-01", "9999-12-31", "../../etc/passwd", "\u202eabc\u200b", HOSTILE]
)  # fmt: skip
ASKED = {
    "traces": ("q", "since", "until", "live", "only", "sorted", "page"),
    "explain": ("section", "shown", "find", "candidate", "textview"),
    "tune": (
        "budget", "k", "w_relevance", "w_keyword", "item_cap", "source_cap", "reserve", "threshold", "min_score",
        "selection", "order", "truncator", "template", "changed-only",
    ),
    "compare": ("compare", "onlydiff"),
    "judge": ("judging", "rater", "unjudged"),
    "sets": ("set",),
    "figures": ("timed",),
    "collections": ("where",),
}  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("address") / "j.db"
    with Journal(path) as journal:
        return path, journal.record(a_context())


@pytest.mark.parametrize("page", ASKED)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_address_of_garbage_draws_the_page(page, recorded, monkeypatch, data):
    path, name = recorded
    asked = data.draw(
        st.dictionaries(st.sampled_from(ASKED[page]), GARBAGE | st.text(max_size=8), max_size=6)
    )
    trace = data.draw(st.sampled_from([name, name, "sample-latest", "x~y", ""]) | GARBAGE)
    at = a_page(page, trace=trace, journal=path, monkeypatch=monkeypatch, **asked)
    assert not at.exception
    assert "mistake of the inspector" not in said(at)
