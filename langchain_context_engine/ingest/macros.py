"""C and C++ whose macros stand where no parser expects a word, and tests that are macros."""

from __future__ import annotations

import re

from langchain_context_engine.ingest.naming import Frame

_ALONE = re.compile(rb"^[ \t]*+[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++){1,12}", re.MULTILINE)
_BEFORE_A_NAME = re.compile(
    rb"\b(?:class|struct)[ \t]{1,8}([A-Z][A-Z0-9]*+(?:_[A-Z0-9]++){1,12})(?=[ \t]{1,8}\w)"
)
_REST = re.compile(rb"[ \t]*(?://[^\n]*|/\*[^\n]*)?(?:\r?\n|\Z)")
_LONGEST = 400
"""Characters of a macro's arguments that are looked at: they stand on its line."""

_TRIALS = frozenset(
    [
        "TEST",
        "TEST_F",
        "TEST_P",
        "TYPED_TEST",
        "TYPED_TEST_P",
        "BENCHMARK_F",
        "BENCHMARK_DEFINE_F",
        "FUZZ_TEST_F",
        "BOOST_AUTO_TEST_CASE",
        "BOOST_FIXTURE_TEST_CASE",
        "TEST_METHOD",
    ]
)
_TITLED_TRIALS = frozenset(
    [
        "TEST_CASE",
        "TEST_CASE_METHOD",
        "TEST_CASE_FIXTURE",
        "TEMPLATE_TEST_CASE",
        "SCENARIO",
        "TEST_CASE_TEMPLATE",
    ]
)


def without_macros(source: bytes) -> bytes:
    r"""Return a source with spaces for macros that stand alone on a line or before a class's name.

    What a preprocessor makes of them is unknown, and a parser takes them for a type or the name itself:
    below `TEA_NAMESPACE_BEGIN` a class is lost. Every offset stays.

    Example:
        >>> without_macros(b"TEA_BEGIN\nclass TEA_API Pot {};\nint x = TEA_MAX;\n")
        b'         \nclass         Pot {};\nint x = TEA_MAX;\n'
    """
    blank = bytearray(source)
    for found in _ALONE.finditer(source):
        end = _arguments_end(source, found.end())
        if _REST.match(source, end):
            blank[found.start() : end] = b" " * (end - found.start())
    for found in _BEFORE_A_NAME.finditer(source):
        start, end = found.span(1)
        blank[start:end] = b" " * (end - start)
    return bytes(blank)


def _arguments_end(source: bytes, start: int) -> int:
    """Return where the arguments of a macro end that stand on its line; `start` where it has none."""
    if source[start : start + 1] != b"(":
        return start
    depth = 0
    for place in range(start, min(start + _LONGEST, len(source))):
        sign = source[place]
        depth += (sign == ord("(")) - (sign == ord(")"))
        if not depth:
            return place + 1
        if sign == ord("\n"):
            break
    return start


def trial_function(frame: Frame, name: str) -> str:
    """Return the name of a test that looks like a function: of `TEST(Pot, Pours) {`, `Pot.Pours`; else ""."""
    if name not in _TRIALS or frame.node.child_by_field_name("type") is not None:
        return ""
    declarator = frame.node.child_by_field_name("declarator")
    given = declarator.child_by_field_name("parameters") if declarator is not None else None
    return ".".join(frame.text(each).strip() for each in given.named_children) if given is not None else ""


def trial_above(frame: Frame) -> tuple[str, int] | None:
    """Return the title and row of the test whose block this is: `TEST_CASE("pours") {` is two statements."""
    above = frame.siblings[frame.index - 1] if frame.index else None
    if above is None or above.type != "expression_statement" or not above.named_child_count:
        return None
    call = above.named_children[0]
    given = call.child_by_field_name("arguments")
    if given is None or frame.text(call.child_by_field_name("function")) not in _TITLED_TRIALS:
        return None
    titles = [each for each in given.named_children if each.type == "string_literal"]
    return (frame.text(titles[0]).strip('"')[:80], above.start_point.row) if titles else None
