"""OpenTelemetry: spans of requests, commands, appends and batches of projections (the extra `mnemolog[otel]`).

The exporter goes by OpenTelemetry's own variables, such as OTEL_EXPORTER_OTLP_ENDPOINT. A program that has set up a
tracer provider of its own gets the spans there.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import mnemolog
from mnemolog.adapters import telemetry
from mnemolog.adapters.config import Settings
from mnemolog.adapters.telemetry import Attribute
from mnemolog.domain.errors import EngineError, MnemologError

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer


def start(settings: Settings) -> None:
    """Start tracing if the setting `traces` is on; EngineError without the extra."""
    if settings.traces == "off":
        return
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise EngineError(
            "OpenTelemetry is not installed", field="traces", fix="run `pip install 'mnemolog[otel]'`"
        ) from error
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
        ours = Resource({SERVICE_NAME: "mnemolog", SERVICE_VERSION: mnemolog.__version__})
        provider = TracerProvider(resource=ours.merge(OTELResourceDetector().detect()))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(provider)
    telemetry.trace = _step


def current() -> Mapping[str, str]:
    """The ids of the current trace and span, for logs; empty without one."""
    if telemetry.trace is not _step:
        return {}
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


@contextmanager
def request(headers: Mapping[str, str]) -> Iterator["Span"]:
    """The span of a request, below that of its caller if the headers name one (W3C Trace Context)."""
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind

    with _span("HTTP", context=extract(headers), kind=SpanKind.SERVER) as span:
        yield span


def _step(step: str, attributes: dict[str, Attribute]) -> AbstractContextManager[object]:
    return _span(f"mnemolog.{step}", attributes={f"mnemolog.{name}": value for name, value in attributes.items()})


@contextmanager
def _span(name: str, **given: Any) -> Iterator["Span"]:
    """An error is recorded by its code, because its message may quote a memory."""
    from opentelemetry.trace import Status, StatusCode

    with _tracer().start_as_current_span(name, record_exception=False, set_status_on_exception=False, **given) as span:
        try:
            yield span
        except Exception as error:
            code = error.code if isinstance(error, MnemologError) else type(error).__name__
            span.set_status(Status(StatusCode.ERROR, code))
            raise


def _tracer() -> "Tracer":
    from opentelemetry import trace

    return trace.get_tracer("mnemolog", mnemolog.__version__)
