"""A pytest plugin: pin what your contexts must contain, so that a change that loses it fails.

The fixture `context_golden` is there once the package is installed::

    def test_the_invoice_rule_is_in(engine, context_golden):
        context = engine.build("when do invoices go out?")
        context_golden.assert_contains(context, "Invoices go out on the first of the month.")

    def test_recall_does_not_fall(engine, context_golden):
        context_golden.assert_recall(engine, "questions.jsonl", budget=1000, at_least=0.8)
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

# The package loads when the fixture is used, since the plugin is part of every pytest run.
if TYPE_CHECKING:
    from langchain_context_engine.evaluation.evaluate import Question, Report
    from langchain_context_engine.models.types import Key
    from langchain_context_engine.trace.context import Context

__all__ = ["ContextGolden", "context_golden"]

_WORST = 5


class ContextGolden:
    """Assertions about contexts, which tell why where they fail."""

    def assert_contains(self, context: Context, passage: str | Key) -> None:
        """Fail unless a passage is in the context.

        Args:
            context: What `build` returned.
            passage: Text whose words must stand in the context in a row, whatever the case and
                punctuation; or the key (source, id) of a passage or of a duplicate it stands for.
        """
        __tracebackhide__ = True
        if not _is_in(context, passage):
            pytest.fail(
                f"{_quoted(passage)} is not in the context.\n{_fate(context, passage)}", pytrace=False
            )

    def assert_excludes(self, context: Context, passage: str | Key) -> None:
        """Fail if a passage is in the context; see `assert_contains`."""
        __tracebackhide__ = True
        if _is_in(context, passage):
            pytest.fail(f"{_quoted(passage)} is in the context, but may not be.", pytrace=False)

    def assert_recall(
        self,
        engine: object,
        questions: str | os.PathLike[str] | Iterable[Question],
        *,
        at_least: float,
        budget: int = 1000,
    ) -> Report:
        """Fail if evidence recall at a budget is below a figure; return the report.

        Args:
            engine: An engine, or a function; see `evaluate`.
            questions: A JSON Lines file, or the questions.
            at_least: Mean evidence recall, 0–1.
            budget: In tokens.
        """
        from langchain_context_engine.evaluation.evaluate import evaluate, load_questions

        __tracebackhide__ = True
        asked = load_questions(questions) if isinstance(questions, (str, os.PathLike)) else list(questions)
        report = evaluate(engine, asked, budgets=[budget])
        recall = report.recall(budget)
        if not recall >= at_least:
            worst = sorted(report.scores(budget).items(), key=lambda item: (item[1], item[0]))[:_WORST]
            queries = {question.id: question.query for question in asked}
            lines = "\n".join(f"  {score:.2f}  {name}: {queries[name]}" for name, score in worst)
            pytest.fail(
                f"evidence recall at {budget} tokens is {recall:.3f}, below {at_least}. Worst:\n{lines}",
                pytrace=False,
            )
        return report


@pytest.fixture(scope="session")
def context_golden() -> ContextGolden:
    """Assertions about contexts: `assert_contains`, `assert_excludes`, `assert_recall`."""
    return ContextGolden()


def _is_in(context: Context, passage: str | Key) -> bool:
    from langchain_context_engine.evaluation.metrics import contains_words

    if isinstance(passage, tuple):
        return any(passage in (p.key, *p.also_in) for p in context.passages)
    return contains_words(context.text, passage)


def _fate(context: Context, passage: str | Key) -> str:
    from langchain_context_engine.evaluation.metrics import contains_words

    keys = [
        c.key
        for c in context.candidates
        if (c.key == passage if isinstance(passage, tuple) else contains_words(c.text, passage))
    ]
    if not keys:
        return f"None of the {len(context.candidates)} candidates that were found has it."
    return "\n".join(context.explain(key) for key in keys[:_WORST])


def _quoted(passage: str | Key) -> str:
    return repr(passage) if isinstance(passage, tuple) else f'"{passage}"'
