from __future__ import annotations

from importlib.metadata import entry_points

import pytest

from langchain_context_engine.evaluation.evaluate import Question
from langchain_context_engine.evaluation.pytest_plugin import ContextGolden
from langchain_context_engine.models.types import Candidate, Decision, Passage, Ranked, Reason, Verdict
from langchain_context_engine.trace.context import Context

pytest_plugins = ["pytester"]

KEPT = Candidate(id="a", source="notes", text="Invoices go out monthly.")
DROPPED = Candidate(id="b", source="notes", text="Refunds take five working days.")
CONTEXT = Context(
    text="[1] Invoices go out monthly.",
    tokens=6,
    budget=8,
    candidates=(KEPT, DROPPED),
    passages=(Passage(ranked=Ranked(candidate=KEPT), text=KEPT.text, also_in=(("chat", "c9"),)),),
    decisions=(
        Decision(stage="pack", key=KEPT.key, verdict=Verdict.KEPT, reason=Reason.WHOLE),
        Decision(
            stage="pack",
            key=DROPPED.key,
            verdict=Verdict.DROPPED,
            reason=Reason.OVER_BUDGET,
            details={"needed": 9, "left": 2, "missing": 7},
        ),
    ),
)
GOLDEN = ContextGolden()


@pytest.mark.parametrize("passage", ["invoices go out  MONTHLY", ("notes", "a"), ("chat", "c9")])
def test_a_passage_that_is_in_passes(passage):
    GOLDEN.assert_contains(CONTEXT, passage)
    with pytest.raises(pytest.fail.Exception, match="may not be"):
        GOLDEN.assert_excludes(CONTEXT, passage)


@pytest.mark.parametrize("passage", ["Refunds take five", ("notes", "b")])
def test_a_passage_that_is_missing_fails_and_tells_its_fate(passage):
    GOLDEN.assert_excludes(CONTEXT, passage)
    with pytest.raises(pytest.fail.Exception, match=r"not in the context[\s\S]*no room in the budget"):
        GOLDEN.assert_contains(CONTEXT, passage)


def test_recall_below_its_floor_fails_and_names_the_worst_questions():
    questions = [
        Question(id="q1", query="when do invoices go out?", spans=("Invoices go out monthly.",)),
        Question(id="q2", query="how long do refunds take?", spans=(DROPPED.text,)),
    ]

    def answer(query, budget):
        return CONTEXT

    assert GOLDEN.assert_recall(answer, questions, at_least=0.5).recall(1000) == 0.5
    with pytest.raises(
        pytest.fail.Exception, match=r"is 0\.500, below 0\.6[\s\S]*0\.00  q2: how long"
    ) as failed:
        GOLDEN.assert_recall(answer, questions, at_least=0.6)
    assert str(failed.value).index("q2") < str(failed.value).index("q1")


USERS_TESTS = """
    from langchain_context_engine.trace.context import Context

    CONTEXT = Context(text="Invoices go out monthly.", tokens=5, budget=9)

    def test_in(context_golden):
        context_golden.assert_contains(CONTEXT, "invoices go out")

    def test_missing(context_golden):
        context_golden.assert_contains(CONTEXT, "refunds")

    def test_recall(context_golden, tmp_path):
        file = tmp_path / "questions.jsonl"
        file.write_text('{"query": "when?", "gold_spans": ["Invoices go out monthly."]}')
        context_golden.assert_recall(lambda query, budget: CONTEXT, file, at_least=1.0)
"""


def test_the_fixture_is_there_for_users_tests(pytester):
    pytester.makepyfile(USERS_TESTS)
    is_installed = any(e.name == "context_engine" for e in entry_points(group="pytest11"))
    plugin = [] if is_installed else ["-p", "langchain_context_engine.evaluation.pytest_plugin"]
    result = pytester.runpytest_inprocess("-q", *plugin)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(['*"refunds" is not in the context.*'])
