"""Places and lists of a store's flat metadata."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.models.metadata import LONGEST_PLACE, has_place, place_from, read_list

CODE = {"path": "httpx/_client.py", "start_line": 430, "end_line": 471, "symbol": "Client.send"}
DEEP = "notebooks_v1/" + "deeply/nested/folders/" * 4 + "03.05-Hierarchical-and-Selection.ipynb"


@pytest.mark.parametrize(
    ("metadata", "place"),
    [
        (CODE, "httpx/_client.py:430-471 · Client.send"),
        ({"path": "CHANGELOG.md", "headings": "0.13.0 › Removed"}, "CHANGELOG.md › 0.13.0 › Removed"),
        (
            {"path": "CHANGELOG.md", "headings": ["[23.1.0](https://a.b/c) - 2023", "Removed"]},
            "CHANGELOG.md › 23.1.0 - 2023 › Removed",
        ),
        ({"path": "a.txt", "start_line": 7, "end_line": 7}, "a.txt:7"),
        ({"path": "a.txt"}, "a.txt"),
        ({"sha": "4fbb3a1e" * 5, "author": "A. Writer"}, "4fbb3a1e, 2026-08-04, A. Writer"),
        ({"place": "  page 7\nof the diary "}, "page 7 of the diary"),
        ({"place": " ", "path": "a.py"}, "a.py"),
        ({"place": 7, "title": "A title", "start_line": "3"}, ""),
    ],
)
def test_a_place_is_the_records_own_or_made_of_what_its_metadata_say(metadata, place):
    assert place_from(metadata, datetime(2026, 8, 4, 9, tzinfo=UTC)) == place


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(
    st.sampled_from(["place", "path", "sha", "headings", "symbol", "author", "start_line", "end_line"]),
    st.text() | st.integers() | st.none() | st.lists(st.text(max_size=5), max_size=3) | st.floats(),
))  # fmt: skip
def test_a_place_is_one_printable_bounded_line_whatever_the_metadata(metadata):
    place = place_from(metadata)
    assert len(place) <= LONGEST_PLACE
    assert place.isprintable()
    assert place == place.strip()


@pytest.mark.parametrize(
    ("metadata", "starts", "ends"),
    [
        (
            {"path": DEEP, "headings": ["Data", *["Something between"] * 6, "Slices"]},
            "notebooks_v1/",
            " › Slices",
        ),
        ({"path": "a/" + "b" * 300 + ".py", "start_line": 1, "end_line": 2}, "a/b", "b.py:1-2"),
        ({"place": "first " + "x" * 300 + " last"}, "first x", "x last"),
    ],
)
def test_a_long_place_keeps_its_beginning_and_its_end(metadata, starts, ends):
    place = place_from(metadata)
    assert place.startswith(starts)
    assert place.endswith(ends)
    assert "…" in place
    assert len(place) <= LONGEST_PLACE


@pytest.mark.parametrize(
    ("metadata", "place"),
    [
        ({"source": "docs/report.pdf", "page": 0}, "docs/report.pdf › page 1"),
        ({"source": "docs/report.pdf", "page": 0, "page_label": "iv"}, "docs/report.pdf › page iv"),
        ({"source": "people.csv", "row": 6}, "people.csv › row 7"),
        ({"source": "a.md", "Header 1": "Tea", "Header 2": "Green"}, "a.md › Tea › Green"),
        ({"source": "a.pdf", "page": 1, "Header 2": "Green"}, "a.pdf › page 2 › Green"),
        ({"Header 1": "Tea"}, ""),
        ({"source": "https://a.example/b"}, "https://a.example/b"),
        ({"source": "slack"}, ""),
        ({"source": "slack", "page": None}, ""),
        ({"page": 3}, ""),
    ],
)
def test_what_langchains_loaders_say_is_a_place(metadata, place):
    """B14: `source` with `page` or `row`, which loaders count from 0, or the headings of a splitter."""
    assert place_from(metadata) == place
    assert has_place(metadata) == bool(place)


def test_lists_in_metadata_are_read_whatever_their_form():
    assert read_list(["a", "", None, 0]) == ("a", 0)
    assert read_list('[{"a": 1}, "b"]') == ({"a": 1}, "b")
    assert read_list("a,b , ") == ("a", "b")
    assert read_list(3) == ()
