"""What agents are given: plain JSON that reads back, several contexts at once, and a word where a store is down."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, StrEnum

import numpy as np
import pandas as pd
import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, SecretStr

from langchain_context_engine import (
    AllSourcesFailedError,
    ConfigError,
    ContextEngine,
)
from langchain_context_engine.langchain.middleware import ContextEngineMiddleware
from langchain_context_engine.langchain.calls import NOT_ASKED
from langchain_context_engine.langchain.tool import as_tool
from tests.builders import FailingSource, ListSource, a_candidate
from tests.langchain.test_middleware import ShowingModel


class Colour(Enum):
    RED = 1


class Tier(StrEnum):
    GOLD = "gold"


def an_odd_engine():
    return ContextEngine(
        [
            ListSource(
                [
                    a_candidate(
                        id="r1",
                        text="Pay by card.",
                        relevance=np.float32(0.5),
                        claims={"dense": np.float64(0.4)},
                        metadata={
                            "relevance_score": np.float32(0.25),
                            "vector": np.array([1, 2]),
                            "colour": Colour.RED,
                            "tier": Tier.GOLD,
                            "at": datetime(2026, 1, 2, tzinfo=UTC),
                        },
                    )
                ]
            )
        ]
    )


def a_call():
    return {"name": "search_context", "args": {"query": "pay?"}, "id": "1", "type": "tool_call"}


def a_turn(**settings):
    model = ShowingModel(answers=[AIMessage("", tool_calls=[a_call()]), AIMessage("done")])
    if "tools" not in settings:
        model.answers.pop(0)
    agent = create_agent(model, settings.pop("tools", []), checkpointer=InMemorySaver(), **settings)
    config = {"configurable": {"thread_id": "1"}}
    return agent.invoke({"messages": [("user", "pay?")]}, config), model


def test_an_agents_state_and_artifact_are_plain_json():
    """L1, L2: numpy's numbers and enums in metadata killed a checkpointed agent."""
    engine = an_odd_engine()
    result, _ = a_turn(tools=[as_tool(engine)], middleware=[ContextEngineMiddleware(engine)])
    artifact = next(m for m in result["messages"] if m.type == "tool").artifact
    assert json.loads(json.dumps(artifact)) == artifact
    (passage,) = json.loads(json.dumps(result["context_passages"]))
    assert passage["metadata"] == {
        "relevance_score": 0.25, "vector": [1, 2], "colour": 1, "tier": "gold", "at": "2026-01-02T00:00:00Z",
    }  # fmt: skip


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


def test_what_holds_itself_ends():
    assert a_candidate(metadata={"loop": LOOP, "other": 1}).metadata == {"loop": "…", "other": 1}


def test_two_contexts_in_one_agent_have_names_and_do_not_mix():
    """L8."""
    first = ContextEngine([ListSource([a_candidate(text="Pay by card.")])])
    second = ContextEngine([ListSource([a_candidate(text="Cards cost two percent.")])])
    result, model = a_turn(
        middleware=[ContextEngineMiddleware(first), ContextEngineMiddleware(second, name="prices")]
    )
    shown = str(model.calls[0][0].content)
    assert shown.count("Pay by card.") == shown.count("Cards cost two percent.") == 1
    assert [p["text"] for p in result["context_passages"]] == ["Pay by card."]
    assert [p["text"] for p in result["context_passages_prices"]] == ["Cards cost two percent."]


def test_a_model_is_told_that_no_source_could_be_asked():
    """L9: one policy for tool, middleware and MCP."""
    engine = ContextEngine([FailingSource(RuntimeError("down, api_key=sk-123"))])
    result, model = a_turn(tools=[as_tool(engine)], middleware=[ContextEngineMiddleware(engine)])
    assert result["messages"][-1].content == "done"
    assert next(m for m in result["messages"] if m.type == "tool").content == NOT_ASKED
    assert NOT_ASKED in str(model.calls[0][0].content)
    assert result["context_passages"] == []


@pytest.mark.parametrize("part", ["tool", "middleware"])
def test_who_wants_that_raised_says_so(part):
    """L9."""
    engine = ContextEngine([FailingSource(RuntimeError("down"))])

    def attempt():
        if part == "tool":
            return as_tool(engine, on_failure="raise").invoke({"query": "pay?"})
        return a_turn(middleware=[ContextEngineMiddleware(engine, on_failure="raise")])

    with pytest.raises(AllSourcesFailedError):
        attempt()
    with pytest.raises(ConfigError, match="on_failure"):
        as_tool(engine, on_failure="ignore")


def test_a_chains_own_keys_are_left_alone():
    """L6."""
    engine = ContextEngine([ListSource([a_candidate(text="Pay by card.", metadata={"tenant": "acme"})])])
    own = {"question_id": 7, "source": "web", "kind": "faq", "inputs": {}, "score": 3, "included": 1}
    asked = {"question": "pay?", **own, "context_request": {"scope": {"tenant": "acme"}, "budget": 50}}
    context = engine.as_runnable().invoke(asked)
    assert context.text == "[1] Pay by card."
    assert (context.request.scope, context.budget) == ({"tenant": "acme"}, 50)


@pytest.mark.parametrize("name", ["ok", "pk", "know", "snow", "here_is"])
def test_a_foreign_key_need_not_differ_much_from_a_short_field(name):
    """L6: `pk` was taken for `k`, `know` for `now`."""
    assert ContextEngine([]).as_runnable().invoke({"question": "pay?", name: 1}).text == ""
