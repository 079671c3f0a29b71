"""The values of a passage's variables, as a template shows them."""

from __future__ import annotations

import math
from datetime import date

from langchain_context_engine.models.types import Candidate

__all__ = ["passage_values", "title_of"]

_TOLD = (str, int, float, date, type(None))


def passage_values(
    candidate: Candidate, *, content: str | None = None, score: float | None = None, citation: str = ""
) -> dict[str, str]:
    """Return the value of every variable of a passage; "" for what is missing.

    All but the content are on one line. Confidence (0–1, from the metadata) has two decimals, score three.

    Args:
        candidate: What the passage shows.
        content: Its text, where it is not the whole text of the candidate.
        score: What it was sorted by.
        citation: Its marker.

    Example:
        >>> candidate = Candidate(id="m1", text="Use JWT.", metadata={"confidence": 0})
        >>> values = passage_values(candidate, score=0.5)
        >>> values["confidence"], values["score"], values["timestamp"]
        ('0.00', '0.500', '')
    """
    metadata = candidate.metadata
    created = candidate.created_at
    return {
        "content": candidate.text if content is None else content,
        "type": _line(candidate.kind),
        "source": _line(candidate.origin),
        "id": _line(candidate.id),
        "title": title_of(candidate),
        "citation": citation,
        "place": candidate.place,
        "confidence": _number(metadata.get("confidence"), decimals=2),
        "timestamp": "" if created is None else created.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "score": _number(score, decimals=3),
    }


def title_of(candidate: Candidate) -> str:
    """Return what a person calls a candidate: its title, else path and symbol, else path, else ""."""
    metadata = candidate.metadata
    if title := _line(metadata.get("title")):
        return title
    return "::".join(filter(None, (_line(metadata.get("path")), _line(metadata.get("symbol")))))


def _line(value: object) -> str:
    """Return a value on one line, so that it cannot leave the place it is shown in."""
    if value is None:
        return ""
    if not isinstance(value, _TOLD) and not (
        isinstance(value, (list, tuple)) and all(isinstance(v, _TOLD) for v in value)
    ):
        # As a trace keeps it: what an object says of itself may differ from run to run.
        return f"<{type(value).__module__}.{type(value).__qualname__}>"
    text = str(value)
    return text if text.isprintable() else " ".join(text.split())


def _number(value: object, *, decimals: int) -> str:
    """Return a share of 1 as text, clamped to 0–1; "" for what is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return ""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return ""
    return f"{min(max(number, 0.0), 1.0):.{decimals}f}" if math.isfinite(number) else ""
