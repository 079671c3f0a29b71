"""T3, T2: what renders to a budget is in at that budget, whatever counts, frames, cuts and orders it."""

from __future__ import annotations

import re
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import ContextEngine, Template
from tests.builders import ListSource, a_candidate, count_words

BLOCKS = [
    "Invoices go out monthly.", "The pilot was late; nobody minded.", "def f(x):\n    return x + 1\n",
    "- one\n- two\n- three", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", "```python\nprint('x')\n```",
    "# Title\n\nBody of the title says much.", "日本語のテキストです。次の文もあります。", "नमस्ते दुनिया।",
    "no stops here at all just words going on and on until the very end", "line one\nline two\n\n\n",
    "[1] cites [2]", '{"a": 1, "b": [1, 2, 3]}', "a,b,c\n1,2,3\n4,5,6", "Mr. Smith paid $3.50. Then he left.",
    "😀😀 emoji 😀", "~~~\ncode\n~~~\ntext after", "x" * 90, "tab\tseparated\tvalues", "<b>tag</b> & entity",
]  # fmt: skip
TEMPLATES = [
    "chat", "cited", "markdown", "xml", "sections", "detailed", "summary",
    Template(name="alone", passage="{{content}}"),
    Template(name="framed", header="About {{count}}:\n", passage="- {{content}}", footer="\nThat is all."),
    Template(name="walls", passage="<<{{id}}|{{content}}>>", separator=" || ", footer="\n{{sources}}"),
    Template(name="apart", section="## {{title}} ({{count}})\n", passage="{{citation}} {{content}}", footer="end"),
    Template(name="joined", passage="{{content}} - {{title}}", separator=""),
]  # fmt: skip
COUNTERS = {
    "auto": "auto", "o200k": "o200k_base", "estimate": "estimate", "words": count_words, "characters": len,
    "quarters": lambda text: -(-len(text) // 4), "lines": lambda text: len(text.split()) + text.count("\n"),
}  # fmt: skip


def told_apart(blocks):
    """Return texts of which none says a line of another again: their words and numbers are their own."""
    number = count(1)
    return [
        re.sub(r"[A-Za-z]{3,}|\d", lambda found: f"{found[0]}{next(number)}q", text) + f" z{next(number)}"
        for text in blocks
    ]


@settings(deadline=None, max_examples=80)
@given(
    blocks=st.lists(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=3), min_size=1, max_size=7),
    joint=st.sampled_from([" ", "\n\n"]),
    config=st.fixed_dictionaries(
        {
            "template": st.sampled_from(TEMPLATES),
            "tokenizer": st.sampled_from(sorted(COUNTERS)).map(COUNTERS.__getitem__),
            "selection": st.sampled_from(["adaptive", "score", "density", "knapsack"]),
            "truncator": st.sampled_from(["extractive", "keep_start", "keep_end", "none"]),
            "order": st.sampled_from(["relevance", "edges", "chronological", "stable"]),
        }
    ),
    query=st.sampled_from(["when do invoices go out?", "pilot", ""]),
)
def test_a_budget_of_just_what_the_whole_renders_to_holds_the_whole(blocks, joint, config, query):
    """T3, promise 11: by exact, and by one less."""
    texts = told_apart(joint.join(some) for some in blocks)
    found = [a_candidate(id=f"i{i}", text=text, relevance=0.9 - i / 20) for i, text in enumerate(texts)]
    engine = ContextEngine([ListSource(found)], **config)
    whole = engine.build(query, budget=100_000)
    if whole.is_truncated:
        return  # a text that is nothing but a heading, say, is not read however much room there is
    exact = engine.build(query, budget=whole.tokens)
    assert exact.text == whole.text
    assert not exact.is_truncated
    if whole.tokens:
        assert engine.build(query, budget=whole.tokens - 1).tokens < whole.tokens


def now_and_whole(texts, **config):
    """Return what stands in a budget of just the whole, and the whole."""
    found = [a_candidate(id=f"i{i}", text=text, relevance=0.9 - i / 20) for i, text in enumerate(texts)]
    engine = ContextEngine([ListSource(found)], **config)
    whole = engine.build("pilot", budget=100_000)
    return engine.build("pilot", budget=whole.tokens).text, whole.text


def test_pieces_become_the_whole_where_that_costs_less_than_they_with_their_note():
    """T3: no further piece fits beside the note, all of them without it."""
    text = "The pilot was very late; nobody minded.\n\nInvoices go out monthly.\n\nनमस्ते दुनिया। z1 and more"
    now, whole = now_and_whole([text], template=TEMPLATES[-2], tokenizer=len)
    assert now == whole


def test_what_left_by_a_piece_that_was_said_already_comes_in_as_a_whole():
    """T3, T5: its cut said again what stands there, the whole does not."""
    rows = "a,b,c\n1,2,3\n4,5,6"
    texts = [f"{rows}\n\n😀😀 emoji 😀 z1", "नमस्ते दुनिया। z2", f"{rows} z3"]
    now, whole = now_and_whole(texts, template="chat", selection="score", tokenizer="o200k_base")
    assert now == whole


SHAPES = {
    "numbered": "\n".join(f"{i}. the pilot sent parcel {i}" for i in range(1, 200)),
    "json": "{\n" + ",\n".join(f'  "parcel_{i}": {{"sent": {i}, "by": "pilot"}}' for i in range(200)) + "\n}",
    "yaml": "\n".join(f"parcel_{i}:\n  sent: {i}\n  by: pilot" for i in range(200)),
    "html": "<ul>\n" + "\n".join(f"<li>pilot sent parcel {i}</li>" for i in range(200)) + "\n</ul>",
    "speech": " ".join(f"and then on day {i} the pilot sent a sign to nobody" for i in range(120)),
    "table": "| day | what |\n|---|---|\n" + "\n".join(f"| {i} | sent parcel {i} |" for i in range(200)),
    "code": "def send(self):\n" + "\n".join(f"    self.wire.put(part_{i}, order={i})" for i in range(200)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("budget", [150, 600])
def test_the_best_is_cut_before_a_short_note_takes_the_only_place(shape, budget):
    """T2: with k=1 nine of 1,500 tokens were used, by the note."""
    found = [
        a_candidate(id="best", kind="code" if shape == "code" else "doc", text=SHAPES[shape], relevance=1.0),
        a_candidate(id="note", text="a short note about the harbour", relevance=0.3),
    ]
    context = ContextEngine([ListSource(found)]).build("how is it sent?", budget=budget, k=1)
    assert [passage.key[1] for passage in context.passages] == ["best"]
    assert context.tokens > 0.75 * budget


@pytest.mark.parametrize("shape", ["speech", "code"])
def test_in_a_small_budget_the_best_has_more_than_half_where_half_would_be_a_crumb(shape):
    """T2: half the budget stayed empty beside a note."""
    found = [
        a_candidate(id="best", text=SHAPES[shape], relevance=1.0, kind="code" if shape == "code" else "doc"),
        a_candidate(id="note", text="a short note about the harbour", relevance=0.3),
    ]
    context = ContextEngine([ListSource(found)], template="xml").build("how is it sent?", budget=60)
    assert "best" in {passage.key[1] for passage in context.passages}
    assert context.tokens > 45
