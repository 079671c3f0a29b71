"""What is said of an error from outside."""

from __future__ import annotations

import pytest

from langchain_context_engine.models.redact import safe_message


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-SECRET99. Find it at",
        "{'OPENAI_API_KEY': 'SECRET99'}",
        "password: SECRET99",
        "postgres://user:SECRET99@db/x",
        "https://host/v1?token=SECRET99&a=1",
        "Authorization: Bearer SECRET99",
        "x-api-key: SECRET99",
        "aws_secret_access_key=SECRET99",
        "ghp_SECRET99SECRET99",
        "Authorization: ApiKey SECRET99",
        "curl --password SECRET99 https://host",
        "pass=SECRET99",
        "https://blob/x?sv=1&sig=SECRET99%2B&se=2",
        "-----BEGIN RSA PRIVATE KEY-----\nMIISECRET99\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIISECRET99 and cut",
    ],
)
def test_no_kind_of_secret_is_repeated(text):
    """L93."""
    assert "SECRET99" not in safe_message(RuntimeError(text))


@pytest.mark.parametrize(
    "text",
    [
        "maximum context length is 8192 tokens, however you requested 9000 tokens",
        "token 8192 is out of range",
        "the passage could not be read: passing 3 arguments",
    ],
)
def test_what_is_no_secret_is_repeated(text):
    assert safe_message(ValueError(text)) == f"ValueError: {text}"
