"""Room: what fits is in, what is cut has what is left, nothing is said twice, and the reason told is true."""

from __future__ import annotations

import re
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from langchain_context_engine import ContextEngine, Template, replay
from langchain_context_engine.models.types import Verdict
from langchain_context_engine.pipeline.redundancy import TwinFinder
from langchain_context_engine.rendering.layout import Writer
from langchain_context_engine.text.sentences import sentence_spans, unit_spans
from langchain_context_engine.text.truncate import merge, pieces
from tests.builders import ListSource, a_candidate, count_words
from tests.pack_builders import BARE, engine_of, text_of
from tests.strategies import candidates, settings_of_engines

FRAMED = Template(
    name="framed", header="About {{count}} things:\n", passage="- {{content}}", footer="\nThat is all."
)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=9),
    st.integers(5, 90),
    st.sampled_from(["auto", "estimate", count_words]),
    st.sampled_from([BARE, FRAMED, "cited", "placed", "xml", "markdown"]),
)
def test_what_fits_as_rendered_is_in_to_the_token(sizes, budget, tokenizer, template):
    """T3, promise 11: no whole record that is left out would have fitted beside what is in."""
    found = [
        a_candidate(id=str(i), text=text_of(n, f"x{i}y"), relevance=0.9 - i / 20) for i, n in enumerate(sizes)
    ]
    engine = ContextEngine(
        sources=[ListSource(found)], tokenizer=tokenizer, template=template, truncator="none", limit=100
    )
    context = engine.build("q", budget=budget)
    parts = engine.config.parts()
    layout, count = parts.packing.layout, parts.packing.count
    ranked = engine.search("q")
    kept = {p.key for p in context.passages}
    for left_out in (item for item in ranked if item.key not in kept):
        from langchain_context_engine.models.types import Passage

        with_it = [
            Passage(ranked=item, text=item.candidate.text)
            for item in ranked
            if item.key in kept or item is left_out
        ]
        assert count(Writer(layout)(with_it).text) > budget


def test_writing_without_capitals_has_as_many_pieces_as_sentences():
    """T1."""
    text = "we met at noon. the pilot was late. nobody minded."
    assert len(sentence_spans(text)) == 3
    chat = " ".join(
        f"on day {i} we sailed past the old lighthouse again. nobody saw the pilot." for i in range(60)
    )
    assert len(sentence_spans(chat)) == 120
    lines = "\n".join(f"on day {i} we sailed by the old lighthouse" for i in range(100))
    for text in (chat, lines):
        context = ContextEngine(sources=[ListSource([a_candidate(text=text)])]).build("the pilot", budget=600)
        assert context.tokens > 550


def fenced(text):
    return [token.content for token in MarkdownIt().enable("table").parse(text) if token.type == "fence"]


BLOCKS = [
    "One sentence about the harbour. And a second one of it.",
    "```python\nprint('one'). Then.\n```",
    "~~~\nls -l\n~~~",
    "- a first point of it\n- a second point of it",
    "1. Do this.\n2. Do that.",
    "| name | price |\n|---|---|\n| tea | 4 |",
    "## A heading",
    "For example:",
    "> They said so.",
]


@settings(deadline=None, max_examples=80)
@given(st.lists(st.sampled_from(BLOCKS), min_size=2, max_size=9), st.data())
def test_an_extract_parses_as_the_markdown_that_it_was(blocks, data):
    """T4: what was a fence, a table or a heading is one, and nothing else became a part of it."""
    text = "\n\n".join(blocks)
    spans = unit_spans(text)
    chosen = data.draw(st.lists(st.sampled_from(spans), min_size=1, unique=True))
    extract = pieces(text, chosen)
    shown = [text[a:b] for a, b in merge(text, chosen)]
    assert fenced(extract) == [code for piece in shown for code in fenced(piece)]
    for kind in ("table_open", "heading_open", "blockquote_open"):
        opened = [t for t in MarkdownIt().enable("table").parse(extract) if t.type == kind]
        assert len(opened) == sum(
            token.type == kind for piece in shown for token in MarkdownIt().enable("table").parse(piece)
        )


@settings(deadline=None, max_examples=60)
@given(
    candidates(),
    settings_of_engines(),
    st.sampled_from(["when do invoices go out?", "", "billing"]),
    st.sampled_from([12, 40, 80, 200]),
)
def test_no_passage_says_again_what_another_passage_says(found, config, query, budget):
    """T5: no passage's words stand in a row in another passage of the same context."""
    context = ContextEngine(sources=[ListSource(found, "offered")], **config).build(query, budget=budget)
    assert TwinFinder(None)(sorted(context.passages, key=lambda p: -p.ranked.score)) is None


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "texts",
    [
        ("alpha", "alpha beta gamma delta epsilon"),
        ("We use Stripe.", "We use Stripe. Invoices go out monthly, and refunds take five days."),
    ],
)
def test_a_whole_record_stands_beside_one_that_says_more(texts, turned):
    """D34: of two memories the shorter is no repetition, whichever comes first."""
    found = [a_candidate(id=text, text=text) for text in (reversed(texts) if turned else texts)]
    context = ContextEngine(sources=[ListSource(found)]).build("do we use alpha or stripe?")
    assert {passage.text for passage in context.passages} == set(texts)


def test_the_reason_is_that_of_its_turn_and_more_tokens_are_promised_only_where_a_replay_shows_it():
    """Promise 12."""
    found = [a_candidate(id=str(i), text=text_of(30, f"i{i}_"), relevance=1 - i / 100) for i in range(10)]
    context = engine_of(found, truncator="none", tokenizer="estimate").build("q", budget=600)
    out = [d.key[1] for d in context.decisions if d.verdict is Verdict.DROPPED]
    assert len(out) > 2
    for id_ in out:
        told = context.explain(id_)
        needed, left = map(int, re.findall(r"needs (\d+) tokens, (\d+) were left at its turn", told)[0])
        assert needed > left
        budget = int(told.split("a budget of ")[1].split(" lets it in")[0].replace(",", ""))
        assert ("memories", id_) in {p.key for p in replay(context, budget=budget).passages}
    # As many as it needs less what was left let in another one, not this.
    assert ("memories", "9") not in {p.key for p in replay(context, budget=600 + needed - left).passages}


FORMS = [
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
    blocks=st.lists(st.lists(st.sampled_from(FORMS), min_size=1, max_size=3), min_size=1, max_size=7),
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
