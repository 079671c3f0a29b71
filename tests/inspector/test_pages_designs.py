"""A trace of each design opens on every page of the inspector, with its knobs working."""

from __future__ import annotations

import json

import pytest

from langchain_context_engine import Context
from tests.designs.test_replay import DESIGNS
from tests.inspector.builders import a_page, said

PAGES = ("traces", "explain", "tune", "compare", "judge", "sets", "figures", "collections")


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.__name__)
def test_every_page_opens_on_a_trace_of_a_design(design, monkeypatch):
    """Issue 13, point 1: the inspector understands what a design recorded, without the design."""
    given, _ = design()
    trace = Context.from_dict(json.loads(given.to_json()))
    at = a_page("traces", trace="upload-1", opened={"upload-1": trace}, monkeypatch=monkeypatch)
    for page in PAGES:
        if page != "traces":
            at.switch_page(f"views/{page}.py").run()
        assert not at.exception, page
        assert not at.error, page
        if page in {"explain", "tune", "judge"}:
            assert trace.request.query[:20] in said(at) or trace.parts, page
