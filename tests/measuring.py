"""Coverage where it tells something: not of what runs the same lines a thousand times, which it makes twice as long."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator

import pytest

__all__ = ["import_libraries", "is_measured", "unmeasured"]

_LIBRARIES = (
    "chromadb",
    "fastapi",
    "hypothesis.strategies",
    "jsonschema",
    "langchain.agents",
    "langchain_classic.retrievers",
    "langchain_community.retrievers",
    "langchain_core.language_models",
    "langchain_openai",
    "langchain_tests.integration_tests",
    "langgraph.graph",
    "mcp.server",
    "openai",
    "opentelemetry.sdk.metrics.export",
    "opentelemetry.sdk.trace.export",
    "pandas",
    "starlette.testclient",
    "streamlit.testing.v1",
    "typer",
)
"""Of others, and large: the tests import them all."""


@contextlib.contextmanager
def unmeasured() -> Iterator[None]:
    """Run what is inside without the tracer of coverage, where there is one; within another it changes nothing."""
    # What measures is loaded by now; where the package is tested as installed it is not there at all.
    coverage = sys.modules.get("coverage")
    measuring = coverage and coverage.Coverage.current()
    if measuring is None:
        yield
        return
    measuring.stop()
    try:
        yield
    finally:
        measuring.start()


def import_libraries() -> None:
    """Import the libraries of others without the tracer, which takes longer than importing them.

    Every process of a measured run does so while it collects; where nothing is measured, who needs one imports it.
    """
    if "coverage" in sys.modules:
        with unmeasured():
            for name in _LIBRARIES:
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)


def is_measured(test: pytest.Item) -> bool:
    """Return whether a test's lines are to be measured.

    Not of hundreds of generated cases of one rule, whose lines those with a name of their own run too, nor of
    attacks, which do so with masses of data, nor of what is marked `unmeasured`.
    """
    if "attack" in test.path.parts:
        return False
    is_generated = getattr(getattr(test, "obj", None), "is_hypothesis_test", False)
    return not is_generated and test.get_closest_marker("unmeasured") is None
