"""The comment above a setting tells what it is for, and stands with it."""

from __future__ import annotations

import pytest

from langchain_context_engine.ingest.reading import read_records
from langchain_context_engine.ingest.split import Splitter

LONG = "word " * 60
# In each the second setting has a comment that names it, and the first ends with what is its own.
WRITTEN = {
    "a.yml": f"first:\n  text: |\n    {LONG}\n    # of the first\n# of the second\nsecond:\n  text: {LONG}\n",
    "a.toml": f"[first]\na = '{LONG}'\n# of_the = 'first'\n# of the second\n[second]\na = '{LONG}'\n",
    "a.ini": f"[first]\na = {LONG}\n;of.the = first\n### of the second ###\n[second]\na = {LONG}\n",
    "a.json": f'{{\n"first": "{LONG}",\n// of the second\n"second": "{LONG}"\n}}\n',
}


@pytest.mark.parametrize("path", list(WRITTEN))
def test_a_comment_belongs_to_the_setting_below_it(path):
    records = read_records(path, WRITTEN[path].encode(), splitter=Splitter(chunk_size=320)).records
    (second,) = (record.text for record in records if "of the second" in record.text)
    assert "second" in second.replace("of the second", "")
    assert "first" not in second
