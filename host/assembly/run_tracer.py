"""The tracer of a run, where somebody collects traces."""

from __future__ import annotations

from host.assembly.config_secrets import config_redactor
from host.assembly.local_engine import LocalEngine
from host.config import EndpointChoice, HostConfig
from host.loop import NO_TRACING, RunTracer
from host.pool import ServerPool
from host.tracing import OpenTelemetryTracer, TracedModel, is_traced


def run_tracer(
    config: HostConfig,
    pool: ServerPool,
    endpoint: EndpointChoice | LocalEngine,
    model: str,
    *,
    run_id: str,
    session_id: str | None,
) -> RunTracer:
    """Follows a run as spans if a tracer provider is installed, and nothing otherwise.

    Args:
        session_id: the caller's own name for the conversation; None without one.
    """
    if not is_traced():
        return NO_TRACING
    agent = config.agent
    served = endpoint if isinstance(endpoint, EndpointChoice) else None
    return OpenTelemetryTracer(
        capture_content=agent.capture_content,
        model=TracedModel(
            name=model,
            base_url=served.base_url if served else None,
            max_tokens=agent.max_tokens or None,
            temperature=agent.temperature,
        ),
        run_id=run_id,
        conversation_id=session_id,
        servers=pool.state,
        redactor=config_redactor(config, endpoint),
    )
