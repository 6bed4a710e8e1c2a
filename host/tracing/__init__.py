"""Runs as OpenTelemetry spans, after the conventions for GenAI and MCP (genai v0.1.0, Development).

Only the API is used, which emits nothing until somebody installs a provider: an SDK in the
program, or ``opentelemetry-instrument agent-host …``. A run is an ``invoke_agent`` span, below it
each request a ``chat`` span and each dispatched call an ``execute_tool`` span. The MCP SDK makes
a client span of its own for every request to a server, and writes the context it is in into the
request's ``_meta`` (``traceparent``, SEP-414); so a server's trace hangs on the call's span.

A failure sets the status and ``error.type``: a tool failure's code (the convention's
``tool_error`` for a tool's own), else the exception's class, for a failed run that of its cause.
What is stopped, cancelled or out of time has not failed: ``agent_host.stop_reason`` says what cut
it off, and the status stays unset. Texts, those of errors included, are content.

What the conventions have no name for: ``agent_host.run.id``, ``agent_host.step`` (from 0),
``agent_host.purpose`` of a request beside the run, ``agent_host.server.id``,
``agent_host.stop_reason``.
"""

from host.tracing.attributes import TracedModel
from host.tracing.tracer import OpenTelemetryTracer, is_traced

__all__ = ["OpenTelemetryTracer", "TracedModel", "is_traced"]
