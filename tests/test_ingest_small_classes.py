"""A small class is read as one: nobody understands a method of it without its fields, or an outline at all."""

from __future__ import annotations

import pytest

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.reading import read_records
from langchain_context_engine.models.errors import ConfigError

PYTHON = '''class Berth:
    """A place at the quay."""

    def __init__(self, length):
        self.length = length

    def fits(self, ship):
        return ship.length <= self.length
'''
RUST = """struct Berth {
    length: u32,
}

impl Berth {
    fn fits(&self, ship: u32) -> bool {
        ship <= self.length
    }
}
"""


def records(path, text, **sizes):
    return read_records(path, text.encode(), splitter=Splitter(**sizes)).records


@pytest.mark.parametrize(("path", "text"), [("a.py", PYTHON), ("a.rs", RUST)])
def test_a_small_class_is_one_record_with_its_methods_and_no_outline(path, text):
    found = records(path, text)
    assert {record.metadata["symbol"] for record in found} == {"Berth"}
    assert "\n\n".join(record.text for record in found) == text.strip()
    assert not any(" ..." in record.text for record in found)


@pytest.mark.parametrize(
    ("more", "symbols"), [(0, ["Berth"]), (1, ["Berth", "Berth.__init__", "Berth.fits"])]
)
def test_a_class_stays_whole_up_to_the_size_to_the_character(more, symbols):
    found = records("a.py", PYTHON, class_size=len(PYTHON) - more)
    assert [record.metadata["symbol"] for record in found] == symbols


def test_no_class_is_longer_than_a_piece_for_staying_whole():
    found = records("a.py", PYTHON, chunk_size=len(PYTHON) - 1, class_size=9999)
    assert [record.metadata["symbol"] for record in found] == ["Berth", "Berth.__init__", "Berth.fits"]


def test_a_small_class_within_a_large_one_stays_whole():
    text = f"class Harbour:\n    LOG = '{'x ' * 600}'\n\n" + "".join(
        f"    {line}\n" for line in PYTHON.split("\n")
    )
    found = records("a.py", text)
    assert [record.metadata["symbol"] for record in found] == ["Harbour", "Harbour.Berth"]
    assert found[1].text == PYTHON.strip()


def test_the_size_of_a_class_is_no_negative_number():
    with pytest.raises(ConfigError, match="class_size"):
        Splitter(class_size=-1)
