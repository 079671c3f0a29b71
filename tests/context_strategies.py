"""Contexts of any content, as hypothesis strategies."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

from langchain_context_engine.models.request import ContextRequest, Message
from langchain_context_engine.models.types import (
    Candidate,
    Decision,
    Passage,
    Ranked,
    Reason,
    Section,
    Status,
    Verdict,
)
from langchain_context_engine.trace.context import Context

TEXTS = st.text(max_size=12)
UNITS = st.floats(0, 1)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
INSTANTS = st.datetimes(
    datetime(2, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    datetime(9998, 1, 1),  # noqa: DTZ001 - in any time zone still a date
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]),
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), FINITE, TEXTS)
FOREIGN = st.one_of(
    SCALARS,
    INSTANTS,
    st.datetimes(),
    st.dates(),
    st.binary(max_size=4),
    st.decimals(),
    st.uuids(),
    st.floats(),
    st.frozensets(TEXTS, max_size=3),
    st.just(object()),
)
"""What a record's metadata hold, JSON or not: it becomes JSON at the door."""


def nested(values):
    return st.recursive(
        values,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(TEXTS | st.integers(), inner, max_size=3),
        ),
        max_leaves=6,
    )


METADATA = st.dictionaries(TEXTS, nested(FOREIGN), max_size=3)
JSON = st.dictionaries(TEXTS, nested(SCALARS).map(lambda value: json.loads(json.dumps(value))), max_size=3)
FILTERS = st.dictionaries(TEXTS, nested(st.one_of(SCALARS, st.dates(), INSTANTS)), max_size=3)
KEYS = st.tuples(TEXTS, TEXTS)
CANDIDATES = st.builds(
    Candidate,
    id=TEXTS,
    text=TEXTS,
    source=TEXTS,
    kind=TEXTS,
    relevance=UNITS,
    claims=st.dictionaries(TEXTS, FINITE, max_size=2),
    created_at=st.none() | INSTANTS,
    metadata=METADATA,
    provenance=st.lists(TEXTS, max_size=2),
    neighbours=st.lists(TEXTS, max_size=2),
    position=st.none() | st.tuples(TEXTS, FINITE),
    is_pinned=st.booleans(),
)
RANKED = st.builds(
    Ranked,
    candidate=CANDIDATES,
    signals=st.dictionaries(TEXTS, UNITS, max_size=2),
    contributions=st.dictionaries(TEXTS, UNITS, max_size=2),
    also_in=st.lists(KEYS, max_size=2).map(tuple),
)
MESSAGES = st.builds(Message, role=TEXTS, text=TEXTS, id=TEXTS, created_at=st.none() | INSTANTS)
REQUESTS = st.builds(
    ContextRequest,
    query=TEXTS,
    vector=st.none() | st.lists(FINITE, max_size=3).map(tuple),
    scope=FILTERS,
    where=FILTERS,
    kinds=st.none() | st.lists(TEXTS, max_size=2).map(tuple),
    since=st.none() | INSTANTS,
    min_confidence=st.none() | UNITS,
    conversation_id=st.none() | TEXTS,
    history=st.lists(MESSAGES, max_size=2),
    pinned=st.lists(st.one_of(TEXTS, KEYS, CANDIDATES), max_size=2),
    excluded=st.lists(st.one_of(TEXTS, KEYS), max_size=2),
    focus=JSON,
    limit=st.none() | st.integers(0, 9),
    budget=st.none() | st.integers(0, 9),
    now=st.none() | INSTANTS,
)


@st.composite
def contexts(draw) -> Context:
    ranked = draw(st.lists(RANKED, max_size=3))
    passages = tuple(
        Passage(
            ranked=r,
            text=draw(TEXTS),
            tokens=draw(st.integers(0, 99)),
            citation=draw(TEXTS),
            is_truncated=draw(st.booleans()),
            also_in=r.also_in,
            spans=draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=2).map(tuple)),
        )
        for r in ranked
    )
    offered = tuple(r.candidate for r in ranked if draw(st.booleans()))
    return Context(
        text=draw(TEXTS),
        tokens=draw(st.integers(0, 99)),
        budget=draw(st.integers(0, 99)),
        passages=passages,
        citations=draw(st.dictionaries(TEXTS, KEYS, max_size=2)),
        sections=tuple(Section(title=draw(TEXTS), keys=(p.key,), tokens=1) for p in passages),
        decisions=tuple(
            Decision(
                stage="pack",
                key=p.key,
                verdict=draw(st.sampled_from(Verdict)),
                reason=draw(st.sampled_from(Reason)),
                details=draw(st.dictionaries(TEXTS, SCALARS | KEYS, max_size=3)),
            )
            for p in passages
        ),
        warnings=tuple(draw(st.lists(TEXTS, max_size=2))),
        timings=draw(st.dictionaries(TEXTS, FINITE, max_size=2)),
        status=draw(st.sampled_from(Status)),
        is_truncated=draw(st.booleans()),
        request=draw(REQUESTS),
        candidates=offered,
        settings=draw(JSON),
    )
