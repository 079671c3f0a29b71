"""Room: what fits is in, what is cut has what is left, nothing is said twice, and the reason told is true."""

from __future__ import annotations

import re
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from langchain_context_engine import Budget, ContextEngine, Template, replay
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.pipeline.pack import find_twin
from langchain_context_engine.rendering.layout import write
from langchain_context_engine.text.sentences import sentence_spans, unit_spans
from langchain_context_engine.text.truncate import merge, pieces
from tests.builders import ListSource, a_candidate, count_words
from tests.pack_builders import BARE, engine_of, reasons, text_of
from tests.strategies import candidates, settings_of_engines

FRAMED = Template(
    name="framed", header="About {{count}} things:\n", passage="- {{content}}", footer="\nThat is all."
)


def test_a_text_that_fits_exactly_is_in():
    """T3."""
    text = text_of(14)
    context = ContextEngine(
        sources=[ListSource([a_candidate(text=text)])],
        template=Template(name="alone", passage="{{content}}"),
        tokenizer=lambda shown: len(shown.split()) + shown.count("\n"),
    ).build("q", budget=14)
    assert context.text == text
    assert context.tokens == 14


def test_items_with_header_and_footer_need_no_token_more_than_they_render_to():
    """T3."""
    found = [a_candidate(id=str(i), text=f"item number {i} it is", relevance=0.9 - i / 10) for i in range(3)]
    engine = engine_of(found, template=FRAMED, tokenizer="auto")
    whole = engine.build("q", budget=1000)
    assert len(whole.passages) == 3
    exact = engine.build("q", budget=whole.tokens)
    assert exact.text == whole.text
    assert len(engine.build("q", budget=whole.tokens - 1).passages) < 3


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
        assert count(write(with_it, layout).text) > budget


@pytest.mark.parametrize("budget", [100, 300, 600])
@pytest.mark.parametrize("k", [None, 1])
@pytest.mark.parametrize("beside", [(), ("a short note about the harbour",)])
def test_what_is_cut_grows_into_what_is_left(budget, k, beside):
    """T2."""
    code = "def send(self):\n" + "\n".join(f"    self.wire.put(part_{i}, order={i})" for i in range(400))
    found = [a_candidate(id="code", kind="code", text=code, relevance=1.0)]
    found += [a_candidate(id=str(i), text=text, relevance=0.3) for i, text in enumerate(beside)]
    context = ContextEngine(sources=[ListSource(found)]).build("how is it sent?", budget=budget, k=k)
    assert context.tokens > 0.93 * budget


def test_writing_without_capitals_has_as_many_pieces_as_sentences():
    """T1."""
    text = "we met at noon. the pilot was late. nobody minded."
    assert len(sentence_spans(text)) == 3
    chat = " ".join(
        f"on day {i} we sailed past the old lighthouse again. nobody saw the pilot." for i in range(60)
    )
    assert len(sentence_spans(chat)) == 120
    context = ContextEngine(sources=[ListSource([a_candidate(text=chat)])]).build("the pilot", budget=600)
    assert context.tokens > 550


@pytest.mark.parametrize(
    "sentences",
    [
        ["we met at noon…", "the pilot was late…", "nobody minded…"],
        ["we met at noon...", "the pilot was late!", "nobody minded?"],
        ["เราพบกันตอนเที่ยง", "นักบินมาสาย", "ไม่มีใครว่าอะไร"],
        ["យើងបានជួបគ្នា។", "អ្នកបើកបរមកយឺត។", "គ្មាននរណាខ្វល់។"],
        ["ကျွန်ုပ်တို့တွေ့ဆုံခဲ့သည်။", "ယာဉ်မှူးနောက်ကျသည်။"],
        ["Մենք հանդիպեցինք կեսօրին։", "Օդաչուն ուշացավ։"],
        ["በቀትር ተገናኘን።", "አብራሪው ዘገየ።"],
        ["हम दोपहर में मिले।", "पायलट देर से आया।"],
    ],
)
def test_the_sentences_of_every_script_are_told_apart(sentences):
    """T1."""
    text = " ".join(sentences)
    assert [text[a:b] for a, b in sentence_spans(text)] == sentences


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


@settings(deadline=None, max_examples=200)
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


def test_equal_extracts_of_several_records_are_one_passage():
    """T5."""
    bump = "- dependency-name: actions/setup-python is bumped from version four to version five here"
    found = [
        a_candidate(id=str(i), text=f"{bump}\n\n" + text_of(120, f"filler{i}x"), relevance=0.9 - i / 50)
        for i in range(3)
    ]
    context = ContextEngine(sources=[ListSource(found)]).build("bump actions/setup-python", budget=70)
    assert context.text.count("setup-python") == 1
    again = [d for d in context.decisions if d.stage == "pack" and d.reason is Reason.DUPLICATE]
    (first,) = [p for p in context.passages if "setup-python" in p.text]
    for decision in again:
        assert decision.details["winner"] == first.key
        assert decision.key in first.also_in


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
    assert find_twin(sorted(context.passages, key=lambda p: -p.ranked.score), None) is None


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


def test_several_chunks_under_one_document_id_are_several():
    """L3: told apart as candidates, with three decisions, though a retriever gives them one id."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from langchain_context_engine import RetrieverSource

    class Chunks(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [
                Document(
                    id="doc", page_content=f"Chunk {n} tells of the {n} berth.", metadata={"source": "r.md"}
                )
                for n in ("first", "second", "third")
            ]

    context = ContextEngine(sources=[RetrieverSource(Chunks(), name="docs")]).build("which berth?")
    assert len(context.passages) == 3
    assert "3 of 3 candidates" in context.explain()


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


def test_a_share_that_was_used_is_the_reason_though_the_budget_has_room():
    found = [a_candidate(id=f"a{i}", text=text_of(40, f"a{i}_"), relevance=0.9, source="a") for i in range(4)]
    context = engine_of(found, budget=Budget(tokens=400, source_cap=0.25), truncator="none").build("q")
    out = [d for d in context.decisions if d.verdict is Verdict.DROPPED]
    assert {d.reason for d in out} == {Reason.OVER_SHARE}
    assert all(d.details["needed"] > d.details["left"] for d in out)
    assert reasons(context)["a0"] is Reason.WHOLE


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
