"""Why a record that the store holds was not offered (B22)."""

from __future__ import annotations

import re

import pytest

from langchain_context_engine import ChromaSource, ContextEngine
from langchain_context_engine.evaluation.not_offered import why_not_offered
from tests.builders import WordEmbeddings, a_collection

NOTES = [
    *({"id": f"n{n}", "text": f"Berth {n} is booked by the day.", "team": "red"} for n in range(40)),
    {"id": "tea", "text": "Tea is served at four, far from any berth.", "path": "docs/tea.md", "kind": "doc",
     "title": "Tea time", "team": "red"},
    {"id": "3f2a9c1d0b7e", "text": "Sails are mended in May.", "team": "red"},
    {"id": "secret", "text": "Coffee is served at five.", "path": "docs/coffee.md", "team": "blue"},
]  # fmt: skip


@pytest.fixture(scope="module")
def engine():
    embeddings = WordEmbeddings()
    source = ChromaSource(a_collection(NOTES, embeddings=embeddings), embeddings=embeddings, name="notes")
    return ContextEngine([source], budget=200, scope_keys=("team",))


def why(engine, named, **fields):
    return why_not_offered(
        engine, "how is berth 7 booked by the day?", named, **{"scope": {"team": "red"}, **fields}
    )


@pytest.mark.parametrize(
    "named",
    ["tea", "docs/tea.md", "docs/tea.md:3-9", "tea.md", "tea.md:5", "Tea time", "served at four",
     "serving tea far"],
)  # fmt: skip
def test_a_record_is_meant_by_id_place_title_a_piece_of_its_text_or_words_of_it(engine, named):
    (found,) = why(engine, named, limit=20, seconds=0)
    assert (found.key[1], found.is_offered) == ("tea", False)


def test_a_record_is_meant_by_the_beginning_of_its_hash_and_is_told_at_once_without_what_lets_it_in(engine):
    (found,) = why(engine, "3f2a9c1d", limit=20, seconds=0)
    assert (found.key[1], found.changes) == ("3f2a9c1d0b7e", ())
    assert found.rank > 20


def test_its_rank_is_told_in_each_leg_and_what_lets_it_in_holds(engine):
    (found,) = why(engine, "tea", limit=20)
    assert found.rank > 20
    assert set(found.leg_ranks) <= {"dense", "lexical", "phrase"}
    assert found.leg_ranks["lexical"] > 1
    assert found.reason.startswith(f"not offered: notes offers its best 20, and this is its {found.rank}")
    assert f"; with a limit of {found.rank} it is offered, and dropped: " in found.reason
    (offered,) = why(engine, "tea", limit=found.rank)
    assert offered.is_offered


def test_a_limit_is_told_with_the_budget_that_lets_it_in_then(engine):
    """ "would be in with a limit of 216 and more": offered then, and out for room."""
    (found,) = why(engine, "tea", limit=20)
    told = re.match(rf"a limit of {found.rank} and budget from 200 to ([\d,]+)", found.changes[0])
    budget = int(told[1].replace(",", ""))
    question, given = "how is berth 7 booked by the day?", {"scope": {"team": "red"}, "limit": found.rank}
    assert found.key not in {p.key for p in engine.build(question, **given).passages}
    assert found.key in {p.key for p in engine.build(question, budget=budget, **given).passages}


def test_a_limit_that_is_told_to_let_it_in_does(engine):
    question, given = "is tea at a berth served at four?", {"scope": {"team": "red"}, "budget": 64_000}
    (found,) = why_not_offered(engine, question, "n39", limit=5, **given)
    assert found.changes == (f"a limit of {found.rank}",)
    context = engine.build(question, limit=found.rank, **given)
    assert found.key in {passage.key for passage in context.passages}


@pytest.mark.parametrize(
    ("fields", "wanting"),
    [({"kinds": ("memory",)}, "kinds"), ({"where": {"team": "green"}}, "where"), ({"since": "2026-01-01"}, "since"),
     ({"excluded": ("tea",)}, "excluded")],
)  # fmt: skip
def test_a_filter_that_keeps_it_out_is_named(engine, fields, wanting):
    (found,) = why(engine, "tea", **fields)
    assert not found.is_offered
    assert f"the request's {wanting} keeps it out" in found.sentence


def test_what_was_offered_says_what_became_of_it(engine):
    (found,) = why(engine, "n7", limit=20)
    assert found.is_offered
    assert "is in, whole" in found.reason


def test_of_many_that_are_called_so_the_nearest_comes_first_and_alone_is_told_what_lets_it_in(engine):
    """A path of a dozen sections was asked of for minutes: each had its own questions and budgets tried."""
    asked = []
    source = engine.sources[0]
    fetch = type(source).fetch
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(source), "fetch", lambda *a: asked.append(a) or fetch(*a))
        found = why(engine, "is booked by the day", limit=20)
    assert [item.is_offered for item in found] == sorted(item.is_offered for item in found)
    missed = [item for item in found if not item.is_offered]
    assert len(missed) > 3
    assert [item.rank for item in missed] == sorted(item.rank for item in missed)
    assert all(not item.changes for item in found[1:])
    assert len(asked) == 3  # as it was asked, as deep as may be, and as deep as lets the first in


@pytest.mark.parametrize(
    "named", ["secret", "docs/coffee.md", "Coffee is served", "nothing of the kind", "", "  "]
)
def test_what_is_out_of_scope_looks_like_what_is_not_there(engine, named):
    """Promise 4."""
    assert why(engine, named) == ()
