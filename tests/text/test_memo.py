"""What is kept of texts is bounded by bytes (S5)."""

from __future__ import annotations

import gc
import inspect
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_context_engine.pipeline import dedupe, pack
from langchain_context_engine.ranking import intent, links, recency
from langchain_context_engine.rendering import citations
from langchain_context_engine.text import analysis, tables, worth
from langchain_context_engine.text.memo import Memo, remember
from langchain_context_engine.text.similarity import Wording
from tests.conftest import ROOT

PACKAGE = ROOT / "langchain_context_engine"
README = (ROOT / "README.md").read_text(encoding="utf-8")
_WITH_MEMOS = (analysis, citations, dedupe, intent, links, pack, recency, tables, worth)
MEMOS = {
    id(each): each for module in _WITH_MEMOS for each in vars(module).values() if isinstance(each, Memo)
}.values()
"""Texts of any length that may be kept by their number."""


@given(st.lists(st.text("ab", max_size=400), max_size=60), st.integers(0, 20_000))
def test_what_is_kept_is_bounded_by_bytes_and_is_what_was_worked_out(texts, most_bytes):
    """S5."""
    length = remember(most_bytes)(len)
    for text in texts:
        assert length(text) == len(text)
        assert length.bytes <= most_bytes
        assert (len(length) == 0) is (length.bytes == 0)


def test_a_text_that_is_too_large_drives_nothing_out():
    length = remember(8 * 300)(len)
    for text in ("a", "b", "c" * 1000, "a", "b"):
        length(text)
    assert length.misses == 3


def test_threads_share_a_memo_without_losing_count():
    length = remember(3000)(len)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(length, [str(n) * 9 for n in range(2000)])) == [
            len(str(n) * 9) for n in range(2000)
        ]
    assert 0 < length.bytes <= 3000


@pytest.mark.parametrize("memo", MEMOS, ids=lambda memo: memo.__name__)
def test_what_is_kept_takes_about_what_is_counted_for_it(memo):
    """S5: eight megabytes of wordings took sixty, since all that is compared is made of them later."""
    for text in (README[:2000], README[:150], README[-700:], Path(pack.__file__).read_text()[:2000]):
        arguments = [_given(name, text) for name in _required(memo)]
        found = memo(*arguments)
        if isinstance(found, Wording):  # as it is once it was compared in every way
            assert [getattr(found, name) for name in dir(found)]
        assert _bytes_of(found) <= 1.5 * memo._cost(tuple(arguments))


def _required(memo):
    parameters = inspect.signature(memo._work_out).parameters.values()
    return [each.name for each in parameters if each.default is each.empty]


def _given(name, text):
    return {"count": len, "threshold": 90.0, "wanted": (1, 2), "is_message": False}.get(name, text)


def _bytes_of(found):
    seen, waiting = {}, [found]
    while waiting:
        each = waiting.pop()
        if id(each) not in seen and not isinstance(each, type) and not callable(each):
            seen[id(each)] = each
            waiting.extend(gc.get_referents(each))
    return sum(map(sys.getsizeof, seen.values()))


def test_an_argument_given_as_it_is_by_default_is_the_same_question():
    asked = []

    @remember(10_000)
    def length(text, in_rows=False):
        asked.append((text, in_rows))
        return len(text)

    assert [length("two"), length("two", False), length("two", True), length("two", True)] == [3] * 4
    assert asked == [("two", False), ("two", True)]
