"""Templates fill in one pass; foreign text stays in its place."""

from __future__ import annotations

import pytest
from langchain_core.prompts import PromptTemplate

from langchain_context_engine import ContextEngine
from langchain_context_engine.errors import TemplateError
from langchain_context_engine.rendering.templates import (
    TEMPLATES,
    Template,
    passage_block,
    passage_values,
)
from tests.builders import ListSource, a_candidate


def test_content_with_braces_is_verbatim():
    """F50."""
    content = '{"a": {b}} {0} {} {{content}} {{title}} $x \\1'
    assert passage_block(TEMPLATES["chat"], {"content": content}) == f"- {content}"
    prompt = PromptTemplate.from_template("Context:\n{context}")
    assert prompt.format(context=content) == f"Context:\n{content}"


@pytest.mark.parametrize("field", ["header", "passage", "separator", "footer", "section", "note"])
@pytest.mark.parametrize(
    "variable",
    [
        "content.__class__", "foo", "content[0]", "content|upper", "7*7", "content()", "#each", "_",
        "Content", " 'x' ",
    ],
)  # fmt: skip
def test_a_template_with_an_unknown_variable_is_refused(field, variable):
    """F51, F52: the known ones are listed, for every field."""
    with pytest.raises(TemplateError, match=field) as caught:
        Template(name="bad", **{field: f"a {{{{{variable}}}}} b"})
    assert "known:" in str(caught.value)
    assert variable.strip() in str(caught.value)


def test_jinja_in_content_is_literal():
    """F51."""
    content = "{{ ''.__class__ }} {% for x in y %}"
    assert content in passage_block(TEMPLATES["cited"], {"content": content, "citation": "[1]"})


@pytest.mark.parametrize(
    ("confidence", "shown"),
    [
        (0, "0.00"),
        (1, "1.00"),
        ("0.9", "0.90"),
        (7, "1.00"),
        (-1, "0.00"),
        (None, ""),
        ("high", ""),
        (float("nan"), ""),
        (True, ""),
    ],
)
def test_confidence_has_two_decimals_and_zero_is_not_missing(confidence, shown):
    """E44, E46."""
    assert passage_values(a_candidate(metadata={"confidence": confidence}))["confidence"] == shown


@pytest.mark.parametrize("name", ["placed", "markdown", "xml", "sections"])
@pytest.mark.parametrize(
    ("metadata", "place"),
    [
        ({"path": "a.py", "start_line": 3, "end_line": 9}, "a.py:3-9"),
        ({"path": "a.md", "headings": "Tea › Green"}, "a.md › Tea › Green"),
        ({"source": "docs/report.pdf", "page": 2}, "docs/report.pdf › page 3"),
        ({"source": "people.csv", "row": 0}, "people.csv › row 1"),
    ],
)
def test_every_template_that_cites_shows_the_place(name, metadata, place):
    """B14: lines, headings, and what LangChain's loaders say."""
    found = [a_candidate(text="one", metadata=metadata), a_candidate(text="two")]
    text = ContextEngine([ListSource(found)], template=name).build("q").text
    assert text.count(place) == 1
    assert "()" not in text
    assert 'place=""' not in text


def test_a_cut_that_ends_in_the_middle_of_a_sentence_is_marked():
    words = " ".join(f"word{n}" for n in range(80))
    for text in (words, f"One whole sentence. {words}"):
        engine = ContextEngine([ListSource([a_candidate(text=text)])], truncator="keep_start")
        context = engine.build("q", budget=40)
        assert context.tokens <= 40
        (passage,) = context.passages
        assert text.startswith(passage.text)
        assert context.text.endswith(f"{passage.text} …") or passage.text.endswith(".")
