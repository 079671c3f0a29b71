"""`evaluate`, `tune` and `inspect`: what is done with recorded answers and known ones."""

from __future__ import annotations

import json
import re
import socket

import pytest

from langchain_context_engine import Journal
from langchain_context_engine.evaluation.tune import tune
from tests.evaluation.builders import judged


def test_evaluate_tells_recall_at_budgets_and_compares_two_settings(notes, tmp_path, run, fails):
    lines = [
        {"query": "when do invoices go out?", "gold": ["a"]},
        {"query": "which secret has Zeta?", "gold_spans": ["Zeta's secret"]},
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    arguments = ["evaluate", tmp_path / "questions.jsonl", "--store", notes, "--budget", "300"]
    code, out, _ = run(*arguments, "--versus", "selection=score")
    assert code == 0
    assert len(re.findall(r"\|\s*300\s*\|\s*2\s*\|", out)) == 2
    assert "at 300 tokens: recall " in out
    assert "over 2 questions" in out
    (tmp_path / "none.jsonl").write_text("\n", encoding="utf-8")
    assert '{"query"' in fails(2, "evaluate", tmp_path / "none.jsonl", "--store", notes)


def test_tune_prints_the_change_and_the_settings_to_copy(tmp_path, run):
    traces, judgments = judged()
    with Journal(tmp_path / "journal.db") as journal:
        for trace in traces:
            journal.record(trace)
        for query, grades in judgments.items():
            for key, grade in grades.items():
                journal.judge(query, key, grade)
    tuning = tune(traces, judgments)
    code, out, _ = run("tune", "--journal", tmp_path / "journal.db")
    assert code == 0
    assert f"recency: 0.00 → {tuning.learned['recency']:.2f}\n" in out
    assert f"engine = engine.with_settings(weights={tuning.learned!r})" in out
    assert json.loads(out.splitlines()[-1]) == {"weights": tuning.learned}


def test_tune_refuses_in_one_line_with_exit_code_1(tmp_path, fails):
    traces, judgments = judged()
    path = tmp_path / "few.db"
    assert "no journal" in fails(1, "tune", "--journal", path)
    with Journal(path) as journal:
        journal.record(traces[0])
        query = traces[0].request.query
        journal.judge(query, *next(iter(judgments[query].items())))
    assert fails(1, "tune", "--journal", path).startswith("error: only 1 judged question has")


@pytest.mark.parametrize("command", [["inspect", "--no-browser"], ["serve"]])
def test_a_port_that_is_taken_is_told_before_anything_starts(notes, fails, command):
    """C4."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = fails(1, *command, "--store", notes, "--port", port)
    assert f"127.0.0.1, port {port}" in told
    assert "give it another: --port" in told
