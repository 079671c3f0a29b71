"""Rules of tables: a row is a piece of its own, and none stands without the names of its columns."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from langchain_context_engine import ContextEngine
from langchain_context_engine.text.sentences import row_spans
from langchain_context_engine.text.text_tables import tables_of
from langchain_context_engine.text.truncate import Extractive, extractive, keep_end, locate, pieces
from tests.builders import ListSource, a_candidate, count_words

CELLS = st.sampled_from(["one", "two words", "`a \\| b`", "5", "", "x \\| y", "日本", "**bold** text", "..."])
RULES = st.sampled_from(["---", ":--", "--:", ":-:", "-"])
OPTIONS = "| option | default | meaning |\n|---|--:|---|\n" + "\n".join(
    f"| `--option-{i}` | {7 * i} | what number {i} does, told in so many words |" for i in range(60)
)


@st.composite
def tables(draw):
    """A table of one to five columns, with outer bars or without, plain or as an item of a list."""
    width, height = draw(st.integers(2, 5)), draw(st.integers(0, 12))
    has_bars = draw(st.booleans())

    def line(cells):
        shown = " | ".join(cells)
        return f"| {shown} |" if has_bars else shown

    named = [f"name{i}" for i in range(width)]
    rows = [[f"r{j}", *(draw(CELLS) for _ in range(width - 2)), f"e{j}"] for j in range(height)]
    lines = [line(named), line([draw(RULES) for _ in range(width)]), *map(line, rows)]
    indent = draw(st.sampled_from(["", "  ", "   "]))
    lines[1] = lines[1] if has_bars or width > 1 else f"|{lines[1]}"
    item = {"": "", "  ": "- An item of a list.\n\n", "   ": "1. An item of a list.\n\n"}[indent]
    return item + "\n".join(f"{indent}{line}" for line in lines)


def engine_of(text, *more, **fields):
    found = [a_candidate(id="a", text=text, relevance=1.0), *more]
    return ContextEngine(sources=[ListSource(found)], **fields)


def parsed(text):
    """Return the rows of the tables in a text, as a Markdown parser reads them, the header first."""
    rows, row = [], None
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            rows.append(row)
        elif token.type == "inline" and row is not None:
            row.append(token.content)
    return rows


def test_of_a_large_table_the_row_that_answers_is_in_a_small_budget_below_its_header():
    context = engine_of(OPTIONS, budget=60).build("what is the meaning of option 53?")
    (passage,) = context.passages
    assert "| `--option-53` | 371 |" in passage.text
    assert passage.text.startswith("| option | default | meaning |\n|---|--:|---|\n")
    assert context.tokens <= 60


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(4, 60), st.sampled_from(["name1", "r3 e3", "two words", ""]))
def test_an_extract_of_a_table_parses_as_that_table(table, allowance, query):
    """T4."""
    cut = Extractive(query)(table, allowance, count_words)
    assert count_words(cut) <= allowance
    shown, whole = parsed(cut), parsed(table)
    if len(whole) > 2 and shown:
        assert shown[0] == whole[0]
        gap = ["…", *[""] * (len(whole[0]) - 1)]
        assert len(shown) > 1
        assert all(row in whole or row == gap for row in shown)
        assert cut == pieces(table, locate(table, cut))


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(4, 60))
def test_an_ending_that_begins_within_a_table_has_its_header(table, allowance):
    """T2, T4."""
    text = f"What is told before.\n\n{table}\n\nThe end of it."
    cut = keep_end(text, allowance, count_words)
    assert count_words(cut) <= allowance
    assert cut == pieces(text, locate(text, cut))
    for found in tables_of(text):
        if any(text[a:b].strip() in cut for a, b in found.rows):
            assert text[: found.head].rpartition("\n\n")[2].strip() in cut


@settings(max_examples=60, deadline=None)
@given(st.lists(tables(), min_size=1, max_size=3), st.integers(20, 200), st.booleans())
def test_what_is_packed_of_tables_is_exact_pieces_below_their_headers(found, budget, is_first):
    """Promise 5, T4."""
    prose = "What is told about the names is told in this sentence, and in no table at all. It is long."
    text = "\n\n".join([prose, *found] if is_first else [*found, prose])
    context = engine_of(text, budget=budget).build("which name has r3 and e3?")
    assert context.tokens <= budget
    for passage in context.passages:
        assert passage.text == pieces(text, passage.spans)
        chosen = {place for span in passage.spans for place in range(*span)}
        for table in tables_of(text):
            if any(start in chosen for start, _ in table.rows):
                assert table.head - 1 in chosen, "a row without its header"


@settings(max_examples=100, deadline=None)
@given(tables())
def test_the_pieces_of_a_text_are_all_of_it_in_order(table):
    text = f"Before it, this is told.\n\n{table}\n\nAnd after it, this."
    spans, heads = row_spans(text)
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert all(head == -1 or (heads[head] == head and head <= i) for i, head in enumerate(heads))


@pytest.mark.parametrize(
    ("text", "header", "row"),
    [
        ("day,sum,what\n" + "".join(f"{i},{i * 7},thing {i}\n" for i in range(40)), "day,sum,what", "31,217,thing 31"),
        ("day\tsum\n" + "".join(f"{i}\tthing {i}\n" for i in range(40)), "day\tsum", "31\tthing 31"),
        ("a,b\n" + "".join(f'{i},"one, thing {i}"\n' for i in range(40)), "a,b", '31,"one, thing 31"'),
        (
            "+-----+-----+\n| a   | b   |\n+=====+=====+\n"
            + "".join(f"| {i:<3} | thing {i} |\n+-----+-----+\n" for i in range(40)),
            "| a   | b   |\n+=====+=====+",
            "| 31  | thing 31 |\n+-----+-----+",
        ),
        (
            "=== ========\na   b\n=== ========\n" + "".join(f"{i:<3} thing {i}\n" for i in range(40)) + "=== ========\n",
            "=== ========\na   b\n=== ========",
            "31  thing 31",
        ),
        ("|===\n|a |b\n\n" + "".join(f"|{i} |thing {i}\n" for i in range(40)) + "|===\n", "|===\n|a |b", "|31 |thing 31"),
        (
            "<table>\n<thead><tr><th>a</th><th>b</th></tr></thead>\n<tbody>\n"
            + "".join(f"<tr><td>{i}</td><td>thing {i}</td></tr>\n" for i in range(40)) + "</tbody>\n</table>",
            "<table>\n<thead><tr><th>a</th><th>b</th></tr></thead>\n<tbody>",
            "<tr><td>31</td><td>thing 31</td></tr>",
        ),
        (
            "<TABLE><TR><TH>a<TH>b" + "".join(f"<TR><TH>{i}<TD>thing {i}" for i in range(40)) + "</TABLE>",
            "<TABLE><TR><TH>a<TH>b",
            "<TR><TH>31<TD>thing 31",
        ),
    ],
    ids=["csv", "tsv", "quoted", "grid", "simple", "asciidoc", "html", "html without ends"],
)  # fmt: skip
def test_rows_of_every_kind_of_table_bring_their_header(text, header, row):
    """B11."""
    assert header in keep_end(text, 18, count_words)
    assert extractive(text, 3, count_words) == "" or header in extractive(text, 20, count_words)
    cut = Extractive("thing 31")(text, 18, count_words)
    assert header in cut
    assert row in cut
    assert cut == pieces(text, locate(text, cut))


@pytest.mark.parametrize(
    "text",
    [
        "Ana, Bo\nsang, danced\nleft, stayed\n",
        "name,age\nana,3\nbo\ncy,5,6\n",
        "We met, and left.\nThey came, and sang.\nIt rained, and rained.",
        "if (a,b) {\nf(a,b)\n}\n",
        "```\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n```",
        "key: a;b\nother: c;d\nthird: e;f",
        "<table><tr><td>1</td></tr><tr><td>2</td></tr><tr><td>3</td></tr></table>",
    ],
)
def test_what_only_looks_like_rows_is_no_table(text):
    assert tables_of(text) == ()
