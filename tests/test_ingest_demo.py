"""Rules of the demo's data: it builds offline, is the same everywhere, and shows what it claims."""

from __future__ import annotations

import subprocess

import pytest
from rapidfuzz import fuzz

from langchain_context_engine import ChromaSource, ContextEngine
from langchain_context_engine.demo import DEMO_QUESTIONS, WORKSPACE_ID, create_demo_repository, load_demo
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.types import Reason


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return load_demo(tmp_path_factory.mktemp("demo"))


def records(collection):
    found = collection.get()
    return {i: (d, m) for i, d, m in zip(found["ids"], found["documents"], found["metadatas"], strict=True)}


def test_the_demo_has_six_collections_with_records_in_each(demo):
    counts = {
        name: getattr(demo, name).count()
        for name in ("memories", "chat", "experiences", "code", "commits", "docs")
    }
    assert counts["memories"] == 40
    assert counts["commits"] == 8
    assert min(counts.values()) >= 8
    assert demo.report.added == sum(counts.values())


def test_every_record_is_dated_of_a_kind_and_in_a_workspace(demo):
    for name in ("memories", "chat", "experiences", "code", "commits", "docs"):
        for _, metadata in records(getattr(demo, name)).values():
            assert read_instant(metadata["created_at"]) is not None
            assert metadata["kind"]
            assert metadata["workspace_id"] in {"harbor", "lantern"}


def test_memories_have_confidence_and_importance_and_links_that_exist(demo):
    memories = records(demo.memories)
    for _, metadata in memories.values():
        assert 0 <= metadata["confidence"] <= 1
        assert 0 <= metadata["importance"] <= 1
        assert set(metadata.get("links", [])) <= set(memories)
    assert any(metadata.get("links") for _, metadata in memories.values())


def test_two_memories_are_near_duplicates_and_an_older_decision_contradicts_a_newer_one(demo):
    memories = records(demo.memories)
    assert fuzz.ratio(memories["m-invoice-day"][0], memories["m-invoice-day-again"][0]) >= 90
    old, new = memories["m-provider-paddle"][1], memories["m-provider-stripe"][1]
    assert old["created_at"] < new["created_at"]
    assert "m-provider-paddle" in new["links"]


def test_each_question_has_its_answer_in_its_own_workspace(demo):
    memories = records(demo.memories)
    assert len(DEMO_QUESTIONS) == 3
    for question in DEMO_QUESTIONS:
        assert question.scope == {"workspace_id": WORKSPACE_ID}
        assert memories[question.key_id][1]["workspace_id"] == WORKSPACE_ID
        assert question.shows
        found = demo.memories.query(
            query_embeddings=[demo.embeddings.embed_query(question.question)],
            n_results=3,
            where=dict(question.scope),
        )
        assert question.key_id in found["ids"][0]


@pytest.fixture(scope="module")
def answers(demo):
    kinds = {"memories": "memory", "chat": "message", "code": "code", "commits": "commit", "docs": "doc"}
    engine = ContextEngine(
        sources=[
            ChromaSource(
                getattr(demo, name),
                embeddings=demo.embeddings,
                name=name,
                kind=kind,
                sequence=("document", "start"),
            )
            for name, kind in kinds.items()
        ],
        scope_keys=("workspace_id",),
    )
    return [engine.build(q.question, scope=q.scope, budget=q.budget) for q in DEMO_QUESTIONS]


def test_the_first_question_shows_duplicates_dropped(answers):
    dropped = {d.key: d.details["winner"] for d in answers[0].decisions if d.reason == Reason.DUPLICATE}
    kept = {passage.key for passage in answers[0].passages}
    rule = {("memories", "m-invoice-day"), ("memories", "m-invoice-day-again")}
    assert len(rule & set(dropped)) >= 1
    assert {dropped[key] for key in rule & set(dropped)} <= kept
    assert answers[0].text.count("first working day of the month") >= 1


def test_the_second_question_is_answered_by_the_commit_that_mended_it(answers):
    commit = next(p for p in answers[1].passages if p.key[0] == "commits")
    assert "net_amount" in commit.text
    assert "A missing column is an error now" in commit.text
    assert any("left" in d.details for d in answers[1].decisions if d.reason == Reason.OVER_BUDGET)


def test_the_third_question_shows_the_newest_decision_first(answers):
    dated = {p.key: p.ranked.candidate.created_at for p in answers[2].passages}
    keys = [passage.key for passage in answers[2].passages]
    assert "payment provider" in answers[2].passages[0].text
    assert dated[keys[0]] > dated[keys[1]]
    newer, older = ("memories", "m-provider-stripe"), ("memories", "m-provider-paddle")
    assert newer in keys
    assert older not in keys or keys.index(newer) < keys.index(older)


def test_no_answer_shows_another_workspace(answers):
    for answer in answers:
        assert "lantern" not in answer.to_json().lower()


def test_building_the_demo_again_writes_nothing(demo):
    again = load_demo(demo.repository.parent)
    assert again.report.written == 0


def test_the_bundled_repository_is_the_same_everywhere_and_every_time(tmp_path):
    def git(*arguments):
        return subprocess.run(
            ["git", "-C", str(tmp_path), *arguments], check=True, capture_output=True, text=True
        ).stdout.strip()

    for _ in range(2):
        assert create_demo_repository(tmp_path) == tmp_path
        assert git("rev-parse", "HEAD") == "285e831f2406953ac2cf" + git("rev-parse", "HEAD")[20:]
        assert git("rev-list", "--count", "HEAD") == "8"
        assert git("status", "--porcelain") == ""


def test_a_repository_of_ones_own_takes_the_place_of_the_bundled_one(tmp_path):
    load_demo(tmp_path / "demo")
    own = create_demo_repository(tmp_path / "own")
    (own / "extra.md").write_text("# Extra\n\nMine.")
    demo = load_demo(tmp_path / "demo", repository=own)
    assert demo.repository == own.resolve()
    assert "extra.md" in {m["path"] for _, m in records(demo.docs).values()}
