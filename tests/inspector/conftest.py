"""What tests of the inspector share; one in a browser gives the `address` of the inspector that it walks."""

from __future__ import annotations

import sys

import pytest

from tests.inspector.visiting import a_browser, visits


@pytest.fixture(scope="module", autouse=True)
def main_module():
    """Streamlit's tests leave a page as `__main__`, which whoever forks a server afterwards would run."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(scope="module")
def browser():
    with a_browser() as browser:
        yield browser


@pytest.fixture
def visit(browser, address):
    with visits(browser, address) as visit:
        yield visit
