"""Texts that make an expression go back and forth: ninety shapes, each of any length."""

from __future__ import annotations

SHAPES = (
    # one character, again and again
    *" \t\n\r=-_.,:;/\\|#*+~`'\"()[]{}<>@&%$^!?aAzZ09éß中。　",
    "\u200b", "\ufeff", "\U0001f600",
    # two that take turns
    "a ", "a.", "a-", "a_", "a/", "aA", "Aa", "a1", "1.", "1,", "A.", ". ", ".\n", " \n", "\n\n ", "\r\n", "|-", "-|\n",
    "a\n", "\n-", "- ", "[a", "](", "[[", "{{", "{{a", "}}{", "<a", "</", "< ", '="', "'a", '"a ',
    # what secrets, addresses, code and markup begin with, and never end
    "apikey", "apiapikey", "api-key ", "key=", "key: ", "token ", "auth", "secret=", "passwd", "bearer ", "sk-", "eyJ",
    "eyJa.", "eyJ-", "x=>", 'key="', "key is ", "sk-a ", "AKIA", "http://", "a@", "x://a:", "-----BEGIN A", "-----BEGIN A-----\n", "0123456789abcdef", "Zm9vYmFy", "e" * 40,
    "collection ", "dimension ", "got 1", "```\n", "~~~", "`a", "<!--", "/*", "*/ ", "# ", "a = b;\n", "def a(", "=> ", "the end. ",
    "Dr. ", "U.S. ", "and ", "[1, ", "[1-", "1 - ", "is ", "session id ", "version 1.2.3 ", "[text](url) ", "café́ ",
)  # fmt: skip
"""What is repeated."""


def text_of(shape: str, length: int) -> str:
    """Return a text of that many characters, with an end that makes a greedy expression step back."""
    return (shape * (length // len(shape) + 1))[: length - 2] + "\x00b"
