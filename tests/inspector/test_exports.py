from __future__ import annotations

import csv
import io
import json

from inspector.exports import as_csv, as_markdown, redacted_bundle, rows_for_export
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


def test_the_redacted_bundle_holds_no_text_name_or_value_of_a_record():
    secret = "ZEBRA-secret"
    context = a_context(
        [
            a_candidate(
                id=f"id-{secret}", source=f"src-{secret}", text=f"text {secret}", metadata={"k": secret}
            ),
            a_candidate(id="other", source=f"src-{secret}", text=f"text {secret}"),
        ],
        query=f"question {secret}",
        scope={},
    )
    bundle = redacted_bundle(context, rows_of(context)).decode()
    assert "ZEBRA" not in bundle
    read = json.loads(bundle)
    assert len(read["candidates"]) == 2
    assert read["candidates"][0]["source"] == read["candidates"][1]["source"]
    assert read["settings"]["budget"]["tokens"] == 2000
    assert read["settings"]["selection"] == "adaptive"
