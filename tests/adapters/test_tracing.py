"""Spans of requests, commands, appends and batches of projections."""

import json
import logging
from collections.abc import Iterator
from copy import copy

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mnemolog.adapters import telemetry, tracing
from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.logs import JsonFormatter
from mnemolog.adapters.reads.reads import Reads
from mnemolog.domain.errors import EngineError
from tests.adapters.principals.keys import calling
from tests.testkit.eventually import eventually

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What a provider of the program's own is given: it stays in place, and no other is made."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    monkeypatch.setattr(telemetry, "trace", telemetry.trace)
    tracing.start(load(traces="otlp"))
    yield exporter
    provider.shutdown()


def traced(engine: Engine) -> Engine:
    tracing_one = copy(engine)
    tracing_one.settings = engine.settings.model_copy(update={"traces": "otlp"})
    return tracing_one


def named(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name == name]


@pytest.mark.spec("X24")
async def test_a_request_its_command_and_its_append_are_in_the_trace_of_the_caller(
    engine: Engine, user: str, spans: InMemorySpanExporter
) -> None:
    async with calling(traced(engine), None) as http:
        body, headers = {"user_id": user, "text": "Ana drinks tea"}, {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        assert (await http.post("/v1/memories", json=body, headers=headers)).status_code == 201
    await engine.settled()

    async def is_answered() -> bool:  # A span ends after the answer was sent.
        return bool(named(spans, "POST create"))

    await eventually(is_answered)
    [request] = named(spans, "POST create")
    assert request.context
    # Jobs of other tests may write meanwhile.
    [command] = [one for one in named(spans, "mnemolog.command") if one.parent == request.context]
    [append] = [one for one in named(spans, "mnemolog.append") if one.parent and command.context == one.parent]
    assert request.parent
    assert (f"{request.context.trace_id:032x}", f"{request.parent.span_id:016x}") == (TRACE, PARENT)
    assert {append.context.trace_id if append.context else 0} == {request.context.trace_id}
    assert request.attributes
    assert request.attributes["http.response.status_code"] == 201
    assert command.attributes
    assert command.attributes["mnemolog.command"] == "CreateMemory"

    async def is_projected() -> bool:  # A span ends after the commit that makes its rows visible.
        batches = [str((one.attributes or {})["mnemolog.projections"]) for one in named(spans, "mnemolog.project")]
        return any("memories" in names for names in batches)

    await eventually(is_projected)
    told = [one.to_json() for one in spans.get_finished_spans()]
    assert not any(user in one or "Ana drinks tea" in one for one in told)


async def test_a_refused_command_is_traced_by_its_code(engine: Engine, user: str, spans: InMemorySpanExporter) -> None:
    missing = "01942b6e-7c00-7000-8000-000000000000"
    async with calling(traced(engine), None) as http:
        assert (await http.delete(f"/v1/memories/{missing}", params={"user_id": user})).status_code == 404

    [command] = named(spans, "mnemolog.command")
    assert (command.status.is_ok, command.status.description) == (False, "not_found")


async def test_an_unforeseen_error_is_traced_without_its_words(
    engine: Engine, user: str, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object, **__: object) -> None:
        raise ValueError("Ana drinks tea")

    monkeypatch.setattr(Reads, "newest", fails)
    async with calling(traced(engine), None) as http:
        assert (await http.get("/v1/memories", params={"user_id": user})).status_code == 500

    [request] = [one for one in spans.get_finished_spans() if one.name == "GET list"]
    assert (request.status.is_ok, request.status.description) == (False, "ValueError")
    assert not request.events
    assert "Ana drinks tea" not in request.to_json()


def test_a_log_line_names_the_span_under_way(spans: InMemorySpanExporter) -> None:
    record = logging.LogRecord("mnemolog", logging.INFO, "", 1, "said", (), None)
    with tracing.request({"traceparent": f"00-{TRACE}-{PARENT}-01"}):
        within = json.loads(JsonFormatter().format(record))
    assert within["trace_id"] == TRACE
    assert len(within["span_id"]) == 16
    assert "trace_id" not in json.loads(JsonFormatter().format(record))


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(EngineError, match="not installed") as refused:
        tracing.start(load(traces="otlp"))
    assert "mnemolog[otel]" in refused.value.fix
