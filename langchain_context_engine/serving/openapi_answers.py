"""What the server's routes answer, as JSON schemas; the tests hold real answers against them."""

from __future__ import annotations

from typing import Any

from langchain_context_engine.models.verdicts import Status

__all__ = ["ANSWERS", "ERROR"]

_TEXT, _WHOLE, _SHARE = (
    {"type": "string"},
    {"type": "integer"},
    {"type": "number", "minimum": 0, "maximum": 1},
)
_STATUS = {"enum": [str(status) for status in Status]}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _answer(optional: tuple[str, ...] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {
        "type": "object", "required": required, "properties": properties, "additionalProperties": False,
    }  # fmt: skip


_ITEM = _answer(
    ("excerpt",),
    id=_TEXT, type=_TEXT, content=_TEXT, excerpt=_TEXT, source=_TEXT, relevance=_SHARE, tokens=_WHOLE,
    metadata=_answer(
        ("path", "createdAt", "matchedKeywords", "searchRank"),
        path=_TEXT, createdAt=_TEXT, matchedKeywords=_list(_TEXT), searchRank={"type": "number"},
    ),
)  # fmt: skip
_CITATION = _answer(
    ("path", "place"),
    id=_TEXT, source=_TEXT, type=_TEXT, path=_TEXT, place=_TEXT, excerpt=_TEXT, relevance=_SHARE,
    usedInResponse={"type": "boolean"},
)  # fmt: skip
_BUILT = _answer(
    data=_answer(
        text={**_TEXT, "description": "What to give to the model."}, totalTokens=_WHOLE, status=_STATUS,
        items=_list(_ITEM), citations=_list(_CITATION),
        stats=_answer(
            explicitCount=_WHOLE, searchCount=_WHOLE, historyCount=_WHOLE, excludedCount=_WHOLE
        ),
    ),
    meta=_answer(
        ("traceId",), tokenUsage=_WHOLE, sourceCount=_WHOLE, citationCount=_WHOLE, traceId=_TEXT
    ),
)  # fmt: skip
_TOLD = _answer(
    data=_answer(
        traceId=_TEXT, question=_TEXT, status=_STATUS, tokens=_WHOLE, budget=_WHOLE, explanation=_TEXT,
        warnings=_list(_TEXT),
    )
)  # fmt: skip

ANSWERS = {
    "/build": _BUILT,
    "/feedback": _answer(success={"const": True}),
    "/traces/{traceId}": _TOLD,
    "/health": _answer(status={"const": "ok"}),
}
"""Path → what 200 answers."""

ERROR = _answer(error=_answer(code=_TEXT, message=_TEXT))
"""What every other code answers."""
