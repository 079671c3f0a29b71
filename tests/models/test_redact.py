"""What is said of an error from outside."""

from __future__ import annotations

import pytest

from langchain_context_engine import SourceError
from langchain_context_engine.models.redact import redact, safe_message


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-SECRET99. Find it at", "{'OPENAI_API_KEY': 'SECRET99'}",
        "password: SECRET99", "postgres://user:SECRET99@db/x", "https://host/v1?token=SECRET99&a=1",
        "Authorization: Bearer SECRET99", "x-api-key: SECRET99", "aws_secret_access_key=SECRET99",
        "ghp_SECRET99SECRET99", "Authorization: ApiKey SECRET99", "curl --password SECRET99 https://host",
        "pass=SECRET99", "https://blob/x?sv=1&sig=SECRET99%2B&se=2",
        "-----BEGIN RSA PRIVATE KEY-----\nMIISECRET99\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIISECRET99 and cut",
    ],
)  # fmt: skip
def test_no_kind_of_secret_is_repeated(text):
    """L93."""
    assert "SECRET99" not in safe_message(RuntimeError(text))


def test_a_foreign_error_is_told_by_its_class_and_our_own_by_its_words():
    """L93: what a library quotes goes to the log only."""
    assert safe_message(ValueError("sid AC0123 of Twilio")) == "ValueError"
    assert safe_message(SourceError("the\ncollection is gone")) == "SourceError: the collection is gone"
    assert safe_message(OSError(28, "No space left on device")) == "OSError: No space left on device"
    assert redact("token 8192 is out of range of 9 tokens") == "token 8192 is out of range of 9 tokens"


def test_a_long_mixed_run_is_masked_wherever_its_digit_stands_and_a_long_word_is_not():
    mixed, word, number = "a" * 300 + "1", "long-" * 20 + "word", "7" * 40
    assert redact(f"{mixed} {word} {number}") == f"*** {word} {number}"
