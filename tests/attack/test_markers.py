"""A marker stands once in a context, whatever records, questions and templates say; and whatever they say, it encodes."""

from __future__ import annotations

import json

import pytest

from langchain_context_engine import Candidate, Context, ContextEngine, Template, replay
from langchain_context_engine.rendering.citations import used_citations
from langchain_context_engine.rendering.templates import TEMPLATES
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
@pytest.mark.parametrize("hostile", ["[1]", "[1, 2]", "[3][4]", "[5]-[9]", "［1］", "【1】", "〔 1 〕"])
def test_a_marker_never_stands_twice(template, citations, hostile):
    """Point 13: a title, an id, the question or the template's own words looked like a citation."""
    context = built(hostile, template=template, citations=citations)
    assert len(context.passages) == len(TEXTS)
    counts = {marker: context.text.count(marker) for marker in context.citations}
    assert not {marker: number for marker, number in counts.items() if number > 1}
    if template is OWN:
        assert set(counts.values()) == {1}


BRACKETED = (
    {"passage": "{{citation}} {{content}} [{{title}}]"},
    {"passage": "[{{id}}] {{citation}} {{content}}"},
    {"passage": "{{citation}} {{content}} [ {{title}}, {{id}} ]"},
    {"passage": "{{citation}} {{content}} 【{{id}}】"},
    {"passage": "{{citation}} [{{title}}-{{id}}] {{content}}"},
    {"passage": "{{citation}} [1{{id}}] {{content}}"},
    {"passage": "{{citation}} [{{content}}, {{id}}]"},
    {"passage": "{{citation}} {{content}}", "section": "[{{title}}] [{{count}}]\n"},
    {"passage": "{{citation}} {{content}}", "header": "[{{count}}, {{sources}}]\n"},
    {"passage": "{{citation}} {{content}}", "note": " [{{id}}]"},
    {"passage": "{{id}}", "header": "[", "separator": ", ", "footer": "]"},
)


@pytest.mark.parametrize(
    "ids", [["1", "2", "3", "4"], ["4", "3", "2", "1"], ["2", "1, 3", "1-4", "x"], ["【1】", "2", "3", "[4"]]
)
@pytest.mark.parametrize("own", BRACKETED, ids=str)
def test_brackets_that_a_template_writes_around_a_field_look_like_no_marker(own, ids):
    """Promise 6: `[{{title}}]` of a record that is called 2 stood beside passage 1."""
    notes = [
        Candidate(id=id_, text=text, kind=id_, source="2", relevance=0.9 - i / 10, metadata={"title": ids[-1 - i]})
        for i, (id_, text) in enumerate(zip(ids, TEXTS, strict=True))
    ]  # fmt: skip
    engine = ContextEngine([ListSource(notes)], template=Template(name="own", **own), dedupe_threshold=100)
    for budget in (30, 500):
        context = engine.build(QUESTION, budget=budget)
        assert context.citations
        rest = context.text
        for marker in context.citations:
            assert context.text.count(marker) == ("{{citation}}" in own["passage"])
            rest = rest.replace(marker, "")
        assert used_citations(rest, context.citations) == ()
        assert replay(context.to_dict()).text == context.text


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
