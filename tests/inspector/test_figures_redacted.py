"""A bundle for a bug report tells every figure and nothing of what was asked or found."""

from __future__ import annotations

import json

from inspector.figures.redacted import redacted_bundle
from tests.builders import a_candidate
from tests.inspector.builders import a_context, rows_of


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
    assert read["settings"]["template"] == "placed"
