"""The newest of something: found by date, whatever the words, and told in order of time."""

from __future__ import annotations

import pytest

from langchain_context_engine import ChromaSource, ContextEngine, replay
from langchain_context_engine.ranking.recency import newest_of
from tests.builders import WordEmbeddings, a_collection


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
    "query", ["What changed most recently?", "last commit?", "the latest changes", "what was just committed?"]
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
    assert newest_of("which commit changed the payment provider last time?").is_record is False


def test_the_newest_stay_in_scope():
    records = [{**record, "team": "a" if i < 100 else "b"} for i, record in enumerate(commits())]
    found = an_engine(records).search("last commit?", scope={"team": "a"}, k=3)
    assert [item.key[1] for item in found] == ["0099", "0098", "0097"]


def test_why_it_stands_there_is_told():
    context = an_engine(commits()).build("last commit?", budget=200)
    told = [d for d in context.decisions if d.reason == "latest"]
    assert told[0].details["value"] > 0
    assert "latest" in context.explain(context.passages[0].key)


@pytest.mark.parametrize(
    ("query", "asks"),
    [
        ("very last commit on master?", True),
        ("what is new?", True),
        ("when was pay() last changed?", True),
        ("the last performance related change to globs", True),
        ("how long does a session last?", False),
        ("who spoke at last?", False),
        ("the last page of the manual", False),
    ],
)
def test_the_newest_is_asked_for_in_words(query, asks):
    assert (newest_of(query) is not None) is asks


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
    before = replay(context, fusion={"edition": 2})
    assert [p.key[1] for p in before.passages][:2] == ["work", "3"]


WOODS = "ash birch cedar elm fir hazel ivy juniper larch maple oak pine rowan spruce thorn willow yew".split()  # noqa: SIM905


def history(number: int = 60) -> list[dict]:
    """Return commits as they are indexed, each of other matter."""
    return [
        {
            **commit,
            "text": f"Plant {WOODS[i % 17]} and {WOODS[i // 17]} beside jetty {i}",
            "sha": commit["id"] * 10,
        }
        for i, commit in enumerate(commits(number))
    ]


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("latest commit?", 3),
        ("What was committed last?", 3),
        ("What changed most recently?", 5),
        ("show the latest commits", 10),
        ("the last 7 commits", 7),
        ("what were the 2 most recent changes", 2),
    ],
)
def test_of_the_newest_so_many_come_as_are_asked_for(query, shown):
    """Seen 3: a longer list of newest than asked."""
    context = an_engine(history()).build(query, budget=2000)
    newest = [f"{59 - i:04}" for i in range(shown)]
    assert [p.key[1] for p in context.passages] == newest
    before = replay(context, fusion={"edition": 4})
    assert len(before.passages) != shown, "promise 9: as the rules before did"


def test_of_the_newest_release_all_sections_come_and_no_other_release():
    sections = [
        {"id": f"{v}-{part}", "text": f"### {part}\n\n- {part} of many berths and jetties in {v}.0", "headings": f"{v}.0.0 › {part}",
         "version": f"{v}.0.0", "start": (40 - v) * 100 + place, "kind": "doc", "path": "CHANGELOG.md",
         "created_at": 1_600_000_000 + v}
        for v in range(30) for place, part in enumerate(("Added", "Fixed", "Removed"))
    ]  # fmt: skip
    context = an_engine([*sections, *history()]).build("What is in the latest release?", budget=2000)
    assert [p.key[1] for p in context.passages] == ["29-Added", "29-Fixed", "29-Removed"]
