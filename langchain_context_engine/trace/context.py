"""One answer: a text that fits its budget, and the record of how it came to be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_context_engine.errors import ConfigError, ContextEngineError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate, Decision, Key, Passage, Section, Status, Verdict
from langchain_context_engine.rendering.containment import longer_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a prompt that a plan made: a message, a turn of the history, a pack.

    Attributes:
        name: What it is called, unique in the prompt.
        kind: `system`, `example` (a message of the plan's own), `history`, `user`, `pack`, or `plan`.
        role: Who says it: `system`, `user` or `assistant`; of a turn the one who begins it.
        text: As it reaches the model.
        tokens: What it took.
        promised: The tokens that it might have at first; None: nothing bounds it.
        lost: The tokens that were left out or cut for room.
        reason: Why it is as it is, in words; "" where it is whole.
        within: The part in whose text it stands; "" by itself.
        rule: What it may have beside others: weight, priority, budget.
        context: Of a pack, how it was filled; of a plan within the plan, that one's own trace.
    """

    name: str
    kind: str
    role: str = "system"
    text: str = ""
    tokens: int = 0
    promised: int | None = None
    lost: int = 0
    reason: str = ""
    within: str = ""
    rule: Mapping[str, Any] = field(default_factory=dict)
    context: Context | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One answer: the text, and a record of why it is so.

    Attributes:
        text: What to give to the model; `str(context)`.
        tokens: `count(text)`, never above `budget` unless a soft budget was asked for by name.
        budget: Tokens allowed.
        passages: In text order.
        citations: Marker → key.
        sections: Parts with a title, in text order.
        decisions: Every step of every candidate; one of them final for each.
        warnings: What a person should know; without secrets.
        timings: Stage → milliseconds.
        source_timings: Source → the milliseconds until its answer was there, within those of `collect`: the
            deadline's where it was late. Empty where a cache answered.
        searched: Source → how its collection was searched.
        status: ok, partial (a source failed), doubtful (what was found may not hold the question; a
            warning names the missing words) or empty (nothing found and nothing failed).
        confidence: How sure it is that what was found holds the question, 0–1; below `unsure_below` a
            warning says what is missing. None where nothing could be said, or nobody asked.
        doubt: What the confidence is made of, by name, and the question's `missing_words`.
        is_truncated: The budget made a difference: something was cut or left out for room.
        request: What was asked, with every default filled in.
        candidates: What rank was given: with `request` and `settings` enough to replay.
        settings: The settings, by name, as data.
        parts: Of a prompt that a plan made, its parts in order: what each was promised, took and lost.
            Its `text` is theirs, its `tokens` all that the model is given, tools included. () elsewhere.
        made_by: The version of this package whose rules made it; "" where no engine did.
        trace_id: What the engine's journal keeps it under; "" without one. No part of the trace itself.
    """

    text: str = ""
    tokens: int = 0
    budget: int = 0
    passages: tuple[Passage, ...] = ()
    citations: Mapping[str, Key] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[str, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    source_timings: Mapping[str, float] = field(default_factory=dict)
    searched: Mapping[str, str] = field(default_factory=dict)
    status: Status = Status.OK
    confidence: float | None = None
    doubt: Mapping[str, Any] = field(default_factory=dict)
    is_truncated: bool = False
    request: ContextRequest = field(default_factory=ContextRequest)
    candidates: tuple[Candidate, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    made_by: str = ""
    trace_id: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        fence = longer_run("```", [self.text])
        figures = f"{self.tokens} of {self.budget} tokens, {len(self.passages)} passages"
        return f"{fence}text\n{self.text}\n{fence}\n\n{figures}"

    def final_decisions(self) -> dict[Key, Decision]:
        """Return the one final decision of every candidate."""
        return {d.key: d for d in self.decisions if d.verdict is not Verdict.CHANGED}

    def explain(self, key: Key | str | None = None) -> str:
        """Return, in sentences, why each candidate is in the text or not; or of one candidate.

        Raises:
            ConfigError: `key` names no candidate of this context.
        """
        from langchain_context_engine.trace.explain import explain

        return explain(self, key)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole trace as JSON-ready data; `from_dict` reads it back, equal."""
        from langchain_context_engine.trace.serialization import context_to_dict

        return context_to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Context:
        """Read a trace.

        Raises:
            ConfigError: The data is not a trace, or of a newer form.
        """
        from langchain_context_engine.trace.serialization import context_from_dict

        return context_from_dict(data)

    def to_json(self) -> str:
        """Return the whole trace as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


def empty_context(request: ContextRequest, base: Context | None = None) -> Context:
    """Return the context of a request that asks for nothing.

    Args:
        request: What was asked.
        base: A context whose candidates, settings and timings stand.
    """
    return replace(
        base or Context(),
        text="",
        tokens=0,
        budget=request.budget or 0,
        passages=(),
        citations={},
        sections=(),
        decisions=(),
        status=Status.EMPTY,
        is_truncated=request.budget == 0,
        request=request,
    )


@contextmanager
def reading(context: Context) -> Iterator[None]:
    """Turn whatever a stored trace makes go wrong into one error."""
    try:
        yield
    except ContextEngineError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(
            f"the trace of {context.request.query[:60]!r} cannot be read: {safe_message(error)}; "
            "it is damaged, or a part of yours failed on it"
        ) from error
