"""Rows that the pages draw, from traces and contexts. Pure: no Streamlit, no store, no clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.palette import BUDGET_LINE, FATES, fate_of, stacked_bar
from langchain_context_engine.answering.context import Context
from langchain_context_engine.answering.explain import Row, final_decisions
from langchain_context_engine.journal.values import TraceRow
from langchain_context_engine.values.types import Decision, Key, Reason, Verdict

__all__ = [
    "ROOM",
    "Figure",
    "Step",
    "figures",
    "filter_rows",
    "funnel",
    "label_of",
    "near_misses",
    "one_line",
    "option_of",
    "options",
    "ranked_table",
    "searched",
    "signal_table",
    "trace_table",
]

ROOM = frozenset({Reason.OVER_BUDGET, Reason.OVER_SHARE, Reason.OVER_ITEM_CAP})
"""Reasons that are a lack of room."""

SHOWN = ("All", "In the context", "Near misses", "Left out")
"""How the ranked table can be narrowed."""

_SNIPPET = 160


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a context: its label, its value in words, and what it means."""

    label: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Step:
    """How many candidates a stage left, and what fell at it, reason in words → how many."""

    stage: str
    count: int
    fell: Mapping[str, int]

    @property
    def told(self) -> str:
        """What fell, in words; "" where nothing did."""
        return ", ".join(f"{n} {reason.removeprefix('out · ')}" for reason, n in self.fell.items())


def trace_table(traces: Iterable[TraceRow]) -> list[dict[str, Any]]:
    """Return one row for each recorded question, in the order given."""
    return [
        {
            "time": trace.time,
            "question": one_line(trace.query),
            "sources": ", ".join(trace.sources),
            "candidates": trace.candidates,
            "kept": trace.kept,
            "tokens": trace.tokens,
            "budget": trace.budget,
            "used": 100 * trace.tokens / trace.budget if trace.budget else 0.0,
            "duplicates": trace.duplicates,
            "ms": round(trace.milliseconds, 1),
            "warnings": trace.warnings,
            "status": str(trace.status),
        }
        for trace in traces
    ]


def figures(context: Context) -> list[Figure]:
    """Return the strip of figures above an explanation."""
    final = final_decisions(context)
    duplicates = sum(d.is_duplicate for d in final.values())
    cut = sum(passage.is_truncated for passage in context.passages)
    used = context.tokens / context.budget if context.budget else 0.0
    milliseconds = context.timings.get("total", sum(context.timings.values()))
    return [
        Figure("Tokens", f"{context.tokens:,} / {context.budget:,}", f"{used:.0%} of the budget is used."),
        Figure("Passages", f"{len(context.passages)}", f"{cut} of them in part, by sentences or cut."),
        Figure("Candidates", f"{len(final)}", "Everything that the sources offered for the question."),
        Figure(
            "Duplicates",
            f"{duplicates}",
            "They repeat a better ranked one, also where that fell itself.",
        ),
        Figure("Time", f"{milliseconds:,.0f} ms", _timings(context.timings)),
        Figure("Status", str(context.status), "ok; partial: a source failed; empty: nothing was found."),
    ]


def _timings(timings: Mapping[str, float]) -> str:
    return ", ".join(f"{stage} {milliseconds:.1f} ms" for stage, milliseconds in timings.items()) or "untimed"


def funnel(context: Context) -> list[Step]:
    """Return the way from what was collected to what was packed, with what fell on it."""
    final = final_decisions(context)
    added = {d.key for d in context.decisions if d.stage == "expand" and d.reason is Reason.EXPANDED}
    fell: dict[str, list[Decision]] = {"expand": [], "dedupe": [], "pack": []}
    for decision in final.values():
        if decision.verdict is Verdict.DROPPED:
            fell[_stage_of(decision)].append(decision)
    count = len(final)
    steps = [Step("collected", count - len(added), {})]
    for name, stage in (("expanded", "expand"), ("unique", "dedupe"), ("packed", "pack")):
        count -= len(fell[stage])
        steps.append(Step(name, count, _counted(fell[stage])))
    return steps


def _stage_of(decision: Decision) -> str:
    if decision.is_duplicate or decision.stage in {"rank", "dedupe"}:
        return "dedupe"
    return "pack" if decision.stage == "pack" else "expand"


def _counted(decisions: Sequence[Decision]) -> dict[str, int]:
    return dict(
        Counter(
            FATES[Reason.DUPLICATE] if d.is_duplicate else fate_of(d.verdict, d.reason) for d in decisions
        ).most_common()
    )


def option_of(key: Key) -> str:
    """Return what stands for a candidate in an address and a list: source/id."""
    return f"{key[0]}/{key[1]}"


