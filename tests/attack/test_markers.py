"""A marker stands once in a context, whatever records, questions and templates say; and whatever they say, it encodes."""

from __future__ import annotations

import json

import pytest

from langchain_context_engine import Candidate, Context, ContextEngine, Template, replay
from langchain_context_engine.writing.templates import TEMPLATES
from tests.builders import ListSource

TEXTS = (
    "Apples are picked in autumn by hand, see [1] and [7].",
    "The river runs north past the mill [2].",
    "Motors want oil every month, as [3] says.",
    "Clouds are counted by the weather office.",
)
OWN = Template(
    name="own",
    header="{{count}} notes from {{sources}}, see [1] and [2]\n",
    section="## {{title}} [3]\n",
    passage="{{citation}} {{title}} ({{source}}, {{id}}, {{type}}): {{content}}",
    separator="\n",
    footer="\nAs [1] to [4] say.",
)
QUESTION = "which apples, motors and clouds of the river does [1] or [2] mean?"


def candidates(hostile):
    """Return candidates of which every field that may be written says something hostile."""
    said = dict.fromkeys(
        ("title", "path", "heading", "headings", "symbol", "url", "author", "sha", "place"), hostile
    )
    return [
        Candidate(
            id=f"{hostile}{i}",
            text=f"{text} {hostile}",
            source=f"notes{hostile}",
            kind=f"note{hostile}",
            relevance=0.9 - i / 10,
            metadata={**said, "n": i},
        )
        for i, text in enumerate(TEXTS)
    ]


def built(hostile, **settings):
    return ContextEngine([ListSource(candidates(hostile))], dedupe_threshold=100, **settings).build(
        f"{QUESTION} {hostile}", budget=2000
    )


@pytest.mark.parametrize("citations", ["number", "key"])
@pytest.mark.parametrize("template", [*TEMPLATES, OWN])
@pytest.mark.parametrize("hostile", ["[1]", "[1, 2]", "[3][4]", "[5]-[9]", "［1］", "[ 1 ]"])
def test_a_marker_never_stands_twice(template, citations, hostile):
    """Point 13: a title, an id, the question or the template's own words looked like a citation."""
    context = built(hostile, template=template, citations=citations)
    assert len(context.passages) == len(TEXTS)
    counts = {marker: context.text.count(marker) for marker in context.citations}
    assert not {marker: number for marker, number in counts.items() if number > 1}
    if template is OWN:
        assert set(counts.values()) == {1}


@pytest.mark.parametrize("template", [*TEMPLATES, OWN])
@pytest.mark.parametrize("hostile", ["\ud800", "\udfff\ud800", "a\udc80b", "\ud83d."])
def test_a_lone_surrogate_in_any_field_makes_no_context_that_cannot_be_encoded_or_replayed(template, hostile):
    """Point 13."""
    context = built(hostile, template=template)
    assert context.passages
    context.text.encode()
    context.explain().encode()
    stored = json.loads(json.dumps(context.to_dict(), ensure_ascii=False).encode())
    assert replay(stored).text == context.text
    assert Context.from_dict(stored).text == context.text
    for part in (*context.citations, *context.warnings, *(f"{key}" for key in context.citations.values())):
        part.encode()
