"""What counts as repeated, and which one stands for the others."""

from __future__ import annotations

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.models.types import Ranked, Reason, Verdict
from langchain_context_engine.pipeline.dedupe import dedupe
from langchain_context_engine.ranking.identity import DEFAULT_RULES, same_metadata
from langchain_context_engine.text.similarity import Wording
from tests.builders import a_candidate
from tests.dedupe_builders import ASYNC, SYNC, kept_ids, ranked, versions


def test_case_spaces_and_unicode_form_do_not_matter():
    """D28: the better ranked is kept, with its own spelling and bytes."""
    text = "Réunion décalée à l'été"
    nfc, nfd = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    unseen = "\ufeffRé\u00adunion déca\u200blée à l'été"
    items = ranked(nfd, nfc, text.upper(), "  Réunion   décalée\tà\nl'été ", unseen)
    kept, decisions = dedupe(items)
    assert [item.candidate.text for item in kept] == [nfd]
    assert kept[0].also_in == tuple(item.key for item in items[1:])
    assert {d.details["similarity"] for d in decisions} == {100.0}


def test_one_of_each_repeated_text_remains():
    """D30."""
    items = ranked("tea", "rust", "tea", "rust", "ant", "ant")
    kept, decisions = dedupe(items)
    assert [item.candidate.text for item in kept] == ["tea", "rust", "ant"]
    assert [d.details["winner"] for d in decisions] == [items[0].key, items[1].key, items[4].key]
    assert {(d.stage, d.verdict, d.reason) for d in decisions} == {
        ("dedupe", Verdict.DROPPED, Reason.DUPLICATE)
    }


def test_empty_texts_are_not_duplicates_of_each_other():
    """D26."""
    assert len(kept_ids(ranked("", "   ", "\n", "real text"))) == 4


def test_a_rule_makes_one_thing_of_different_texts():
    items = [
        Ranked(candidate=a_candidate(id="a", metadata={"ghap_id": "g1"})),
        Ranked(candidate=a_candidate(id="b", metadata={"ghap_id": "g1"})),
        Ranked(candidate=a_candidate(id="c", metadata={"ghap_id": ""})),
        Ranked(candidate=a_candidate(id="d", metadata={"ghap_id": ""})),
        Ranked(candidate=a_candidate(id="e")),
    ]
    rule = same_metadata("ghap_id")
    kept, decisions = dedupe(items, rules=[rule])
    assert [item.candidate.id for item in kept] == ["a", "c", "d", "e"]
    assert decisions[0].details == {"winner": ("memories", "a"), "rule": "SameMetadata(names=('ghap_id',))"}


GET = {"path": "api.py", "symbol": "get"}


def test_of_versions_of_one_function_the_newest_is_kept():
    old = SYNC
    new = SYNC.replace("self.close()", "if not self.is_closed:\n        self.close()").replace("8", "9")
    items = versions((old, "2023-01-01", GET), ("other", "2024-01-01", {}), (new, "2024-01-01", GET))
    kept, decisions = dedupe(items, rules=DEFAULT_RULES)
    assert [item.candidate.id for item in kept] == ["1", "2"]
    assert kept[1].also_in == (items[0].key,)
    assert decisions[0].details["winner"] == items[2].key


def test_two_functions_of_one_file_are_not_versions():
    """L5: nor are two parts of one function, or its twin."""
    a = "def get(url):\n    return request('GET', url)"
    b = "def put(url, content):\n    check(content)\n    return request('PUT', url, content=content)"
    assert (
        len(kept_ids(versions((a, "2024", GET), (b, "2024", {**GET, "symbol": "put"})), rules=DEFAULT_RULES))
        == 2
    )
    assert len(kept_ids(versions((a, "2024", GET), ("x = 1\n" * 9, "2024", GET)), rules=DEFAULT_RULES)) == 2
    assert len(kept_ids(versions((SYNC, "2024", GET), (ASYNC, "2024", GET)), rules=DEFAULT_RULES)) == 2


def test_a_pinned_candidate_is_never_dropped_for_one_that_is_not():
    items = [
        Ranked(candidate=a_candidate(id="a", text="Tea is at five.")),
        Ranked(candidate=a_candidate(id="b", text="tea is at five", is_pinned=True)),
    ]
    assert kept_ids(items) == ["b"]


LINES = [
    "tea is at five",
    "Tea  is at FIVE",
    "rust is fast and safe",
    "rust is fast and safer",
    "",
    " ",
    "we met Bo",
]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(LINES) | st.text(max_size=12), max_size=12))
def test_every_dropped_candidate_is_listed_by_a_kept_one(texts):
    """Promise 1."""
    items = ranked(*texts)
    kept, decisions = dedupe(items, rules=DEFAULT_RULES)
    keys = [item.key for item in kept]
    assert keys == [item.key for item in items if item.key in keys]
    dropped = {d.key: d.details["winner"] for d in decisions}
    assert set(keys) | dropped.keys() == {item.key for item in items}
    assert not set(keys) & dropped.keys()
    assert {key: item.key for item in kept for key in item.also_in} == dropped
    folded = [Wording(text).folded for text in texts]
    survivors = [Wording(item.candidate.text).folded for item in kept if item.candidate.text.strip()]
    assert len(survivors) == len(set(survivors))
    assert {f for f in folded if f} >= set(survivors)
