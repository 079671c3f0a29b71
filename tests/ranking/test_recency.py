"""Recency where a question asks for it."""

from __future__ import annotations

import pytest

from langchain_context_engine import ChromaSource, ContextEngine
from langchain_context_engine.models.types import Reason
from langchain_context_engine.pipeline.rank import rank
from langchain_context_engine.ranking.recency import in_time_order, newest_of
from langchain_context_engine.ranking.signals import SIGNALS
from tests.builders import WordEmbeddings, a_candidate, a_collection, a_request


@pytest.mark.parametrize(
    ("query", "about"),
    [
        ("What changed most recently?", ()),
        ("what are the last 3 commits", ()),
        ("the latest change to glob matching", ("glob", "match")),
        ("what were the 2 most recent changes", ()),
        ("very last commit on master?", ()),
        ("what was merged last into the main branch", ()),
        ("the latest change to the main loop", ("main", "loop")),
        ("the last change in the main function", ("main", "function")),
        ("what is new?", ()),
        ("when was pay() last changed?", ("pay",)),
        ("how long does a session last?", None),
        ("the last page of the manual", None),
        ("who spoke at last?", None),
    ],
)
def test_the_newest_is_asked_for_in_words(query, about):
    newest = newest_of(query)
    assert (None if newest is None else newest.about) == about


def ranked(candidates, query):
    return rank(candidates, a_request(query=query), signals=SIGNALS)


def test_where_nothing_else_is_named_the_order_of_time_answers():
    found = [
        a_candidate(
            id=str(year), text="what changed", relevance=1 / (year - 2019), created_at=f"{year}-01-01"
        )
        for year in range(2020, 2024)
    ]
    ranking = ranked(found, "what changed most recently?")
    assert [item.key[1] for item in ranking.items] == ["2023", "2022", "2021", "2020"]
    assert {decision.reason for decision in ranking.decisions} == {Reason.LATEST}


def test_what_is_new_but_holds_nothing_of_the_question_does_not_win():
    """A commit "Update uv_build version", relevance .007, won with confidence 1; the guide was dropped."""
    guide = a_candidate(
        id="guide", kind="doc", relevance=0.9, created_at="2020-01-01", metadata={"path": "guide.md"},
        text="Install a package with pip: pip install name gives its newest version.",
    )  # fmt: skip
    bump = a_candidate(
        id="bump", kind="commit", relevance=0.007, created_at="2026-01-01", text="Update uv_build version",
    )  # fmt: skip
    ranking = ranked([guide, bump], "How do I install the latest version of a package with pip?")
    assert [item.key[1] for item in ranking.items] == ["guide", "bump"]


def test_of_what_the_question_names_the_newest_comes_first():
    old = a_candidate(id="old", text="Router.mount changed its path", relevance=0.9, created_at="2020-01-01")
    new = a_candidate(id="new", text="Router.mount lost an argument", relevance=0.8, created_at="2025-01-01")
    other = a_candidate(id="other", text="Berths are free", relevance=0.1, created_at="2026-01-01")
    ranking = ranked([old, new, other], "What was the most recent change to Router.mount?")
    assert [item.key[1] for item in ranking.items] == ["new", "old", "other"]


def test_a_release_is_the_section_of_a_changelog_that_names_a_version():
    sections = [
        a_candidate(
            id=name, kind="doc", text=name, created_at="2025-01-01",
            metadata={"path": "CHANGELOG.md", "headings": heading, "start": start},
        )
        for name, heading, start in [("unreleased", "Unreleased", 0), ("two", "2.0", 50), ("one", "1.0", 90)]
    ]  # fmt: skip
    commit = a_candidate(id="commit", kind="commit", text="Mend it", created_at="2026-01-01")
    newest = newest_of("which version was released most recently?")
    values = in_time_order([*sections, commit], newest)
    assert values[1] > values[2] > 0
    assert values[0] == values[3] == 0


def commits(number: int = 150) -> list[dict]:
    """Return commits, the oldest first: most of them say what the question says."""
    return [
        {
            "id": f"{i:04d}",
            "text": f"Quiet work number {i} on berths"
            if i > number - 4
            else f"What changed most recently: {i}",
            "kind": "commit",
            "created_at": 1_700_000_000 + i * 86_400,
        }
        for i in range(number)
    ]


def an_engine(records: list[dict], **settings) -> ContextEngine:
    embeddings = WordEmbeddings()
    source = ChromaSource(a_collection(records, embeddings=embeddings), embeddings=embeddings, name="commits")
    return ContextEngine(sources=[source], timeout_seconds=30.0, **settings)


@pytest.mark.parametrize(
    "query",
    [
        "What changed most recently?",
        "last commit?",
        "the latest changes",
        "the last 7 commits",
        "what was just committed?",
    ],
)
def test_a_question_that_names_nothing_else_is_answered_in_order_of_time(query):
    found = an_engine(commits()).search(query, k=5)
    assert [item.key[1] for item in found] == ["0149", "0148", "0147", "0146", "0145"]


