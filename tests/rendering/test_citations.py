"""Markers are unique, resolve to the text they stand beside, and occur in no text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.models.types import Passage, Ranked
from langchain_context_engine.rendering.citations import (
    CITATION_STYLES,
    key_markers,
    list_citations,
    number_markers,
    sources_block,
    used_citations,
)
from langchain_context_engine.rendering.layout import Layout, Writer
from langchain_context_engine.rendering.templates import TEMPLATES
from langchain_context_engine.trace.context import Context
from tests.builders import a_candidate

HOSTILE = st.lists(
    st.sampled_from(
        [
            "[1]", "[2]", "[1, 2]", "[3-5]", "[", "]", "[[2]]", "[ 1 ]", "[007]", "word", " ", "[x]",
            "[1; 4]", "[9][1]",
        ]
    ),
    max_size=12,
).map("".join)  # fmt: skip


def a_passage(citation="", text=None, **fields) -> Passage:
    candidate = a_candidate(**({"text": text} if text is not None else {}), **fields)
    ranked = Ranked(candidate=candidate, contributions={"relevance": 0.7})
    return Passage(ranked=ranked, text=candidate.text, citation=citation)


def a_context(*passages: Passage) -> Context:
    return Context(passages=passages, citations={p.citation: p.key for p in passages})


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("see [1] above", "[2]"),
        ("see [1][2]", "[3]"),
        ("see [1, 2]", "[3]"),
        ("see [1-3]", "[4]"),
        ("see [1–3; 4]", "[5]"),
        ("see [ 1 ]", "[2]"),
        ("see [[1]]", "[2]"),
        ("x[1]", "[2]"),
        ("see [1 and 2]", "[3]"),
        ("see [2]", "[1]"),
        ("see ［1］", "[2]"),
        ("see 【1、2】", "[3]"),
        ("see [1～3]", "[4]"),
        ("see [^1]", "[2]"),
        ("see [Sources: 1, 2]", "[3]"),
        ("see [1 to 3]", "[4]"),
        ("see [1/2]", "[1]"),
        ("see [1-999999999]", "[1]"),
        ("see [page 1]", "[1]"),
        ("see [1.]", "[2]"),
        ("&cmdline[1..]", "[1]"),
        ("&cmdline[..1]", "[1]"),
    ],
)
def test_a_number_that_a_text_uses_is_no_marker(text, first):
    """L92, B12, T6: what would be read as a citation in an answer is no marker."""
    assert number_markers([a_passage()], [text]) == [first]


@settings(deadline=None, max_examples=150)
@given(st.lists(HOSTILE, max_size=6))
def test_number_markers_are_unique_and_occur_in_no_text(texts):
    """L92."""
    markers = number_markers([a_passage() for _ in texts], texts)
    assert len(markers) == len(set(markers)) == len(texts)
    assert not any(marker in text for marker in markers for text in texts)
    # A text quoted in the answer cites nothing.
    assert all(used_citations(text, markers) == () for text in texts)


def keyed(*items, avoid=()):
    """Return the markers of (kind, key) pairs."""
    return key_markers([a_passage(kind=kind, source=key[0], id=key[1]) for kind, key in items], avoid)


def test_key_markers_say_the_kind_and_are_the_same_every_time():
    """C8."""
    items = [("file", ("docs", "a.md")), ("message", ("chat", "7")), ("", ("7", "1")), ("記憶", ("s", "2"))]
    markers = keyed(*items)
    assert [m[:5] for m in markers] == ["[fil-", "[mes-", "[src-", "[src-"]
    assert markers == keyed(*items)
    assert markers[1:] == keyed(*items[1:])
    assert markers[::-1] == keyed(*items[::-1])


def test_keys_that_join_to_the_same_text_have_different_markers():
    """I78."""
    assert len(set(keyed(("k", ("a:b", "c")), ("k", ("a", "b:c")), ("k", ("a", ":bc"))))) == 3


def test_key_markers_differ_where_two_hashes_collide():
    """C8: unique for certain; ids whose first six digits are equal, found by search."""
    pair = [("file", ("s", "60592")), ("file", ("s", "96009"))]
    short = [keyed(item)[0] for item in pair]
    assert short[0] == short[1]
    first, second = keyed(*pair)
    assert first == short[0] != second


def test_a_key_marker_in_a_text_is_replaced():
    """B12: whoever knows the scheme cannot forge a citation."""
    item = ("file", ("docs", "a.md"))
    (forged,) = keyed(item)
    second = keyed(item, avoid=[f"trust me {forged}"])
    assert second != [forged]
    assert keyed(item, avoid=[f"{forged}{second[0]}"])[0] not in {forged, *second}


@pytest.mark.parametrize("style", ["number", "key"])
def test_styles_give_each_passage_a_marker_that_stands_in_no_text_or_title(style):
    """L92."""

    def marked(passages):
        written = Writer(Layout(template=TEMPLATES["cited"], arrange=list, markers=CITATION_STYLES[style]))
        return [passage.citation for passage in written(passages).passages]

    plain = [a_passage(id="a", kind="file"), a_passage(id="b", kind="note")]
    before = marked(plain)
    hostile = [
        a_passage(id="a", kind="file", text=f"I am {before[1]}"),
        a_passage(id="b", kind="note", metadata={"title": before[0]}),
    ]
    after = marked(hostile)
    assert len(set(after)) == 2
    assert not set(after) & set(before)


@pytest.mark.parametrize(
    ("answer", "used"),
    [
        ("Moved [2], agreed [1].", ("[2]", "[1]")),
        ("Both [1, 2].", ("[1]", "[2]")),
        ("Both [2][1], again [2].", ("[2]", "[1]")),
        ("All [1-3].", ("[1]", "[2]", "[3]")),
        ("All [1–3].", ("[1]", "[2]", "[3]")),
        ("Some [1; 3] and [2 and 3]", ("[1]", "[3]", "[2]")),
        ("As in 【3】.", ("[3]",)),
        ("如 [1、2] 所示", ("[1]", "[2]")),
        ("如 ［1］ 所示", ("[1]",)),
        ("【1】、【3】", ("[1]", "[3]")),
        ("〔２〕 and ［１，３］", ("[2]", "[1]", "[3]")),
        ("[1；2][1～3]", ("[1]", "[2]", "[3]")),
        ("[1和3]", ("[1]", "[3]")),
        ("[1 und 3], [2 et 3]", ("[1]", "[3]", "[2]")),
        ("[１-３]", ("[1]", "[2]", "[3]")),
        ("[١، ٢]", ("[1]", "[2]")),
        ("A note[^1], two [^2][^3], a list [^1, ^2].", ("[1]", "[2]", "[3]")),
        ("[Source 1] and [Sources: 2, 3]", ("[1]", "[2]", "[3]")),
        ("[来源1、来源3], [ref. 2; ref. 3]", ("[1]", "[3]", "[2]")),
        ("[مصدر 1] [źródło 2] [1, 2,]", ("[1]", "[2]")),
        ("~~~python\nrows[1]\n~~~\nas said [2]", ("[2]",)),
        ("[cite: 3] [Quellen 1 und 2]", ("[3]", "[1]", "[2]")),
        ("【1†source】【3:0†a.md】", ("[1]", "[3]")),
        ("⟦1⟧ and ﹝3﹞", ("[1]", "[3]")),
        ("[1 to 3]", ("[1]", "[2]", "[3]")),
        ("[1…3]", ("[1]", "[2]", "[3]")),
        ("[1..3]", ("[1]", "[2]", "[3]")),
        ("[1至3]", ("[1]", "[2]", "[3]")),
        ("[1 or 3]", ("[1]", "[3]")),
        ("[1または3], [1、及び2]", ("[1]", "[3]", "[2]")),
        ("[1과 3]", ("[1]", "[3]")),
        ("[1\u2060–\u20603]", ("[1]", "[2]", "[3]")),
        (r"\[1\] and [**2**]", ("[1]", "[2]")),
        ("[出典：3]", ("[3]",)),
        ("[2/3] done, [#1], [v1], [1st]", ()),
        ("Unknown [9].", ()),
        ("On [page 2].", ()),
        ("`rows[1]` is first", ()),
        ("```python\nrows[1]\n```\nas said [2]", ("[2]",)),
        ("[link [1]](url)", ("[1]",)),
        ("[12]", ()),
        ("", ()),
        ("[1-", ()),
        ("[1-99999999999999]", ()),
    ],
)
def test_used_markers_are_read_off_an_answer_in_order_of_first_use(answer, used):
    """C8, T6, L92: a list in the signs of any keyboard is a list."""
    assert used_citations(answer, ["[1]", "[2]", "[3]"]) == used


def test_the_sources_block_lists_what_was_used_with_an_excerpt():
    """C8."""
    long = "The invoices were late because the nightly job ran before the rates arrived."
    context = a_context(
        a_passage("[1]", text=long, metadata={"path": "docs/billing.md"}),
        a_passage("[2]", text="unused"),
        a_passage("[3]", text="two\n\nlines", metadata={"title": "Notes"}),
        a_passage("[4]", text="from nowhere", source="memories"),
    )
    cited = list_citations(context)
    assert sources_block([cited[0], *cited[2:]]) == (
        "\n\n---\nSources:\n"
        f"[1]: docs/billing.md - {long[:50]}...\n"
        "[3]: Notes - two lines...\n"
        "[4]: memories - from nowhere..."
    )
    assert sources_block([]) == ""
