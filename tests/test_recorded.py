"""Traces that were recorded once and lie in the repository: what they said then, they say now."""

from __future__ import annotations

import json

import pytest
import Stemmer

from langchain_context_engine import Context, replay
from tests.conftest import ROOT

RECORDED = sorted((ROOT / "inspector" / "samples").glob("*.json"))


@pytest.mark.skipif(Stemmer.version() < "3", reason="the words of the samples were stemmed by Snowball 3")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_trace_replays_to_the_same_bytes(path):
    """Promise 9, over versions: a change of this is told in the changelog, and the samples recorded anew."""
    recorded = Context.from_dict(json.loads(path.read_text(encoding="utf-8")))
    again = replay(recorded)
    assert again.text.encode() == recorded.text.encode()
    assert again.citations == recorded.citations
