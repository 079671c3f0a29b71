"""Counting where quicktok is missing, and where a vocabulary cannot be loaded at all."""

from __future__ import annotations

import base64
import gzip
import hashlib
import sys
import threading
import warnings
from importlib import resources

import pytest
import quicktok
import tiktoken
import tiktoken.registry
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.text import tokens
from langchain_context_engine.text.tokens import backends, resolve_tokenizer
from langchain_context_engine.text.tokens.backends import Tiktoken
from tests.growth import assert_linear, repeated
from tests.token_builders import TEXTS


def tiktoken_file(name: str) -> bytes:
    """Return the very file that tiktoken downloads, made from quicktok's vocabulary."""
    encoding = quicktok.get_encoding(name)
    size = len(encoding.token_byte_values())
    return b"".join(
        base64.b64encode(encoding.decode_single_token_bytes(i)) + b" %d\n" % i for i in range(size)
    )


@pytest.fixture
def without_quicktok(monkeypatch, tmp_path):
    """An installation without quicktok, without a cached vocabulary and without a network."""
    monkeypatch.setitem(sys.modules, "quicktok", None)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tokens, "_counters", {})
    monkeypatch.setattr(backends, "_failed_at", {})
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    return tmp_path


@pytest.fixture(scope="module")
def cl100k_file():
    return tiktoken_file("cl100k_base")


@pytest.fixture
def tiktoken_only(without_quicktok, cl100k_file):
    """An installation where only tiktoken, with its cache filled, can count."""
    url = backends._addresses("cl100k_base")[0]
    (without_quicktok / hashlib.sha1(url.encode()).hexdigest()).write_bytes(cl100k_file)
    return without_quicktok


@pytest.mark.parametrize("backend", ["quicktok", "tiktoken", "estimate"])
def test_a_lone_surrogate_counts_as_a_replacement_character(backend, request):
    """A2."""
    if backend == "tiktoken":
        request.getfixturevalue("tiktoken_only")
    count = resolve_tokenizer("estimate" if backend == "estimate" else "auto")
    assert count("a\ud83db") == count("a\ufffdb") >= 3
    if backend != "estimate":
        assert count("a\ud83db") == 3
    assert count.decode(count.encode("a\ud83db")) == "a\ufffdb"


def test_a_very_long_run_is_counted_without_quicktok(tiktoken_only):
    """A3: tiktoken's own limits are never reached."""
    count = resolve_tokenizer("auto")
    assert isinstance(count.backend, Tiktoken)
    assert_linear(count, repeated("^"), 200_000)
    assert count("^" * 1_000_000) == 250_000
    assert count(" " * 1_000_000) > 0


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.sampled_from(["word", " ", "\n", "'s", ". ", "日本", "。", "12", "Aé", "\u0301", "--"]),
        max_size=30,
    )
)
def test_every_place_where_a_text_may_be_cut_is_between_tokens(parts):
    """A cut keeps the count only where every encoding ends a piece anyway."""
    from langchain_context_engine.text.tokens.backends import _PIECE_END

    text = "".join(parts)
    for name in ("cl100k_base", "o200k_base"):
        encoding = quicktok.get_encoding(name)
        for end in range(1, len(text)):
            found = _PIECE_END.match(text, 0, end)
            if found:
                cut = found.end()
                pieces = encoding.encode_ordinary(text[:cut]) + encoding.encode_ordinary(text[cut:])
                assert pieces == encoding.encode_ordinary(text)


@pytest.mark.parametrize("name", ["auto", "gpt-4o", "o200k_base", "my-org/llama-custom", "p50k_base", "gpt2"])
def test_without_a_network_an_estimate_counts_within_a_second_and_warns_once(without_quicktok, name):
    """A5."""
    with pytest.warns(UserWarning, match="cl100k_base|o200k_base|p50k_base|gpt2") as caught:
        count = resolve_tokenizer(name)
    assert backends._CONNECT_SECONDS < 1
    assert len(caught) == 1
    assert count.is_estimated
    assert count("hello world") >= 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        count("again " * 100)


def test_a_network_that_swallows_everything_costs_less_than_a_second_and_only_once(
    without_quicktok, monkeypatch
):
    """A5: a connection that never answers."""
    released, asked, ended = threading.Event(), [], []

    def never(*address, **_):
        asked.append(address)
        released.wait(60)
        ended.append(address)
        raise ConnectionError

    monkeypatch.setattr(backends.socket, "create_connection", never)
    for _ in range(2):
        with pytest.warns(UserWarning, match="cl100k_base|o200k_base|p50k_base|gpt2"):
            assert resolve_tokenizer("auto").is_estimated
    assert (len(asked), ended, backends._CONNECT_SECONDS < 1) == (1, [], True)
    released.set()


@settings(deadline=None, max_examples=400)
@given(TEXTS)
def test_the_estimate_is_never_below_the_true_count(text):
    """A8, M11: for any text, of both encodings."""
    estimate = resolve_tokenizer("estimate")(text)
    assert estimate >= resolve_tokenizer("cl100k_base")(text)
    assert estimate >= resolve_tokenizer("o200k_base")(text)


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
