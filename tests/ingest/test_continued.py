"""Rules of long tables at ingest: each further passage shows the names of the columns again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.split import with_headers
from tests.document_builders import records
from tests.growth import assert_linear, repeated

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


def test_a_header_that_would_take_most_of_a_passage_is_not_shown_again():
    text = f"| {'long name ' * 30}| b |\n|---|---|\n" + "".join(f"| {i} | purpose {i} |\n" for i in ROWS)
    assert all(head == "" for _, head in with_headers(text, Splitter(chunk_size=400)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 90), max_size=30), st.integers(60, 400), st.integers(0, 40))
def test_nothing_of_a_text_is_lost_and_no_passage_is_too_long(widths, chunk_size, overlap):
    rows = "".join(f"| r{i} | {'w ' * width}|\n" for i, width in enumerate(widths))
    text = f"Before it.\n\n| a | b |\n|---|---|\n{rows}\nAfter it, this is told."
    covered = set()
    for (start, end), head in with_headers(text, Splitter(chunk_size=chunk_size, overlap=overlap)):
        assert len(head) + bool(head) + end - start <= chunk_size
        covered |= set(range(start, end))
        if head:
            assert text[start:end].lstrip().startswith("| r")
    assert all(place in covered or text[place].isspace() for place in range(len(text)))


@pytest.mark.parametrize(
    "unit", ["| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\n", "+=+\n| a |\n", "|===\n|a\n\n|b\n"]
)
def test_a_million_characters_of_tables_are_cut_in_linear_time(unit):
    assert_linear(lambda text: list(with_headers(text, Splitter())), repeated(unit), 1_000_000)
