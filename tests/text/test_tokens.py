"""Counting tokens: exact, quick for any text, by the name of an encoding or a model."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import ContextEngine
from langchain_context_engine.text.tokens import resolve_tokenizer
from tests.builders import ListSource, a_candidate
from tests.growth import assert_linear, repeated
from tests.token_builders import TEXTS

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize("run", ["^", " ", "\n", "a", "日", "😀", "0", "<|endoftext|>", "\t ", "ab"])
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "estimate"])
def test_a_very_long_run_is_counted_in_linear_time(run, name):
    """A3."""
    count = resolve_tokenizer(name)
    counted = {}
    size = 1_000_000 if run == "^" else 200_000
    assert_linear(lambda text: counted.setdefault(text, count(text)), repeated(run), size)
    text, tokens_ = max(counted.items(), key=lambda each: len(each[0]))
    if name == "estimate":
        assert tokens_ >= max(resolve_tokenizer(n)(text) for n in ("cl100k_base", "o200k_base"))
    elif (run, name) == ("^", "cl100k_base"):
        assert tokens_ == 250_000


@pytest.mark.parametrize("model", ["my-org/llama-custom", "cl100k_bse"])
def test_an_unknown_model_warns_once_when_resolved_and_counts_with_the_fallback(model):
    """A4."""
    with pytest.warns(UserWarning, match=model) as caught:
        count = resolve_tokenizer(model)
    assert len(caught) == 1
    assert count == resolve_tokenizer("cl100k_base")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert count("hello world") == 2


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o", "o200k_base"),
        ("o1", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("openai:gpt-4o-mini", "o200k_base"),
        ("openai/gpt-4.1", "o200k_base"),
        ("text-embedding-3-small", "cl100k_base"),
        ("meta-llama/Llama-3.1-8B", "llama3"),
    ],
)
def test_a_model_name_means_its_encoding_without_a_warning(model, encoding):
    """A4, M11."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert resolve_tokenizer(model).name == encoding


@settings(deadline=None, max_examples=60)
@given(st.one_of(TEXTS, st.sampled_from(["<|endoftext|>", "<|im_start|>user"])))
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "estimate", "utf8_bytes"])
def test_encoding_gives_as_many_tokens_as_counted_and_decodes_to_the_same_text(name, text):
    """M11."""
    count = resolve_tokenizer(name)
    ids = count.encode(text)
    assert len(ids) == count(text)
    assert count.decode(ids) == text


def test_a_counter_survives_pickle_and_copy():
    """H73."""
    for name in ("cl100k_base", "estimate"):
        count = resolve_tokenizer(name)
        assert pickle.loads(pickle.dumps(count)) is count
        assert copy.deepcopy(count) is count
    assert pickle.loads(pickle.dumps(resolve_tokenizer(len)))("four") == 4


def test_an_engine_warns_once_of_its_tokenizer_and_every_context_tells_it():
    """A4, A5."""
    with pytest.warns(UserWarning, match="llama-custom") as caught:
        engine = ContextEngine([ListSource([a_candidate(text="hello")])], tokenizer="my-org/llama-custom")
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        contexts = [engine.build("a"), engine.build("b")]
    assert [len(context.warnings) for context in contexts] == [1, 1]
