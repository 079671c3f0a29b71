"""One candidate's way from a source to the text, the six stages called by hand: read this first."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from langchain_context_engine import Candidate, ContextRequest, EngineConfig
from langchain_context_engine.pipeline.collect import collect
from langchain_context_engine.pipeline.dedupe import dedupe
from langchain_context_engine.pipeline.expand import expand
from langchain_context_engine.pipeline.pack import pack
from langchain_context_engine.pipeline.rank import rank
from langchain_context_engine.pipeline.render import render


class Notes:
    name = "notes"

    def fetch(self, request):
        return [
            Candidate(id="ann", text="Invoices go out on the first day of the month.", relevance=0.9),
            Candidate(id="bob", text="Invoices go out on the first day of each month.", relevance=0.8),
            Candidate(id="cat", text="The office is closed on Sundays.", relevance=0.2),
        ]


def test_a_candidate_goes_from_its_source_to_the_text_in_six_steps():
    request = ContextRequest(query="When do invoices go out?", now=datetime.now(UTC), budget=20, limit=10)
    parts = EngineConfig().parts()
    deadline = time.monotonic() + 30

    collected = collect([Notes()], request, deadline)  # every source is asked; Candidates come back
    assert [candidate.id for candidate in collected.candidates] == ["ann", "bob", "cat"]

    expanded = expand(
        collected.candidates, request, [Notes()], deadline, fusion=parts.config.fusion
    )  # links and neighbours: none here
    assert expanded.candidates == collected.candidates

    ranking = rank(
        expanded.candidates,
        request,
        signals=parts.signals,
        weights={"relevance": 1.0},
        fusion=parts.config.fusion,
    )
    assert [round(item.score, 1) for item in ranking.items] == [0.9, 0.8, 0.2]

    unique, fallen = dedupe(ranking.items, threshold=90)  # bob says what ann says
    assert [(d.key[1], d.reason, d.details["winner"][1]) for d in fallen if d.key[1] == "bob"] == [
        ("bob", "duplicate", "ann")
    ]

    packing = parts.packing_for(request)
    packed = pack(unique, request.query, packing)  # ann fits, cat would be the 21st token
    assert {d.key[1]: str(d.reason) for d in packed.decisions} == {"ann": "whole", "cat": "over_budget"}

    rendered = render(packed.written, layout=packing.layout, count=packing.count)
    assert rendered.text == "[1] Invoices go out on the first day of the month."
    assert rendered.tokens == packing.count(rendered.text) <= 20
    assert rendered.passages[0].also_in == (("notes", "bob"),)
