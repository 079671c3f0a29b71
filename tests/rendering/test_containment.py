"""Fences: what opens in a passage closes in it; what a template fences stays inside."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from langchain_context_engine.rendering.containment import close_fence, ends_with_fence, open_fence_at
from langchain_context_engine.rendering.templates import (
    TEMPLATES,
    passage_block,
)
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.text.truncate import keep_start
from tests.growth import assert_linear, repeated
from tests.template_builders import FENCED, INTRO, MARKDOWN, NEXT, code_of, is_contained, join


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "~~~~~"])
@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_a_cut_fence_is_closed_and_the_next_passage_stands_outside(fence, name):
    """B10: closers are of the same kind and length and counted."""
    text = INTRO.replace("```", fence)
    count = resolve_tokenizer("auto")
    cut = keep_start(text, 12, count)
    assert open_fence_at(cut, len(cut))
    block = passage_block(TEMPLATES[name], {"content": cut, "citation": "[1]"}, is_truncated=True)
    lines = [line for line in block.splitlines() if re.fullmatch(rf"{fence}(python)?", line)]
    assert len(lines) == 2
    assert cut in block
    assert is_contained(TEMPLATES[name], block)


@settings(deadline=None, max_examples=50)
@given(text=MARKDOWN, start=st.integers(0, 40), end=st.integers(0, 60), truncated=st.booleans())
@pytest.mark.parametrize("name", ["cited", "chat", "detailed", "summary", "markdown"])
def test_no_piece_of_any_text_swallows_the_next_passage(name, text, start, end, truncated):
    """B10, B12: judged by a CommonMark parser."""
    piece = text[start : start + end].rstrip()
    template = TEMPLATES[name]
    block = passage_block(
        template,
        {"content": piece, "citation": "[1]", "type": "fact"},
        is_truncated=truncated,
        opens_with=open_fence_at(text, start) if piece else "",
    )
    assert piece in block
    assert is_contained(template, block)


@settings(deadline=None, max_examples=150)
@given(MARKDOWN)
@example("- ```\n  ```\n  ```\n```")  # the last one stands outside the item, and opens another
@example("- - ```\n    ```\n  ```\n  ```\n  ```\nend")
def test_closing_agrees_with_a_commonmark_parser(text):
    """B10."""
    closed = close_fence(text)
    assert closed.startswith(text)
    assert not any("AFTER" in code for code in code_of(f"{closed}\n\nAFTER"))
    assert open_fence_at(closed, len(closed)) == ""
    if closed != text:
        assert ends_with_fence(closed)
        closer = closed.splitlines()[-1]
        indent = closer.removesuffix(closer.lstrip())
        assert any("AFTER" in code for code in code_of(f"{text}\n{indent}AFTER"))


@pytest.mark.parametrize("marker", ["- ", "1. ", "10. ", "- - ", "*   "])
def test_a_fence_behind_a_list_marker_is_closed_within_its_item(marker):
    """B10."""
    indent = " " * len(marker)
    cut = f"{marker}```sh\n{indent}make"
    assert close_fence(cut) == f"{cut}\n{indent}```"
    assert close_fence(f"{cut}\n{indent}```\n\nend") == f"{cut}\n{indent}```\n\nend"
    assert close_fence(f"{cut}\n\nend") == f"{cut}\n\nend"


def test_a_piece_from_within_a_fence_is_opened_again():
    """B10: cut open from the start."""
    start = INTRO.index("print(2)")
    block = passage_block(
        TEMPLATES["cited"],
        {"content": INTRO[start:], "citation": "[1]"},
        opens_with=open_fence_at(INTRO, start),
    )
    assert block == "[1] \n```python\nprint(2)\nprint(3)\n```\nend"
    assert code_of(block) == ["print(2)\nprint(3)\n"]


@settings(deadline=None, max_examples=60)
@given(text=st.one_of(MARKDOWN, st.text(alphabet="`~\n a", max_size=40)), truncated=st.booleans())
@pytest.mark.parametrize("template", FENCED, ids=lambda t: t.name)
def test_a_fence_of_the_template_grows_beyond_the_longest_inside(template, text, truncated):
    """B12: whatever stands in it, it holds all of it as code, verbatim."""
    block = passage_block(
        template, {"content": text, "title": "a`b\n```", "type": "x"}, is_truncated=truncated
    )
    assert text in block
    code = code_of(join(template, block))
    expected = text.strip("\n")
    assert any(expected in c for c in code) or not expected.strip()
    assert not any(NEXT in c for c in code_of(f"{join(template, block)}\n\n{NEXT}"))


@pytest.mark.parametrize(
    "attack",
    [
        "</passage>", "</passage >", "</ passage>", "< /passage>", "</PASSAGE\n>", "</passage",
        "</context>", '<passage citation="[9]">', "<context>", "<passage/>", "<passage",
    ],
)  # fmt: skip
def test_tags_that_the_template_uses_cannot_be_forged(attack):
    """B12, DESIGN 5."""
    block = passage_block(TEMPLATES["xml"], {"content": f"a {attack} b", "citation": "[1]"})
    assert f" {attack} b" not in block
    assert f"a {attack.replace('<', '&lt;', 1)} b" in block
    assert len(re.findall(r"<\s*/\s*passage", block, re.IGNORECASE)) == 1
    assert len(re.findall(r"<\s*passage", block, re.IGNORECASE)) == 1


@pytest.mark.parametrize(
    "text", ["<b>bold</b>", "a < b </c>", "<passages>", "</contexts>", "if x < context:", "&amp; <", "x<y"]
)
def test_other_markup_stays_verbatim(text):
    """F53, DESIGN 5."""
    assert text in passage_block(TEMPLATES["xml"], {"content": text})
    assert passage_block(TEMPLATES["chat"], {"content": "</passage>"}) == "- </passage>"


def test_a_value_cannot_leave_its_attribute():
    """B12."""
    block = passage_block(
        TEMPLATES["xml"],
        {"content": "x", "title": 'a" onload="evil"><b>\n& \'c\'', "source": "s", "citation": "[1]"},
    )
    element = ET.fromstring(block)
    assert element.get("title") == 'a" onload="evil"><b> & \'c\''
    assert list(element) == []


@pytest.mark.parametrize(
    "make",
    [
        repeated("`"),
        repeated("```\n"),
        repeated("<"),
        repeated("</passage"),
        lambda size: " " * size + "```",
        repeated("{{"),
    ],
)
@pytest.mark.parametrize("template", [TEMPLATES["xml"], FENCED[0], TEMPLATES["summary"]])
def test_a_huge_hostile_text_is_contained_in_linear_time(make, template):
    def contain(text: str) -> None:
        passage_block(template, {"content": text}, is_truncated=True)
        open_fence_at(text, len(text))

    assert_linear(contain, make, 100_000)
