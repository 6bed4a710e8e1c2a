"""A provider of OpenTelemetry spans that keeps them in memory, on the API alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext, SpanKind, StatusCode, TraceFlags


class RecordedSpan(trace.Span):
    """A span and everything it was told.

    Attributes:
        parent: the span it was started in; None for a root.
        status: None while unset.
    """

    def __init__(
        self, identifier: int, name: str, kind: SpanKind, parent: RecordedSpan | None
    ) -> None:
        self.name = name
        self.kind = kind
        self.parent = parent
        self.attributes: dict[str, Any] = {}
        self.status: StatusCode | None = None
        self.description: str | None = None
        self.events: list[str] = []
        self.has_ended = False
        trace_id = parent.get_span_context().trace_id if parent else identifier << 64
        self._context = SpanContext(
            trace_id, identifier, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
        )

    @property
    def traceparent(self) -> str:
        """What a child elsewhere is told (W3C trace context)."""
        return f"00-{self._context.trace_id:032x}-{self._context.span_id:016x}-01"

    def end(self, end_time: int | None = None) -> None:
        assert not self.has_ended
        self.has_ended = True

    def get_span_context(self) -> SpanContext:
        return self._context

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        assert not self.has_ended
        self.attributes.update(attributes)

    def set_attribute(self, key: str, value: Any) -> None:
        self.set_attributes({key: value})

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        self.events.append(name)

    def update_name(self, name: str) -> None:
        self.name = name

    def is_recording(self) -> bool:
        return not self.has_ended

    def set_status(self, status: Any, description: str | None = None) -> None:
        if isinstance(status, trace.Status):
            status, description = status.status_code, status.description
        self.status, self.description = status, description

    def record_exception(self, exception: BaseException, *rest: Any, **more: Any) -> None:
        self.events.append(f"exception: {exception}")


class Spans(trace.TracerProvider, trace.Tracer):
    """Keeps the spans of all its tracers, in the order they began.

    Args:
        sampled: False makes spans that record nothing.
    """

    def __init__(self, *, sampled: bool = True) -> None:
        self.spans: list[RecordedSpan] = []
        self._sampled = sampled

    def named(self, name: str) -> RecordedSpan:
        """The one span of this name."""
        (span,) = (span for span in self.spans if span.name == name)
        return span

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.spans]

    def get_tracer(self, *about: Any, **more: Any) -> trace.Tracer:
        return self

    def start_span(
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Any = None,
        *rest: Any,
        **more: Any,
    ) -> trace.Span:
        if not self._sampled:
            return trace.INVALID_SPAN
        above = trace.get_current_span(context).get_span_context()
        parent = self.spans[above.span_id - 1] if above.is_valid else None
        span = RecordedSpan(len(self.spans) + 1, name, kind, parent)
        span.set_attributes(attributes or {})
        self.spans.append(span)
        return span

    def start_as_current_span(
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Any = None,
        links: Any = None,
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
        end_on_exit: bool = True,
    ) -> Any:
        return trace.use_span(
            self.start_span(name, context, kind, attributes),
            end_on_exit=end_on_exit,
            record_exception=record_exception,
            set_status_on_exception=set_status_on_exception,
        )
