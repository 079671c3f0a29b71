"""Rules of splitting: bounded pieces that cover the text, always progress, tables between rows below their header."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.readers.markdown import read_markdown
from langchain_context_engine.ingest.sections import document_records
from tests.document_builders import records
from tests.growth import assert_linear, repeated

LINES = st.lists(
    st.sampled_from(
        ["# Title", "## Part", "text here. And more.", "", "```", "~~~~", "---", "===", "日本語 😀", "- a"]
    )
    | st.text(max_size=30),
    max_size=25,
).map("\n".join)


BAD = [{"chunk_size": bad} for bad in (0, -1, 1.5, True, None, "100")]


@pytest.mark.parametrize("sizes", BAD)
def test_sizes_without_progress_are_refused_at_construction(sizes):
    """B16."""
    with pytest.raises(ConfigError, match="chunk_size"):
        Splitter(**sizes)


@pytest.mark.parametrize(
    "make",
    [
        repeated("x"),
        repeated(" "),
        lambda size: "\n" * size + "x",
        repeated("a "),
        repeated("/*\n"),
        repeated("```\n"),
    ],
)
def test_splitting_finishes_on_text_without_a_place_to_break(make):
    """B16."""

    def split(text: str) -> None:
        splitter = Splitter(chunk_size=100)
        spans = [
            *splitter(text),
            *splitter(text, is_code=True),
            *(span for span, _ in splitter.with_headers(text)),
        ]
        assert all(0 < end - start <= 100 for start, end in spans)

    assert_linear(split, make, 200_000)


@settings(deadline=None, max_examples=150)
@given(text=st.text(max_size=400) | LINES, chunk_size=st.integers(1, 60))
def test_spans_are_bounded_go_forward_and_cover_all_text(text, chunk_size):
    """B16."""
    spans = Splitter(chunk_size=chunk_size)(text)
    covered = set()
    for (start, end), after in zip(spans, [*spans, None][1:], strict=True):
        assert 0 <= start < end <= len(text)
        assert end - start <= chunk_size
        assert after is None or after[0] > start
        covered.update(range(start, end))
    assert all(i in covered for i, c in enumerate(text) if not c.isspace())


def test_a_piece_ends_at_a_blank_line_before_it_ends_at_a_word():
    text = "one two three\n\nfour five six seven"
    assert [text[a:b] for a, b in Splitter(chunk_size=20)(text)] == ["one two three", "four five six seven"]


@settings(deadline=None, max_examples=100)
@given(text=LINES, chunk_size=st.integers(5, 80))
def test_passages_of_a_document_are_exact_pieces_that_cover_it_under_unique_stable_ids(text, chunk_size):
    records = document_records("a.md", read_markdown("a.md", text, 1), Splitter(chunk_size=chunk_size), {})
    covered = set()
    for record in records:
        start, end = record.metadata["start"], record.metadata["end"]
        opener = record.text.removesuffix(text[start:end])
        assert f"{opener}{text[start:end]}" == record.text
        assert not opener or opener.startswith(("```", "~~~"))
        assert record.metadata["start_line"] == 1 + text.count("\n", 0, start)
        covered.update(range(start, end))
    assert all(i in covered for i, c in enumerate(text) if not c.isspace())
    assert len({r.id for r in records}) == len(records)
    assert records == document_records(
        "a.md", read_markdown("a.md", text, 1), Splitter(chunk_size=chunk_size), {}
    )


ROWS = range(60)

PIPES = "| port | what for |\n|-----:|----------|\n" + "".join(
    f"| {i} | purpose {i} of a port |\n" for i in ROWS
)

GRID = "+------+----+\n| port | it |\n+======+====+\n" + "".join(
    f"| {i:<4} | purpose {i} of a port |\n+------+----+\n" for i in ROWS
)

SIMPLE = (
    "==== ====\nport it\n==== ====\n" + "".join(f"{i:<4} purpose {i} of it\n" for i in ROWS) + "==== ====\n"
)

BARS = (
    "[cols=2]\n|===\n|port |what for\n\n" + "".join(f"|{i} |purpose {i} of a port\n" for i in ROWS) + "|===\n"
)

HTML = "<table><tr><th>port</th><th>what for</th></tr>{}</table>".format(
    "".join(f"<tr><td>{i}</td><td>purpose {i} of a port</td></tr>" for i in ROWS)
)


@pytest.mark.parametrize(
    ("path", "text", "header"),
    [
        (
            "a.md",
            f"# Ports\n\nThese are open.\n\n{PIPES}\nThat is all.",
            "| port | what for |\n|---",
        ),
        (
            "a.md",
            "- Item:\n\n" + PIPES.replace("|", "  |", 1).replace("\n|", "\n  |"),
            "| port |",
        ),
        (
            "a.rst",
            f"Ports\n=====\n\n{GRID}\n\nThat is all.",
            "+------+----+\n| port | it |\n+===",
        ),
        (
            "a.rst",
            f"Ports\n=====\n\n{SIMPLE}\n\nThat is all.",
            "==== ====\nport it\n==== ====",
        ),
        ("a.adoc", f"= Ports\n\n{BARS}\nThat is all.", "|===\n|port |what for"),
        ("a.html", f"<h1>Ports</h1>{HTML}<p>That is all.</p>", "| port | what for |\n| --- | --- |"),
    ],
    ids=["pipes", "in a list", "grid", "simple", "asciidoc", "html"],
)
def test_each_passage_with_rows_shows_their_header(path, text, header):
    found = records(path, text, chunk_size=500)
    with_rows = [record for record in found if "purpose" in record.text]
    assert len(with_rows) > 2
    for record in with_rows:
        assert header in record.text
        assert record.text.count(header) == 1
        assert len(record.text) <= 500
    told = "\n".join(record.text for record in found)
    assert all(told.count(f"purpose {i} of") == 1 for i in ROWS)


CODE = "\n\n".join(f"def pour_{i}(cup):\n    fill(cup, {i})" for i in range(40))


@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_each_piece_of_a_fenced_block_is_below_the_line_that_opens_it(fence):
    found = records(
        "a.md", f"# Tea\n\nPour it.\n\n{fence}python\n{CODE}\n{fence}\n\nDrink it.", chunk_size=400
    )
    assert len(found) > 3
    for record in found[1:]:
        assert record.text.startswith(f"{fence}python\n")
        assert "\n    fill" in record.text
        assert len(record.text) <= 400
    told = "\n".join(record.text for record in found)
    assert all(told.count(f"pour_{i}(") == 1 for i in range(40))
    assert found[-1].text.endswith(f"{fence}\n\nDrink it.")


def test_a_piece_of_a_fenced_block_keeps_the_indentation_of_its_first_line():
    body = "\n\n".join(f"    fill(cup, {i})" for i in range(60))
    found = records("a.md", f"```python\ndef pour(cup):\n{body}\n```\n", chunk_size=300)
    assert all(record.text.startswith("```python\n    fill(") for record in found[1:])


def test_a_fenced_block_that_begins_in_the_second_half_of_a_piece_begins_the_next():
    prose, block = "Pour it slowly. " * 15, f"```python\n{CODE[:200]}\n```"
    found = records("a.md", f"{prose}\n\n{block}\n\nDrink it.", chunk_size=400)
    assert [record.text for record in found] == [prose.rstrip(), f"{block}\n\nDrink it."]


def test_code_is_not_cut_within_a_block_comment_nor_between_it_and_what_it_is_about():
    example = "const tea = await pour({\n\tcup: 'blue',\n});\n\nawait tea.drunk();"
    fields = [
        f"\t/**\n\tField {i}.\n\n\t@example\n\t{example}\n\t*/\n\tfield{i}?: string;\n" for i in range(12)
    ]
    text = "type Tea = {\n" + "\n".join(fields) + "};\n"
    pieces = [text[a:b] for a, b in Splitter(chunk_size=500)(text, is_code=True)]
    assert len(pieces) > 2
    assert all(piece.startswith("\t/**") for piece in pieces[1:])
    assert all(piece.count("/**") == piece.count("*/") == piece.count("?: string") for piece in pieces)


@pytest.mark.parametrize("mark", ["", " *"])
def test_a_comment_too_long_for_a_piece_is_cut_before_a_tag_or_at_a_line_that_says_nothing(mark):
    paragraph = "\n".join(f"{mark} Tea is poured {n} times and drunk." for n in range(4))
    example = f"{mark} @example\n{mark} ```\n{mark} pour(tea);\n\n{mark} drink(tea);\n{mark} ```"
    text = f"/**\n{paragraph}\n{mark}\n{paragraph}\n{mark}\n{paragraph}\n{example}\n */\nconst tea = 1;\n"
    tag = text.index("@example")
    for chunk_size, first in ((tag - 30, f"{mark} Tea is poured 0"), (tag + 40, f"{mark} @example")):
        pieces = [text[a:b] for a, b in Splitter(chunk_size=chunk_size)(text, is_code=True)]
        assert all(piece.startswith(first) for piece in pieces[1:])
        assert len(pieces) > 1


def test_a_header_that_would_take_most_of_a_passage_is_not_shown_again():
    text = f"| {'long name ' * 30}| b |\n|---|---|\n" + "".join(f"| {i} | purpose {i} |\n" for i in ROWS)
    assert all(head == "" for _, head in Splitter(chunk_size=400).with_headers(text))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 90), max_size=30), st.integers(60, 400))
def test_nothing_of_a_text_is_lost_and_no_passage_is_too_long(widths, chunk_size):
    rows = "".join(f"| r{i} | {'w ' * width}|\n" for i, width in enumerate(widths))
    text = f"Before it.\n\n| a | b |\n|---|---|\n{rows}\nAfter it, this is told."
    covered = set()
    for (start, end), head in Splitter(chunk_size=chunk_size).with_headers(text):
        assert len(head) + bool(head) + end - start <= chunk_size
        covered |= set(range(start, end))
        if head:
            assert text[start:end].lstrip().startswith("| r")
    assert all(place in covered or text[place].isspace() for place in range(len(text)))
