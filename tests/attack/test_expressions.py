"""Every regular expression that meets foreign text goes over it once: no shape of text stops a process."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from langchain_context_engine import Candidate, ContextEngine
from langchain_context_engine.models.redact import redact
from tests.attack.timing import TooSlowError, processor_seconds
from tests.builders import ListSource

ROOT = Path(__file__).parents[2]
SHORT, SHORT_SECONDS = 6_000, 0.1
LONG, LONG_SECONDS = 160_000, 0.75
"""What is quadratic needs seconds for the short text and minutes for the long one."""

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


USE = re.compile(r"(\w+)\.(search|match|fullmatch|sub|subn|split|findall|finditer)\(")


def text_of(shape: str, length: int) -> str:
    """Return a text of that many characters, with an end that makes a greedy expression step back."""
    return (shape * (length // len(shape) + 1))[: length - 2] + "\x00b"


def patterns(value: object) -> Iterator[re.Pattern[str]]:
    """Yield the expressions in a value of a module, in its tuples and mappings too."""
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, (tuple, list, set, frozenset, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from patterns(item)


@pytest.fixture(scope="module")
def known() -> dict[re.Pattern[str], tuple[str, set[str]]]:
    """Return every expression that stands at the top of a module: where, and by which methods it is used."""
    files = [
        p for room in ("langchain_context_engine", "inspector") for p in sorted((ROOT / room).rglob("*.py"))
    ]
    used: dict[str, set[str]] = {}
    for path in files:
        for name, method in USE.findall(path.read_text()):
            used.setdefault(name, set()).add(
                method if "match" in method or method == "search" else "finditer"
            )
    found: dict[re.Pattern[str], tuple[str, set[str]]] = {}
    for path in files:
        if path.name != "app.py" and "re.compile(" in path.read_text():
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            for name, value in vars(importlib.import_module(module)).items():
                for pattern in patterns(value):
                    _, methods = found.setdefault(pattern, (f"{module}:{name}", set()))
                    methods |= used.get(name, {"finditer"})
    return found


def is_fast(run, text, most):
    for _ in range(2):  # a busy machine may stop one
        try:
            processor_seconds(run, text, most=most)
        except TooSlowError:
            continue
        return True
    return False


def slow(known, length, most):
    """Return the expressions that need more than `most` seconds for a text, with its shape."""
    texts = {shape: text_of(shape, length) for shape in SHAPES}
    return [
        (place, pattern.pattern, shape)
        for pattern, (place, methods) in known.items()
        for method in methods
        for shape, text in texts.items()
        if not is_fast(getattr(pattern, "findall" if method == "finditer" else method), text, most)
    ]


def test_no_expression_goes_back_and_forth_over_a_text(known):
    """High 2: the masking of secrets was cubic, and more: 1,500 characters of `apiapikey` took 355 seconds."""
    assert len(known) > 60
    assert slow(known, SHORT, SHORT_SECONDS) == []


@pytest.mark.attack
@pytest.mark.timeout(900)
def test_no_expression_needs_a_second_for_the_longest_texts(known):
    assert slow(known, LONG, LONG_SECONDS) == []


@pytest.mark.parametrize("shape", ["apikey", "apiapikey", "0123456789abcdef", "a.", "-", "eyJ-", "key="])
def test_masking_an_error_is_linear(shape):
    """High 2."""
    assert processor_seconds(redact, text_of(shape, LONG), most=LONG_SECONDS) < LONG_SECONDS


@pytest.mark.attack
@pytest.mark.timeout(900)
def test_no_shape_of_text_makes_an_answer_late():
    """Of a record and of a question."""
    late = []
    for shape in SHAPES:
        text = text_of(shape, LONG)
        other = f"A note on {text[:60]}"
        notes = [Candidate(id=each[:9], text=each, relevance=0.9) for each in (text, other)]
        engine = ContextEngine([ListSource(notes)], budget=300, timeout_seconds=60)
        if not is_fast(engine.build, text[:20_000], 10):
            late.append(shape)
    assert late == []
