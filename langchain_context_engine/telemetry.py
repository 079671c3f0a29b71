"""OpenTelemetry spans and instruments, by the API alone: an application's own SDK decides where they go.

Without an SDK every call is a no-op of the API. No text, id, title or scope ever becomes an attribute:
a span says how long and how many, and the name of an error's type, never its message.

| instrument | unit | attributes | says |
| --- | --- | --- | --- |
| `context_engine.assembly.duration` | s | `status` | one whole answer |
| `context_engine.search.duration` | s | | collecting and expanding |
| `context_engine.scoring.duration` | s | | ranking and removing duplicates |
| `context_engine.optimisation.duration` | s | | sharing out the budget and rendering |
| `context_engine.items.retrieved` | {item} | | candidates that were ranked |
| `context_engine.items.selected` | {item} | | passages in the text |
| `context_engine.tokens` | {token} | | tokens of the text |
| `context_engine.cache.lookups` | {lookup} | `cache`, `hit` | one count for each look-up |

A Prometheus exporter shows them as `context_engine_assembly_duration_seconds` and so on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram
    from opentelemetry.trace import Span, Tracer


_SCOPE = "langchain_context_engine"
PHASES = {
    "search": ("collect", "expand"),
    "scoring": ("rank", "dedupe"),
    "optimisation": ("pack", "render"),
}
"""What stages belong together in the figures."""


@contextmanager
def stage_span(name: str) -> Iterator[Span]:
    """Open the span `context_engine.<name>` around a block, as a child of the current span.

    An exception passes through; the span is marked as an error with the exception's type only, since
    a message may quote a text or a secret.
    """
    opened = _tracer().start_as_current_span(
        f"context_engine.{name}", record_exception=False, set_status_on_exception=False
    )
    with opened as span:
        try:
            yield span
        except BaseException as error:
            from opentelemetry.trace import Status, StatusCode

            span.set_attribute("error.type", type(error).__name__)
            span.set_status(Status(StatusCode.ERROR))
            raise


def record_context(context: Any) -> None:
    """Record one answer, a `Context`, on the instruments that the module's docstring lists.

    The whole is its timings' `total`, or else their sum.
    """
    stages = {name: milliseconds / 1000 for name, milliseconds in context.timings.items()}
    total = stages.pop("total", None)
    whole = sum(stages.values()) if total is None else total
    _histogram("assembly.duration", "s").record(whole, {"status": str(context.status)})
    for phase, names in PHASES.items():
        # An answer from a cache went through no phase, and must not make them look fast.
        if not stages.keys().isdisjoint(names):
            _histogram(f"{phase}.duration", "s").record(sum(stages.get(name, 0.0) for name in names))
    _histogram("items.retrieved", "{item}").record(len(context.candidates))
    _histogram("items.selected", "{item}").record(len(context.passages))
    _histogram("tokens", "{token}").record(context.tokens)


def record_cache(name: str, *, is_hit: bool) -> None:
    """Count one look-up in a cache, for example in that of embeddings."""
    _cache_lookups().add(1, {"cache": name, "hit": is_hit})


# The API hands out proxies that find an SDK configured later, so they may be kept.
@cache
def _tracer() -> Tracer:
    from opentelemetry.trace import get_tracer

    return get_tracer(_SCOPE)


@cache
def _histogram(name: str, unit: str) -> Histogram:
    from opentelemetry.metrics import get_meter

    return get_meter(_SCOPE).create_histogram(f"context_engine.{name}", unit)


@cache
def _cache_lookups() -> Counter:
    from opentelemetry.metrics import get_meter

    return get_meter(_SCOPE).create_counter("context_engine.cache.lookups", "{lookup}")
