"""The demo: its data build offline and are the same everywhere, and the command shows what it claims."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from rapidfuzz import fuzz

from langchain_context_engine import ChromaSource, ContextEngine, Journal
from langchain_context_engine.cli import demo as demo_command
from langchain_context_engine.demo import (
    COMPANY,
    DEMO_QUESTIONS,
    NEXT_QUESTIONS,
    WORKSPACE_ID,
    create_demo_repository,
    load_demo,
)
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.types import Reason
from tests.cli.conftest import process


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
    assert demo.written == sum(counts.values())


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
    assert (again.written, again.unchanged) == (0, demo.written)


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
    assert (demo.repository, demo.workspace_id) == (own.resolve(), "own")
    assert "extra.md" in {m["path"] for _, m in records(demo.docs).values()}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Return the folder of a demo that was run outside of a checkout, and what it printed."""
    folder = tmp_path_factory.mktemp("printed")
    done = process("demo", "--no-inspect", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / ".context-engine" / "demo", done.stdout


def test_the_command_introduces_its_company_asks_three_questions_and_says_why(printed):
    _, out = printed
    assert out.startswith("harbor: ")
    assert COMPANY in out
    for question in DEMO_QUESTIONS:
        assert question.question in out
        assert question.shows in out
    assert "from [1] " in out
    assert "says what another passage says: [" in out
    assert "Lantern" not in out.replace("Lantern's own rule is out of scope", "").replace(COMPANY, "")


def test_the_answers_are_recorded_and_each_proposed_question_is_answered_by_its_first_passages(printed, run):
    folder, out = printed
    with Journal(folder / "journal.db", read_only=True) as journal:
        assert {row.query for row in journal.traces()} == {q.question for q in DEMO_QUESTIONS}
    proposed = [shlex.split(line)[1:] for line in out.splitlines() if "context-engine ask" in line]
    assert [each[1] for each in proposed] == list(NEXT_QUESTIONS)
    for (*asked, _), answer in zip(
        proposed, ("a rollback left a gap", "asked for direct debit", "issue a credit note"), strict=True
    ):
        text = run(*asked, folder, "--text", "--no-journal")[1]
        assert answer in text[:700].lower(), (asked, text)


def test_the_command_takes_the_repository_it_runs_in_unless_it_is_a_large_one(tmp_path, monkeypatch, capsys):
    assert demo_command.repository_here(tmp_path) is None
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").write_text("a = 1\n", encoding="utf-8")
    subprocess.run(["git", "-C", str(tmp_path), "add", "a.py"], check=True)
    assert demo_command.repository_here(tmp_path / "inner") == tmp_path
    monkeypatch.setattr(demo_command, "_MAX_FILES", 0)
    assert demo_command.repository_here(tmp_path) is None
    assert "--repository" in capsys.readouterr().err


def test_the_command_asks_the_company_of_itself_and_a_repository_of_itself(tmp_path, run):
    root = tmp_path / "boats"
    root.mkdir()
    (root / "app.py").write_text("def invoice_day():\n    return 'foreign code'\n", encoding="utf-8")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Move the invoice day"]):
        subprocess.run(["git", "-C", str(root), *command], check=True)
    out = run("demo", "--no-inspect", "--repository", root, "--store", tmp_path / "store")[1]
    company, _, repository = out.partition("── And of boats")
    assert DEMO_QUESTIONS[2].question in company
    assert "foreign code" not in company
    assert "Move the invoice day" in repository
    assert "--scope workspace_id=boats" in repository


def test_the_command_opens_the_inspector_on_its_journal(printed, monkeypatch, run):
    folder, _ = printed
    opened = []
    monkeypatch.setattr(demo_command, "open_inspector", lambda *given, **how: opened.append((given, how)))
    monkeypatch.chdir(folder.parent.parent)
    code, out, _ = run("demo", "--store", folder, "--port", "8600", "--no-browser")
    assert opened == [((folder / "journal.db",), {"port": 8600, "opens_browser": False})]
    assert (code, out.partition(",")[0]) == (0, "harbor: 0 records written")


def test_a_demo_that_cannot_run_says_what_to_install_and_leaves_nothing(tmp_path, monkeypatch, fails):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("langchain_context_engine.embeddings.static.find_spec", lambda name: None)
    told = fails(2, "demo", "--no-inspect")
    assert "wordllama" in told
    assert "install" in told
    assert list(tmp_path.iterdir()) == []
