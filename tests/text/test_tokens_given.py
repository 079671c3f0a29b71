"""Counters that a user gives: functions, chat models, tokenizer objects."""

from __future__ import annotations

import pytest
import quicktok

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.text.tokens import resolve_tokenizer


def count_letters(text: str) -> int:
    return len(text)


@pytest.mark.parametrize(
    "tokenizer",
    [
        lambda text: -1,
        lambda text: 1.5,
        lambda text: None,
        lambda text: True,
        lambda text: "3",
        lambda text: text.split(),
        lambda: 1,
        lambda text: 1 / 0,
        lambda text: -1 if text else 0,
        None,
        7,
        b"auto",
        ["auto"],
        "",
        "function:count_letters",
        "model:FakeChat",
    ],
)
def test_a_tokenizer_that_cannot_count_is_refused_when_resolved(tokenizer):
    with pytest.raises(ConfigError):
        resolve_tokenizer(tokenizer)


class ServiceError(Exception):
    """What a service's own client raises: no error of Python's."""


@pytest.mark.parametrize("error", [RuntimeError, ServiceError])
def test_the_failure_of_a_function_tells_no_secret(error):
    """L93."""

    def leaking(text):
        raise error("api_key=sk-test")

    with pytest.raises(ConfigError) as caught:
        resolve_tokenizer(leaking)
    assert "sk-test" not in str(caught.value)


def test_an_openai_model_is_counted_by_its_encoding_without_a_network():
    from langchain_openai import ChatOpenAI

    count = resolve_tokenizer(ChatOpenAI(model="gpt-4o", api_key="x"))
    assert count is resolve_tokenizer("o200k_base")
    own = ChatOpenAI(model="gpt-4o", api_key="x", custom_get_token_ids=lambda text: [1] * len(text))
    assert resolve_tokenizer(own)("four") == 4


def test_a_tokenizer_object_counts_what_it_encodes():
    """M11."""
    count = resolve_tokenizer(quicktok.get_encoding("o200k_base"))
    assert count.name == "tokenizer:Tokenizer"
    assert count("<|endoftext|> hello") == resolve_tokenizer("o200k_base")("<|endoftext|> hello")
    assert count.decode(count.encode("naïve")) == "naïve"

    class Ids:
        ids = (1, 2)

    class HuggingFace:
        def encode(self, text):
            return Ids()

    assert resolve_tokenizer(HuggingFace())("x") == 2
