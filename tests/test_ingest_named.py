"""What is defined bears the name that it has, with whatever signs its language lets names have."""

from __future__ import annotations

import pytest

from langchain_context_engine.ingest.reading import read_records
from langchain_context_engine.ingest.split import Splitter

# What stands around each, and definitions with the name that each is known by.
NAMED = {
    "a.ex": (
        "defmodule A do\n{}end\n",
        {
            "valid?": "def valid?(x), do: x",
            "save!": "defp save!(x) do\n    x\n  end",
            "ready?": "def ready?, do: true",
            "<~>": "def left <~> right, do: left",
            "over?": "defp over?(a, b) when a > b and valid?(a), do: a",
        },
    ),
    "a.rb": (
        "class A\n{}end\n",
        {
            "valid?": "def valid?\n    1\n  end",
            "name=": "def name=(v)\n    @v = v\n  end",
            "[]": "def [](i)\n    i\n  end",
        },
    ),
    "a.kt": ("class A {{\n{}}}\n", {"`adds two`": "fun `adds two`() {\n    check(true)\n  }"}),
    "a.swift": ("struct A {{\n{}}}\n", {"==": "static func == (l: A, r: A) -> Bool {\n    return true\n  }"}),
    "a.js": ("class A {{\n{}}}\n", {"#left": "#left() {\n    return 1\n  }"}),
}


@pytest.mark.parametrize("path", list(NAMED))
def test_a_name_may_have_every_sign_that_its_language_allows(path):
    frame, named = NAMED[path]
    text = frame.format("".join(f"  {definition}\n\n" for definition in named.values()))
    records = read_records(path, text.encode(), splitter=Splitter(class_size=0)).records
    symbols = {record.metadata.get("symbol") for record in records}
    assert {f"A.{name}" for name in named} <= symbols