def options(rows: Sequence[Row]) -> dict[str, Row]:
    """Return the rows by what stands for them; where two are alike, the later one is numbered."""
    found: dict[str, Row] = {}
    for row in rows:
        name, number = option_of(row.key), 2
        while name in found:
            name, number = f"{option_of(row.key)} ({number})", number + 1
        found[name] = row
    return found


def label_of(row: Row) -> str:
    """Return a candidate in one line: place, source, what it begins with."""
    place = f"{row.place}." if row.place else "–"
    return f"{place} {row.key[0]} · {one_line(row.title or row.text, 60)}"


def one_line(text: str, length: int = _SNIPPET) -> str:
    """Return a text's beginning on one line."""
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def near_misses(rows: Sequence[Row], count: int = 5) -> list[Row]:
    """Return the candidates that only lacked room, best ranked first."""
    return [row for row in rows if row.reason in ROOM][:count]


def filter_rows(rows: Sequence[Row], shown: str = "All", search: str = "") -> list[Row]:
    """Return the rows of one kind of `SHOWN` that contain every word searched, whatever its case."""
    words = search.casefold().split()
    return [row for row in rows if _is_shown(row, shown) and _contains(row, words)]


def searched(found: Mapping[str, Row], search: str) -> str | None:
    """Return what a person means who asks why something is not here: the best ranked that was left out.

    Where all that is like it stands in the context, the best ranked of that; None where nothing is like it
    or nothing is searched.

    Args:
        found: From `options`, best ranked first.
        search: Words of the text, the id or the source.
    """
    words = search.casefold().split()
    like = [name for name, row in found.items() if words and _contains(row, words)]
    return next((name for name in like if found[name].verdict is Verdict.DROPPED), like[0] if like else None)


def _is_shown(row: Row, shown: str) -> bool:
    if shown == "In the context":
        return row.verdict is Verdict.KEPT
    if shown == "Near misses":
        return row.reason in ROOM
    return shown != "Left out" or row.verdict is Verdict.DROPPED


def _contains(row: Row, words: Sequence[str]) -> bool:
    text = f"{row.key[0]} {row.key[1]} {row.title} {row.text}".casefold()
    return all(word in text for word in words)


def ranked_table(context: Context, rows: Sequence[Row], colours: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return one row for each candidate, and one for the line where the budget cut.

    Args:
        context: What was built.
        rows: From `explain.rows`, best first, perhaps filtered.
        colours: Signal → colour.
    """
    full = max((row.score or 0.0 for row in rows), default=0.0) or 1.0
    scores = {row.place: row.score for row in rows if row.place is not None}
    line = _budget_line(rows)
    table: list[dict[str, Any]] = []
    for index, row in enumerate(rows):
        above = scores.get(row.place - 1) if row.place else None
        table.append(
            {
                "option": option_of(row.key),
                "#": row.place,
                "fate": [fate_of(row.verdict, row.reason)],
                "score": row.score,
                "made of": stacked_bar(row.contributions, colours, full=full) if row.contributions else None,
                "Δ above": row.score - above if row.score is not None and above is not None else None,
                "tokens": row.tokens or row.details.get("needed") or None,
                "cite": row.citation,
                "source": row.key[0],
                "candidate": one_line(f"{row.title} — {row.text}" if row.title else row.text),
            }
        )
        if index == line:
            table.append(_line_row(context))
    return table


def _budget_line(rows: Sequence[Row]) -> int | None:
    """Return the last row that got in, where something below it lacked room."""
    kept = max((i for i, row in enumerate(rows) if row.verdict is Verdict.KEPT), default=-1)
    has_misses = any(row.reason in ROOM for row in rows[kept + 1 :])
    return kept if kept >= 0 and has_misses else None


def _line_row(context: Context) -> dict[str, Any]:
    told = f"Nothing below fitted: {context.tokens:,} of {context.budget:,} tokens are used"
    blank = dict.fromkeys(("#", "score", "made of", "Δ above", "tokens"))
    return {"option": "", **blank, "fate": [BUDGET_LINE], "cite": "", "source": "", "candidate": told}


def signal_table(row: Row) -> list[dict[str, Any]]:
    """Return what a candidate's score is made of, the largest part first; uncounted signals after."""
    weighed = [
        {
            "signal": name,
            "value": row.signals.get(name),
            "weight": value / row.signals[name] if row.signals.get(name) else None,
            "adds": value,
        }
        for name, value in sorted(row.contributions.items(), key=lambda item: -item[1])
    ]
    others = [
        {"signal": name, "value": value, "weight": None, "adds": None}
        for name, value in row.signals.items()
        if name not in row.contributions
    ]
    return [*weighed, *others]
