"""Charts from rows. Pure: the pages draw what is returned here; no text of a record goes into a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from inspector.budgets import FRAME, LEFT, OVER, RESERVED, Part
from inspector.palette import AMBER, GREY, LEFT_OVER, RED, colours_of
from inspector.tables import Step

__all__ = ["budget_chart", "funnel_chart", "legend_chart", "score_chart"]

Drawing = alt.Chart | alt.LayerChart | alt.FacetChart
"""What Streamlit can draw."""

_FRAME_COLOURS = {FRAME: GREY, RESERVED: AMBER, LEFT: LEFT_OVER, OVER: RED}


def budget_chart(parts: Sequence[Part], budget: int) -> Drawing:
    """Return the budget as one bar: what each group used, the frame, the reserve and what is left over."""
    groups = [part.name for part in parts if part.name not in _FRAME_COLOURS]
    colours = {
        **colours_of(groups),
        **{p.name: _FRAME_COLOURS[p.name] for p in parts if p.name in _FRAME_COLOURS},
    }
    values = [
        {"part": part.name, "tokens": part.tokens, "order": i, "row": f"{budget:,} tokens"}
        for i, part in enumerate(parts)
    ]
    whole = alt.Scale(domain=[0, max(budget, sum(part.tokens for part in parts), 1)], nice=False)
    chart: alt.Chart = (
        alt.Chart(pd.DataFrame(values))
        .mark_bar(height=34, cornerRadius=2)
        .encode(
            x=alt.X("tokens:Q", stack=True, title=None, scale=whole, axis=alt.Axis(format=",d", tickCount=6)),
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=list(colours), range=list(colours.values())),
                legend=alt.Legend(orient="top", title=None, labelLimit=220, columns=6),
            ),
            order=alt.Order("order:Q"),
            tooltip=[alt.Tooltip("part:N"), alt.Tooltip("tokens:Q", format=",d")],
        )
        .properties(height=128)
    )
    return chart


def funnel_chart(steps: Sequence[Step], accent: str) -> Drawing:
    """Return the funnel: one bar a stage, its count, and what fell there in words."""
    values = [
        {"stage": s.stage, "count": s.count, "label": f"{s.count}", "fell": f"− {s.told}" if s.fell else ""}
        for s in steps
    ]
    top = max((step.count for step in steps), default=1) or 1
    base = alt.Chart(pd.DataFrame(values)).encode(
        y=alt.Y(
            "stage:N", sort=[s.stage for s in steps], title=None, axis=alt.Axis(ticks=False, domain=False)
        ),
        x=alt.X("count:Q", title=None, axis=None, scale=alt.Scale(domain=[0, top * 1.9])),
    )
    bars = base.mark_bar(height=20, cornerRadius=2, color=accent).encode(
        tooltip=[alt.Tooltip("stage:N"), alt.Tooltip("count:Q"), alt.Tooltip("fell:N", title="fell here")]
    )
    # Grey reads on both grounds; the theme does not colour text marks.
    counts = base.mark_text(align="left", dx=6, fontWeight="bold", color=GREY).encode(text="label:N")
    fallen = base.mark_text(align="left", dx=34, color=GREY).encode(text="fell:N")
    return alt.layer(bars, counts, fallen).properties(height=30 * max(1, len(steps)) + 8)


def legend_chart(colours: Mapping[str, str]) -> Drawing:
    """Return which colour is which signal: squares beside words, in one line."""
    values, x = [], 0.0
    for name in colours:
        values.append({"signal": name, "x": x})
        x += len(name) + 5
    base = alt.Chart(pd.DataFrame(values)).encode(
        x=alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, max(x, 120)]))
    )
    squares = base.mark_square(size=110, opacity=1).encode(
        color=alt.Color(
            "signal:N", legend=None, scale=alt.Scale(domain=list(colours), range=list(colours.values()))
        )
    )
    words = base.mark_text(align="left", dx=10, color=GREY, fontSize=12).encode(text="signal:N")
    return alt.layer(squares, words).properties(height=24)


def score_chart(adds: Mapping[str, float], colours: Mapping[str, str]) -> Drawing:
    """Return what a score is made of, one bar a signal."""
    values = [{"signal": name, "adds": value} for name, value in adds.items()]
    chart: alt.Chart = (
        alt.Chart(pd.DataFrame(values))
        .mark_bar(height=14, cornerRadius=2)
        .encode(
            y=alt.Y("signal:N", sort="-x", title=None),
            x=alt.X("adds:Q", title=None, axis=alt.Axis(format=".2f", tickCount=4)),
            color=alt.Color(
                "signal:N",
                legend=None,
                scale=alt.Scale(domain=list(colours), range=list(colours.values())),
            ),
            tooltip=[alt.Tooltip("signal:N"), alt.Tooltip("adds:Q", format=".3f")],
        )
        .properties(height=26 * max(1, len(values)) + 34)
    )
    return chart