def test_the_answer_about_the_latest_begins_with_the_newest_and_doubts_nothing():
    context = an_engine(commits()).build("What changed most recently?", budget=60)
    assert context.text.startswith("[1] Quiet work number 149")
    assert context.confidence == 1.0
    assert context.doubt["newest"] == 1.0


def test_the_last_release_is_the_top_section_that_names_a_version():
    sections = [
        {
            "id": "unreleased",
            "text": "Unreleased: berths can be shared",
            "headings": "Unreleased",
            "start": 0,
        },
        {"id": "new", "text": "2.1.0: tides are told", "headings": "2.1.0 (2026-05-01)", "start": 50},
        {
            "id": "old",
            "text": "2.0.0: the release of releases",
            "headings": "2.0.0 (2025-05-01)",
            "start": 90,
        },
    ]
    records = [{**s, "kind": "doc", "path": "CHANGELOG.md", "created_at": 1_780_000_000} for s in sections]
    found = an_engine([*records, *commits(20)]).search("What is in the latest release?", k=2)
    assert [item.key[1] for item in found] == ["new", "old"]


def test_the_last_release_is_none_that_is_still_to_come():
    sections = [
        {"id": "to-come", "text": "3.0.0: soon", "headings": "3.0.0", "start": 0, "unreleased": True},
        {"id": "new", "text": "2.1.0: tides are told", "headings": "2.1.0", "start": 50},
    ]
    records = [{**s, "kind": "doc", "path": "CHANGELOG.md", "created_at": 1_780_000_000} for s in sections]
    found = an_engine([*records, *commits(20)]).search("What is in the latest release?", k=1)
    assert found[0].key[1] == "new"


def test_a_question_that_names_a_thing_is_answered_by_its_newest():
    records = [
        *commits(60),
        {
            "id": "fish",
            "text": "Fish completions quote spaces",
            "kind": "commit",
            "created_at": 1_700_086_400,
        },
    ]
    found = an_engine(records).search("what changed most recently in the fish completions", k=1)
    assert found[0].key[1] == "fish"


def test_the_latest_decision_stands_before_the_one_that_it_replaced():
    """Seen 6: the older memory resembled the question more, and only commits stood in order of time."""
    records = [
        *commits(20),
        {"id": "old", "text": "We decided on Paddle as the payment provider.", "kind": "memory", "created_at": 1_600_000_000},
        {"id": "new", "text": "The payment provider is Stripe from now on.", "kind": "memory", "created_at": 1_600_086_400},
    ]  # fmt: skip
    found = an_engine(records).search("What is our latest decision about the payment provider?", k=2)
    assert [item.key[1] for item in found] == ["new", "old"]


def test_the_newest_stay_in_scope():
    records = [{**record, "team": "a" if i < 100 else "b"} for i, record in enumerate(commits())]
    found = an_engine(records).search("last commit?", scope={"team": "a"}, k=3)
    assert [item.key[1] for item in found] == ["0099", "0098", "0097"]


def test_why_it_stands_there_is_told():
    context = an_engine(commits()).build("last commit?", budget=200)
    told = [d for d in context.decisions if d.reason == "latest"]
    assert told[0].details["value"] > 0
    assert "latest" in context.explain(context.passages[0].key)


def test_the_top_of_a_long_changelog_is_found_though_all_its_sections_have_one_date():
    sections = [
        {"id": f"{999 - i}", "text": f"Quiet {i}", "headings": f"{300 - i}.0.0", "start": i * 10}
        for i in range(150)
    ]
    records = [{**s, "kind": "doc", "path": "CHANGELOG.md", "created_at": 1_600_000_000} for s in sections]
    found = an_engine([*records, *commits(150)]).search("What is in the latest release?", k=2)
    assert [item.key[1] for item in found] == ["999", "998"]


def test_the_newest_are_those_of_the_requests_scope():
    records = [{**record, "user": "u" if int(record["id"]) % 7 == 0 else "v"} for record in commits(300)]
    found = an_engine(records).search("What changed most recently?", k=3, scope={"user": "u"})
    assert [item.key[1] for item in found] == ["0294", "0287", "0280"]


TOLD_TWICE = [
    *(
        {
            "id": f"{i}",
            "text": f"Quiet work on berths and jetties, number {i}",
            "created_at": 1_700_000_000 + i,
        }
        for i in range(4)
    ),
    {
        "id": "work",
        "text": "Add a page on charsets of the consoles\n\nCloses #2121\n\nfaq.md (+45 −0)",
        "created_at": 1_700_000_005,
    },
    {"id": "merged", "text": "Add a page on charsets of the consoles (#3778)", "created_at": 1_700_000_006},
]


def test_of_one_change_told_twice_the_newest_telling_answers_what_came_last():
    """T5: the merge says less than what it merged, and is the last commit all the same."""
    records = [{**record, "kind": "commit", "sha": record["id"] * 8} for record in TOLD_TWICE]
    context = an_engine(records).build("What was committed last?")
    assert [p.key[1] for p in context.passages][:2] == ["merged", "3"]
