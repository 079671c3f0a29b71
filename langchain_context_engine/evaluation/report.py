"""What an evaluation found: figures by budget and category, as a table and as data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.evaluation.bootstrap import Interval, paired_bootstrap
from langchain_context_engine.models.errors import ConfigError

__all__ = ["Outcome", "Ranking", "Report", "compare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One question at one budget.

    Attributes:
        question: Its id.
        category: Its category.
        budget: Tokens allowed.
        recall: Evidence recall, 0–1; None for a question without an answer.
        precision: Share of the text's words that are evidence; None likewise.
        tokens: Tokens of the text.
        milliseconds: How long the answer took.
        is_violation: The text has more tokens than the budget.
        is_cut: Something was left out for room, so that the budget could be used up.
    """

    question: str
    category: str
    budget: int
    recall: float | None
    precision: float | None
    tokens: int
    milliseconds: float
    is_violation: bool
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """How one question's candidates were ranked, before any was packed.

    Attributes:
        question: Its id.
        category: Its category.
        ndcg: nDCG of the first k.
        recall: The share of the gold records among the first k.
    """

    question: str
    category: str
    ndcg: float
    recall: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcomes of an evaluation, in the order of the questions, and their means.

    Attributes:
        outcomes: One for each question and budget.
        rankings: One for each question whose gold records are known by id.
        k: Places of a ranking that counted.
    """

    outcomes: tuple[Outcome, ...]
    rankings: tuple[Ranking, ...] = ()
    k: int = 10

    @property
    def budgets(self) -> tuple[int, ...]:
        """The budgets, in the order given."""
        return tuple(dict.fromkeys(outcome.budget for outcome in self.outcomes))

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories, sorted; without the empty one."""
        return tuple(sorted({outcome.category for outcome in self.outcomes} - {""}))

    def recall(self, budget: int, category: str | None = None) -> float:
        """Return the mean evidence recall at a budget; NaN where no question counts."""
        return _mean(o.recall for o in self._of(budget, category) if o.recall is not None)

    def scores(self, budget: int) -> dict[str, float]:
        """Return question → evidence recall at a budget, unanswerable ones left out."""
        return {o.question: o.recall for o in self._of(budget) if o.recall is not None}

    def figures(self, budget: int, category: str | None = None) -> dict[str, float]:
        """Return the figures at a budget: what the table shows.

        `utilisation` is the mean share of the budget that was used, over the contexts for which
        something was left out; NaN where there is none. Times are in milliseconds.
        """
        chosen = self._of(budget, category)
        times = sorted(o.milliseconds for o in chosen)
        return {
            "questions": len(chosen),
            "recall": self.recall(budget, category),
            "precision": _mean(o.precision for o in chosen if o.precision is not None),
            "utilisation": _mean(o.tokens / o.budget for o in chosen if o.is_cut and o.budget),
            "tokens": _mean(o.tokens for o in chosen),
            "milliseconds": _quantile(times, 0.5),
            "milliseconds_p95": _quantile(times, 0.95),
            "violations": sum(o.is_violation for o in chosen),
        }

    def ranking(self, category: str | None = None) -> dict[str, float]:
        """Return mean nDCG and recall of the rankings' first k; NaN where there are none."""
        chosen = [r for r in self.rankings if category in (None, r.category)]
        return {"ndcg": _mean(r.ndcg for r in chosen), "recall": _mean(r.recall for r in chosen)}

    def table(self) -> str:
        """Return the figures as two Markdown tables, 80 columns wide: by budget, and recall by category."""
        budgets = [str(budget) for budget in self.budgets]
        rows = [[str(b), *_cells(self.figures(b))] for b in self.budgets]
        text = _markdown(["budget", *(_HEADINGS[name] for name in _HEADINGS)], rows)
        groups: list[tuple[str, str | None]] = [("all", None), *((c, c) for c in self.categories)]
        lines = []
        for title, category in groups:
            recalls = [_decimals(self.recall(b, category), 3) for b in self.budgets]
            ranks = [_decimals(value, 3) for value in self.ranking(category).values()]
            count = sum(o.recall is not None for o in self._of(self.budgets[0], category)) if budgets else 0
            lines.append([title, str(count), *recalls, *ranks])
        second = _markdown(["recall at", "asked", *budgets, f"nDCG@{self.k}", f"recall@{self.k}"], lines)
        return f"{text}\n\n{second}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready data; what is not a number is None."""
        return {
            "k": self.k,
            "budgets": {str(b): _plain(self.figures(b)) for b in self.budgets},
            "categories": {
                c: {str(b): _plain(self.figures(b, c)) for b in self.budgets} for c in self.categories
            },
            "ranking": _plain(self.ranking()),
            "outcomes": [dataclasses.asdict(outcome) for outcome in self.outcomes],
            "rankings": [dataclasses.asdict(ranking) for ranking in self.rankings],
        }

    def _of(self, budget: int, category: str | None = None) -> list[Outcome]:
        return [o for o in self.outcomes if o.budget == budget and category in (None, o.category)]


def compare(first: Report, second: Report, budget: int, *, samples: int = 5000, seed: int = 0) -> Interval:
    """Return by how much the second setting's evidence recall is better at a budget.

    The questions that both reports have are paired.

    Raises:
        ConfigError: They share no answerable question at that budget.
    """
    before, after = first.scores(budget), second.scores(budget)
    shared = [question for question in before if question in after]
    if not shared:
        msg = f"the reports share no answerable question at {budget} tokens"
        raise ConfigError(msg)
    return paired_bootstrap(
        [before[q] for q in shared], [after[q] for q in shared], samples=samples, seed=seed
    )


_HEADINGS = {
    "questions": "asked",
    "recall": "recall",
    "precision": "precision",
    "utilisation": "used",
    "tokens": "tokens",
    "milliseconds": "ms",
    "milliseconds_p95": "ms 95 %",
    "violations": "over",
}
_COUNTS = frozenset({"questions", "tokens", "violations"})
_WHOLE_FROM_MILLISECONDS = 100


def _cells(figures: dict[str, float]) -> list[str]:
    return [_decimals(figures[name], _places(name, figures[name])) for name in _HEADINGS]


def _places(name: str, value: float) -> int:
    if name in _COUNTS:
        return 0
    if name.startswith("milliseconds"):
        return 0 if value >= _WHOLE_FROM_MILLISECONDS else 1
    return 3


def _decimals(value: float, places: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{places}f}"


def _markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(heads), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    pad: list[Callable[[str, int], str]] = [str.ljust, *[str.rjust] * (len(heads) - 1)]
    text = [
        "| " + " | ".join(f(c, w) for f, c, w in zip(pad, line, widths, strict=True)) + " |" for line in lines
    ]
    rule = (
        "|"
        + "|".join(f" {'-' * w} " if i == 0 else f" {'-' * (w - 1)}: " for i, w in enumerate(widths))
        + "|"
    )
    return "\n".join([text[0], rule, *text[1:]])


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return math.fsum(numbers) / len(numbers) if numbers else math.nan


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else math.nan


def _plain(figures: dict[str, float]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in figures.items()}
