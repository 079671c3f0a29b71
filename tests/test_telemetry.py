"""Spans and instruments reach whatever SDK an application configures, and carry figures only (FEATURES C13)."""

from __future__ import annotations

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from langchain_context_engine import telemetry
from langchain_context_engine.models.types import Passage, Ranked, Status
from langchain_context_engine.trace.context import Context
from tests.builders import a_candidate


@pytest.fixture
def spans(monkeypatch):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    telemetry._tracer.cache_clear()
    yield exporter
    telemetry._tracer.cache_clear()


@pytest.fixture
def reader(monkeypatch):
    reader = InMemoryMetricReader()
    monkeypatch.setattr(metrics._internal, "_METER_PROVIDER", MeterProvider([reader]))
    telemetry._histogram.cache_clear()
    telemetry._cache_lookups.cache_clear()
    yield reader
    telemetry._histogram.cache_clear()
    telemetry._cache_lookups.cache_clear()


def points(reader):
    data = reader.get_metrics_data()
    return {
        metric.name: list(metric.data.data_points)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def a_context():
    kept = a_candidate()
    return Context(
        text="one",
        tokens=7,
        budget=100,
        passages=(Passage(ranked=Ranked(candidate=kept), text="one", tokens=7),),
        candidates=(kept, a_candidate(), a_candidate()),
        timings={
            "collect": 10.0,
            "expand": 5.0,
            "rank": 2.0,
            "dedupe": 1.0,
            "pack": 4.0,
            "render": 3.0,
            "total": 26.0,
        },
        status=Status.PARTIAL,
    )


def test_stages_nest_under_the_span_that_is_current(spans):
    with telemetry.stage_span("build"), telemetry.stage_span("collect"):
        pass
    collect, build = spans.get_finished_spans()
    assert (collect.name, build.name) == ("context_engine.collect", "context_engine.build")
    assert collect.parent.span_id == build.context.span_id


def test_an_error_marks_the_span_by_its_type_and_never_by_its_message(spans):
    """L93: a secret in an error's text does not reach a span."""
    with pytest.raises(ValueError, match="sk-test"), telemetry.stage_span("collect"):
        raise ValueError("api_key=sk-test")
    (span,) = spans.get_finished_spans()
    assert not span.status.is_ok
    assert span.attributes["error.type"] == "ValueError"
    assert "sk-test" not in span.to_json()


def test_an_answer_is_recorded_as_durations_in_seconds_items_and_tokens(reader):
    """FEATURES C13: assembly, search, scoring, optimisation time; items retrieved and selected; tokens."""
    telemetry.record_context(a_context())
    sums = {name: found[0].sum for name, found in points(reader).items()}
    assert sums == pytest.approx(
        {
            "context_engine.assembly.duration": 0.026,
            "context_engine.search.duration": 0.015,
            "context_engine.scoring.duration": 0.003,
            "context_engine.optimisation.duration": 0.007,
            "context_engine.items.retrieved": 3,
            "context_engine.items.selected": 1,
            "context_engine.tokens": 7,
        }
    )


def test_cache_lookups_are_counted_by_cache_and_by_hit(reader):
    """FEATURES C13: cache hits."""
    telemetry.record_cache("embeddings", is_hit=True)
    telemetry.record_cache("embeddings", is_hit=True)
    telemetry.record_cache("embeddings", is_hit=False)
    counted = {
        (p.attributes["cache"], p.attributes["hit"]): p.value
        for p in points(reader)["context_engine.cache.lookups"]
    }
    assert counted == {("embeddings", True): 2, ("embeddings", False): 1}


def test_without_an_sdk_nothing_is_raised():
    with telemetry.stage_span("collect") as span:
        assert not span.is_recording()
    telemetry.record_context(Context())
