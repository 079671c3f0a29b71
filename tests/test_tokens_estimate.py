"""The estimate: an upper bound of the true count, for any text, that is still of use."""

from __future__ import annotations

import base64
import gzip
from importlib import resources

import pytest
import quicktok
from hypothesis import given, settings

from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.text.tokens.backends import estimate_backend
from tests.token_builders import TEXTS


@settings(deadline=None, max_examples=400)
@given(TEXTS)
def test_the_estimate_is_never_below_the_true_count(text):
    """A8, M11: for any text, of both encodings."""
    estimate = resolve_tokenizer("estimate")(text)
    assert estimate >= resolve_tokenizer("cl100k_base")(text)
    assert estimate >= resolve_tokenizer("o200k_base")(text)


@settings(deadline=None, max_examples=100)
@given(TEXTS)
def test_bytes_are_never_below_the_true_count(text):
    assert resolve_tokenizer("utf8_bytes")(text) >= resolve_tokenizer("cl100k_base")(text)


def test_the_estimate_bounds_unspaced_scripts_and_emoji():
    """A8."""
    estimate = resolve_tokenizer("estimate")
    assert estimate("日本語のテキスト") >= 8
    assert estimate("😀" * 20) >= 40
    assert estimate.is_estimated


def test_the_estimate_is_not_silly_for_english():
    """A8: an upper bound that is useful."""
    text = (
        "We decided in March that billing moves to the new service, because invoices were late and nobody "
        "could explain why. The team agreed to keep the old system running until the end of the quarter."
    )
    assert resolve_tokenizer("estimate")(text) <= 1.8 * resolve_tokenizer("auto")(text)


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_the_estimate_knows_exactly_the_first_merges(name):
    """The proof of the bound rests on this."""
    packed = (
        resources.files("langchain_context_engine.text.tokens")
        .joinpath("first_merges", f"{name}.gz")
        .read_bytes()
    )
    first = [base64.b64decode(line) for line in gzip.decompress(packed).split(b"\n")]
    encoding = quicktok.get_encoding(name)
    assert len(first) == 8192
    assert first == [encoding.decode_single_token_bytes(i) for i in range(8192)]


def test_a_slice_of_an_estimate_decodes():
    """M11: either vocabulary may have made the ids."""
    count = resolve_tokenizer("estimate")
    for text in ("plain words in a row", "ಕನ್ನಡ ಪಠ್ಯ 日本語", "привет мир"):
        ids = count.encode(text)
        assert text.startswith(count.decode(ids[:3]).rstrip("\ufffd"))
    assert estimate_backend().decode([]) == ""
