"""The demo: its data build offline and are the same everywhere, and the command shows what it claims."""

from __future__ import annotations

import contextlib
import io
import shlex
import subprocess

import pytest

from langchain_context_engine import Journal
from langchain_context_engine.cli import demo as demo_command
from langchain_context_engine.cli import main
from langchain_context_engine.demo import (
    COMPANY,
    DEMO_QUESTIONS,
    NEXT_QUESTIONS,
    create_demo_repository,
    load_demo,
)
from langchain_context_engine.models.types import Reason


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Return the folder of a demo that was run outside of a checkout, and what it printed."""
    folder = tmp_path_factory.mktemp("printed")
    with pytest.MonkeyPatch.context() as patched, contextlib.redirect_stdout(io.StringIO()) as out:
        patched.chdir(folder)
        assert main(["demo", "--no-inspect"]) == 0
    return folder / ".context-engine" / "demo", out.getvalue()


def test_the_demo_has_six_collections_and_building_it_again_writes_nothing(printed):
    again = load_demo(printed[0])
    counts = {name: collection.count() for name, collection in again.collections.items()}
    assert (counts["memories"], counts["commits"]) == (40, 8)
    assert min(counts.values()) >= 8
    assert (again.written, again.unchanged) == (0, sum(counts.values()))


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


@pytest.fixture(scope="module")
def answers(printed):
    """Return the recorded answers in the order of the questions."""
    with Journal(printed[0] / "journal.db", read_only=True) as journal:
        found = {row.query: journal.trace(row.id) for row in journal.traces()}
    return [found.pop(question.question) for question in DEMO_QUESTIONS]


def test_the_first_answer_drops_a_duplicate_of_what_it_keeps(answers):
    dropped = {d.key: d.details["winner"] for d in answers[0].decisions if d.reason == Reason.DUPLICATE}
    rule = {("memories", "m-invoice-day"), ("memories", "m-invoice-day-again")} & set(dropped)
    assert rule
    assert {dropped[key] for key in rule} <= {passage.key for passage in answers[0].passages}


def test_the_second_answer_says_what_failed_and_by_how_many_tokens_the_next_best_missed(answers):
    assert "net_amount" in answers[1].text
    assert any("left" in d.details for d in answers[1].decisions if d.reason == Reason.OVER_BUDGET)


def test_the_third_answer_leads_with_the_newer_decision(answers):
    keys = [passage.key for passage in answers[2].passages]
    assert keys[0] == ("memories", "m-provider-stripe")
    assert ("memories", "m-provider-paddle") in keys[2:]


def test_no_answer_shows_another_workspace(answers):
    assert all("lantern" not in answer.to_json().lower() for answer in answers)


def test_each_proposed_question_is_answered_by_its_first_passages(printed, run):
    folder, out = printed
    proposed = [shlex.split(line)[1:] for line in out.splitlines() if "context-engine ask" in line]
    assert [each[1] for each in proposed] == list(NEXT_QUESTIONS)
    for (*asked, _), answer in zip(
        proposed, ("a rollback left a gap", "[1] we decided to move", "issue a credit note"), strict=True
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


def test_a_demo_that_cannot_run_says_what_to_install_and_leaves_nothing(tmp_path, monkeypatch, fails):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("langchain_context_engine.embeddings.static.find_spec", lambda name: None)
    told = fails(2, "demo", "--no-inspect")
    assert "wordllama" in told
    assert "install" in told
    assert list(tmp_path.iterdir()) == []
