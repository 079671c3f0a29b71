"""What the tests in a browser share; each module gives the `address` of the inspector that it walks through."""

from __future__ import annotations

import pytest

from tests.inspector.visiting import a_browser, visits


@pytest.fixture(scope="module")
def browser():
    with a_browser() as browser:
        yield browser


@pytest.fixture
def visit(browser, address):
    with visits(browser, address) as visit:
        yield visit
