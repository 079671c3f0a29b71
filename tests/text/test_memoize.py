"""What is kept of texts is bounded by bytes (S5)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from langchain_context_engine.pipeline import dedupe, pack
from langchain_context_engine.ranking import intent, links, recency
from langchain_context_engine.rendering import citations
from langchain_context_engine.text import analysis, boilerplate, text_tables
from langchain_context_engine.text.memoize import memoize
from tests.conftest import ROOT

PACKAGE = ROOT / "langchain_context_engine"
README = (ROOT / "README.md").read_text(encoding="utf-8")
_WITH_MEMOS = (analysis, citations, dedupe, intent, links, pack, recency, text_tables, boilerplate)


@given(st.lists(st.text("ab", max_size=400), max_size=60), st.integers(0, 20_000))
def test_what_is_kept_is_bounded_by_bytes_and_is_what_was_worked_out(texts, most_bytes):
    """S5."""
    length = memoize(most_bytes)(len)
    for text in texts:
        assert length(text) == len(text)
        assert length.bytes <= most_bytes
        assert (len(length) == 0) is (length.bytes == 0)


def test_threads_share_a_memo_without_losing_count():
    length = memoize(3000)(len)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(length, [str(n) * 9 for n in range(2000)])) == [
            len(str(n) * 9) for n in range(2000)
        ]
    assert 0 < length.bytes <= 3000
