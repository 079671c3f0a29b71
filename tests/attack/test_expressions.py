"""Every regular expression that meets foreign text goes over it once: no shape of text stops a process."""

from __future__ import annotations

import pytest

from langchain_context_engine import Candidate, ContextEngine
from langchain_context_engine.ingest.files import _pattern
from langchain_context_engine.ingest.languages import _BY_CONTENT, language_of
from langchain_context_engine.ingest.outline import _LINE_OUTLINES, line_outline
from langchain_context_engine.models.redact import redact, safe_message
from langchain_context_engine.rendering.containment import escape_tags, longest_fence, tag_pattern
from langchain_context_engine.search.collection import _says_missing
from langchain_context_engine.text.matches import mark_matches
from tests.attack.expressions import calls, expressions, made_while_running
from tests.attack.shapes import SHAPES, text_of
from tests.attack.timing import TooSlowError, processor_seconds

SHORT, SHORT_SECONDS = 12_000, 0.1
LONG, LONG_SECONDS = 160_000, 0.75
"""What is quadratic needs seconds for the short text and minutes for the long one."""

_TAGS = tag_pattern(["<passage>{{content}}</passage>"])

IGNORED = ["*a" * 12 + "*b", "**/a/" * 8 + "b", "[!a]*" * 9 + "x", "a/**/" * 9 + "z"]

RUNNING = {
    "line_outline": lambda text: [line_outline(text, language) for language in _LINE_OUTLINES],
    "_pattern": lambda text: [
        pattern[0].fullmatch(text[:4000]) for pattern in filter(None, map(_pattern, IGNORED))
    ],
    "_by_content": lambda text: [language_of(f"a{suffix}", text.encode()) for suffix in _BY_CONTENT],
    "_says_missing": lambda text: _says_missing(RuntimeError(text)),
    "_matches": lambda text: mark_matches(text, ["a", "key", "="]),
    "longest_fence": lambda text: (longest_fence(text, "`"), longest_fence(text, "~")),
    "tag_pattern": lambda text: escape_tags(text, _TAGS),
}
"""What makes or uses an expression within a function: by name, how it is run over a text."""


def slow(run_all, length, most):
    """Return which shapes cost one of the calls more than `most` seconds of the processor."""
    found = []
    for shape in SHAPES:
        text = text_of(shape, length)
        if not all(any(is_fast(run, text, most) for _ in range(2)) for run in run_all):
            found.append(shape)
    return found


def is_fast(run, text, most):
    try:
        processor_seconds(run, text, most=most)
    except TooSlowError:
        return False
    return True


@pytest.fixture(scope="module")
def known():
    return expressions()


def test_the_shapes_are_at_least_ninety_and_all_different():
    assert len(set(SHAPES)) == len(SHAPES) >= 90


def test_the_expressions_of_the_package_are_found(known):
    assert len(known) > 60
    assert {"search", "match", "sub"} <= {method for each in known for method in each.methods}


def test_no_expression_goes_back_and_forth_over_a_text(known):
    """High 2: the masking of secrets was cubic, and more."""
    slow_ones = {
        f"{each.place} {each.pattern.pattern!r}": shapes
        for each in known
        if (shapes := slow(list(calls(each)), SHORT, SHORT_SECONDS))
    }
    assert slow_ones == {}


@pytest.mark.attack
@pytest.mark.timeout(900)
def test_no_expression_needs_a_second_for_the_longest_texts(known):
    slow_ones = {
        f"{each.place} {each.pattern.pattern!r}": shapes
        for each in known
        if (shapes := slow(list(calls(each)), LONG, LONG_SECONDS))
    }
    assert slow_ones == {}


def test_every_expression_that_a_function_makes_is_known_here():
    assert {function for _, function in made_while_running()} == set(RUNNING)


@pytest.mark.parametrize("name", sorted(RUNNING))
def test_no_expression_that_a_function_makes_goes_back_and_forth(name):
    assert slow([RUNNING[name]], SHORT, SHORT_SECONDS) == []


@pytest.mark.parametrize(
    "shape", ["apikey", "apiapikey", "0123456789abcdef", "a.", "-", "eyJ-", "a-", "key="]
)
def test_masking_an_error_is_linear(shape):
    """High 2: 1,500 characters of `apiapikey` took 355 seconds."""
    assert processor_seconds(redact, text_of(shape, LONG), most=LONG_SECONDS) < LONG_SECONDS
    assert processor_seconds(safe_message, RuntimeError(text_of(shape, LONG)), most=0.1) < 0.1


@pytest.mark.attack
@pytest.mark.timeout(900)
def test_no_shape_of_text_makes_an_answer_late():
    """Of a record and of a question."""
    late = []
    for shape in SHAPES:
        text = text_of(shape, LONG)
        engine = ContextEngine([Texts(text)], budget=300, timeout_seconds=60)
        if not is_fast(engine.build, text[:20_000], 10):
            late.append(shape)
    assert late == []


class Texts:
    """Offers one text, and one that begins with it."""

    name = "texts"

    def __init__(self, text):
        self.text = text

    def fetch(self, request):
        del request
        return [
            Candidate(id="1", text=self.text, relevance=0.9),
            Candidate(id="2", text=f"A note on {self.text[:60]}", relevance=0.8),
        ]
