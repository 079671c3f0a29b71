"""What the values promise: nobody else can change them, and they can always be written down."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel, SecretStr

from langchain_context_engine import Candidate, ConfigError, Context, ContextEngine, ContextRequest
from tests.builders import ListSource, a_candidate


@pytest.mark.parametrize("make", [lambda m: Candidate(id="a", metadata=m), lambda m: ContextRequest(scope=m)])
def test_what_a_caller_does_later_to_a_mapping_changes_no_value(make):
    given = {"user": ["me"], "deep": {"list": [1]}}
    value = make(given)
    given["user"].append("other")
    given["deep"]["list"].append(2)
    given["more"] = 1
    assert (value.metadata if isinstance(value, Candidate) else value.scope) == {
        "user": ["me"],
        "deep": {"list": [1]},
    }


@pytest.mark.parametrize("field", ["id", "text", "kind", "source", "title", "nested"])
def test_a_context_is_written_whatever_field_holds_a_lone_surrogate(field):
    """A2."""
    broken = "a\ud83db"
    fields = {"metadata": {field: [broken]}} if field in {"title", "nested"} else {field: broken}
    engine = ContextEngine([ListSource([a_candidate(**{"text": "fine", **fields})])], template="detailed")
    context = engine.build("fine")
    assert len(context.passages) == 1
    context.text.encode()
    json.dumps(context.to_dict(), ensure_ascii=False).encode()
    assert Context.from_dict(context.to_dict()) == context


class MeddlingSource(ListSource):
    """A source that widens the scope it is given."""

    def fetch(self, request):
        request.scope["user"] = "other"
        request.where.clear()
        return super().fetch(request)


def test_a_source_that_changes_its_request_changes_nobody_elses():
    """Promise 4."""
    theirs, mine = (
        a_candidate(text=text, metadata={"user": user})
        for text, user in (("their words", "other"), ("my note", "me"))
    )
    engine = ContextEngine([MeddlingSource([theirs, mine], "a"), ListSource([theirs, mine], "b")])
    assert engine.build("note", scope={"user": "me"}).text == "[1] my note"


@pytest.mark.parametrize(
    "wrong",
    [
        {"vector": ["x"]},
        {"history": 5},
        {"history": [("user",)]},
        {"sources": b"notes"},
        {"excluded": {"a": 1}},
    ],
)
def test_a_request_field_of_the_wrong_type_is_refused_naming_it(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        ContextRequest(**wrong)


@pytest.mark.parametrize(
    "text", ["\u200b", "\ufeff\n", " \u00ad\u2060 ", "\x00\x1f", "\u3164", "\u2800\ufe0f"]
)
def test_a_text_in_which_nothing_can_be_seen_is_empty(text):
    """D26."""
    context = ContextEngine(
        [ListSource([a_candidate(id="blank", text=text), a_candidate(text="real")])]
    ).build("q")
    assert context.text == "[1] real"
    assert [d.reason for d in context.decisions if d.key[1] == "blank"] == ["empty"]


def test_more_than_there_ever_are_is_all_and_no_library_is_asked_for_it():
    """A limit of a billion ended the process: 53 GB were asked for before anything was looked at."""
    request = ContextRequest(limit=10**9, offset=10**9, k=10**9, depth=10**9)
    assert (request.limit, request.offset, request.k, request.depth) == (10**6, 10**6, 10**6, 1000)
    with pytest.raises(ConfigError, match="limit"):
        ContextRequest(limit=10**10)


@dataclass
class Pair:
    first: object
    second: object = None


class Model(BaseModel):
    at: datetime = datetime(2026, 1, 2, tzinfo=UTC)


LOOP = Pair(1)
LOOP.second = LOOP


class Mute:
    def __repr__(self):
        raise RuntimeError

    __hash__ = None


@pytest.mark.parametrize(
    ("odd", "kept"),
    [
        (pd.NA, None), (pd.NaT, None), (np.longdouble(0.5), 0.5), (pd.Series([1, 2]), [1, 2]),
        (np.array(["2026-01-02"], "M8[ns]"), ["2026-01-02T00:00:00"]),
        (timedelta(1), "P1D"), (time(1, 2), "01:02:00"), (b"ab", "ab"), (Decimal("sNaN"), "…"),
        (Pair(np.float32(1), {2}), {"first": 1.0, "second": [2]}), (Model(), {"at": "2026-01-02T00:00:00Z"}),
        ([Mute(), 1], [f"<{__name__}.Mute>", 1]), (SecretStr("sk-1"), "**********"),
    ],
)  # fmt: skip
def test_what_a_record_holds_is_data_to_whoever_reads_it(odd, kept):
    """L1: a missing value of pandas cost the record, numpy's long double the question, nanoseconds were a number."""
    assert a_candidate(metadata={"odd": odd}).metadata == {"odd": kept}
