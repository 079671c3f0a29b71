from __future__ import annotations

import csv
import io

from inspector.exports import as_csv, as_markdown, rows_for_export
from tests.builders import a_candidate
from tests.inspector.builders import HOSTILE, a_context, rows_of


def test_csv_holds_every_candidate_and_no_formula():
    context = a_context(
        [a_candidate(id="=1+1", text="=HYPERLINK(1)"), a_candidate(id="b", text="line\none,two")]
    )
    read = list(
        csv.DictReader(io.StringIO(as_csv(rows_for_export(rows_of(context), {})).decode("utf-8-sig")))
    )
    assert len(read) == 2
    assert {row["text"] for row in read} == {"'=HYPERLINK(1)", "line\none,two"}
    assert not any(cell.startswith(("=", "+", "@")) for row in read for cell in row.values())


def test_markdown_shows_hostile_texts_as_they_are_inside_a_longer_fence():
    context = a_context([a_candidate(id="a|b", text=f"{HOSTILE}\n````\ncode\n````")], query="# <b>why</b>?")
    text = as_markdown(context, rows_of(context), {})
    assert text.startswith("# \\# \\<b\\>why\\</b\\>?")
    fence = text.rstrip().splitlines()[-1]
    assert set(fence) == {"`"}
    assert len(fence) > 4
    assert "a\\|b" in text
