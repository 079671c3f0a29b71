"""A question that names a release, asks which commit it was, or what there is now, is answered by that."""

from __future__ import annotations

import pytest

from langchain_context_engine.ranking.aims import aims_of
from langchain_context_engine.ranking.fit import fits
from langchain_context_engine.ranking.releases import by_release, named_releases
from tests.builders import a_candidate


def a_section(version, text="The quay was mended.", path="CHANGELOG.md"):
    return a_candidate(id=version, text=text, kind="doc", metadata={"path": path, "version": version})


SECTIONS = [a_section("6.2.1"), a_section("v6.2.0"), a_section("6.1.0")]


@pytest.mark.parametrize(
    ("query", "suits"),
    [
        ("what is new in version 6.2.1?", [1, 0.5, 0.5]),
        ("What's in v6.2.0", [0.5, 1, 0.5]),
        ("what did 6.2 bring?", [1, 1, 0.5]),
        ("was it in 6.1.0 or 6.2.0?", [0.5, 1, 1]),
        ("what changed since 6.1.0?", [1, 1, 1]),
        ("how do I upgrade to 6.2.1?", [1, 1, 1]),
        ("what changed between 6.1.0 and 6.2.1?", [1, 1, 1]),
        ("what is new in 9.9?", [1, 1, 1]),  # no section is of it
        ("what is new?", [1, 1, 1]),
    ],
)
def test_sections_on_other_releases_come_after_that_of_the_one_named(query, suits):
    assert by_release(SECTIONS, query) == suits


def test_what_speaks_of_the_release_and_what_is_no_changelog_suits_as_well():
    others = [
        a_section("6.2.2", "Reverts the change of 6.2.1: it was slow."),
        a_section("5.0", path="docs/quay.md"),
        a_candidate(id="c", text="Mend the quay.", kind="commit"),
    ]
    assert by_release([*SECTIONS, *others], "what is new in 6.2.1?")[3:] == [1, 1, 1]


@pytest.mark.parametrize("query", ["is 192.168.0.1 reachable?", "room 12", "half past 3.", "python3.12a"])
def test_other_numbers_name_no_release(query):
    assert not any(by_release([*SECTIONS], query)[i] < 1 for i in range(3))
    assert "12" not in named_releases(query)


@pytest.mark.parametrize(
    ("query", "asks"),
    [
        ("which commit made it so?", True),
        ("what did the commit message say?", True),
        ("which pull request stopped guessing?", True),
        ("how do I commit my changes?", False),
        ("why was it removed?", False),
    ],
)
def test_who_asks_for_a_commit_gets_commits_before_what_the_changelog_says(query, asks):
    assert aims_of(query).commits is asks
    told = [a_candidate(id="c", text="Mend the quay.", kind="commit"), a_section("6.2.1")]
    commit, changelog = fits(told, query, 1.0)
    if asks:
        assert (commit, changelog) == (1.0, 0.8)
    assert fits(told, query, 1.0, edition=6)[1] > 0.8


@pytest.mark.parametrize(
    ("query", "asks"),
    [
        ("why was the change reverted, and what does the call look like now?", True),
        ("why was it reverted? The call currently looks like what?", True),
        ("why was the change reverted?", False),
    ],
)
def test_who_asks_of_the_past_and_what_there_is_now_gets_both(query, asks):
    told = [
        a_candidate(id="c", text="Revert the quay.", kind="commit"),
        a_candidate(
            id="d", text="def quay(): return 1", kind="code", metadata={"symbol": "quay", "path": "a.py"}
        ),
    ]
    commit, definition = fits(told, query, 1.0)
    assert commit == 1.0
    assert (definition == 1.0) is asks
    assert fits(told, query, 1.0, edition=6)[1] < 1
