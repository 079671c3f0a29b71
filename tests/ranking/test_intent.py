"""The intent of a question: which kind of record suits it."""

from __future__ import annotations

import pytest

from langchain_context_engine.ranking.fusion import Fusion, fuse
from langchain_context_engine.ranking.intent import Role, intents, role_of, signs_of
from tests.builders import a_candidate

CODE = a_candidate(id="code", kind="code", metadata={"path": "src/tea.py", "symbol": "brew"})
PAGE = a_candidate(id="page", kind="doc", metadata={"path": "docs/tea.md"})
COMMIT = a_candidate(id="commit", kind="commit", metadata={"sha": "c0ffee"})
LOG = a_candidate(id="log", kind="doc", metadata={"path": "CHANGELOG.md"})
TEST = a_candidate(id="test", kind="code", metadata={"path": "tests/test_tea.py", "symbol": "test_brew"})
NOTE = a_candidate(id="note", kind="memory")


@pytest.mark.parametrize(
    ("record", "role"),
    [
        (CODE, Role.DEFINITION), (PAGE, Role.DOCUMENT), (COMMIT, Role.CHANGE), (LOG, Role.CHANGELOG),
        (TEST, Role.TEST), (NOTE, Role.OTHER),
    ],
)  # fmt: skip
def test_a_record_has_one_role(record, role):
    assert role_of(record) is role


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("which function decides how long tea is brewed?", CODE),
        ("how do I brew tea?", PAGE),
        ("why was brewing removed?", COMMIT),
        ("which test covers brewing?", TEST),
    ],
)
def test_the_likeliest_role_suits_best_and_none_is_excluded(query, best):
    pool = [CODE, PAGE, COMMIT, LOG, TEST, NOTE]
    suits = dict(zip((c.id for c in pool), intents(pool, query), strict=True))
    assert suits[best.id] == 1.0
    assert min(suits.values()) >= 0.4


def test_a_question_without_a_sign_leans_little():
    assert not signs_of("default options in a config file")
    assert intents([CODE, PAGE, COMMIT], "default options in a config file") == [1.0, 1.0, 0.95]


def test_records_of_no_repository_suit_any_question_alike():
    for query in ("how do I brew tea?", "why was it removed?", "tea"):
        assert intents([NOTE, a_candidate(id="other", kind="chat")], query) == [1.0, 1.0]


def test_intent_moves_what_is_as_relevant_and_a_weight_of_zero_turns_it_off():
    claims = {"dense": 0.5, "lexical": 5.0}
    pool = [
        a_candidate(
            id="a", kind="code", text="brew", claims=claims, metadata={"path": "a.py", "symbol": "f"}
        ),
        a_candidate(id="b", kind="doc", text="brew", claims=claims, metadata={"path": "b.md"}),
        a_candidate(id="c", kind="doc", claims={"dense": 0.1, "lexical": 0.0}, metadata={"path": "c.md"}),
    ]
    code, page, _ = (fused.relevance for fused in fuse(pool, Fusion(name=0), "which function brews?"))
    assert code > page
    code, page, _ = (
        fused.relevance for fused in fuse(pool, Fusion(name=0, intent=0), "which function brews?")
    )
    assert code == page
