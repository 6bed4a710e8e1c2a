"""Whole runs of the agent loop, as their traces show them."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from opentelemetry.trace import StatusCode

from host.errors import EndpointSilent, RunFailed
from host.loop.run_control import RunControl
from host.tracing import OpenTelemetryTracer, TracedModel
from tests.fakes.loop_peers import MemoryTool, MemoryToolbox, ScriptedModel, call, calling, saying
from tests.fakes.spans import Spans
from tests.loop.runs import run


def tracer(spans: Spans) -> OpenTelemetryTracer:
    return OpenTelemetryTracer(tracer_provider=spans, model=TracedModel(name="small"))


def broken(args: dict[str, Any]) -> str:
    raise ValueError("out of paper")


async def test_requests_and_calls_stand_under_their_run_in_the_order_they_were_made() -> None:
    spans = Spans()
    toolbox = MemoryToolbox("a__x", MemoryTool(name="a__y", body=broken))
    model = ScriptedModel(calling(call("a__x"), call("a__y")), saying("done"))
    await run(model, toolbox, tracer=tracer(spans), parallel=False)
    assert spans.names == [
        "invoke_agent agent-host",
        "chat small",
        "execute_tool a__x",
        "execute_tool a__y",
        "chat small",
    ]
    whole, first, good, bad, last = spans.spans
    assert all(span.parent is whole for span in spans.spans[1:])
    assert all(span.has_ended for span in spans.spans)
    assert [span.attributes["agent_host.step"] for span in (first, good, bad, last)] == [0, 0, 0, 1]
    assert (good.status, bad.status) == (None, StatusCode.ERROR)
    assert bad.attributes["error.type"] == "executor_error"
    assert whole.attributes["gen_ai.usage.input_tokens"] == 20
    assert whole.attributes["agent_host.stop_reason"] == "completed"


async def test_a_stop_during_calls_ends_every_span_and_fails_none() -> None:
    spans, control = Spans(), RunControl()

    async def mute(args: dict[str, Any]) -> None:
        control.stop("enough")
        await anyio.sleep_forever()

    toolbox = MemoryToolbox(MemoryTool(name="a__x", body=mute))
    model = ScriptedModel(calling(call("a__x", {"n": 1}), call("a__x", {"n": 2})))
    stopped = await run(model, toolbox, tracer=tracer(spans), control=control)
    assert stopped.stop_reason == "stopped"
    assert all(span.has_ended and span.status is None for span in spans.spans)
    whole, _, *calls = spans.spans
    assert whole.attributes["agent_host.stop_reason"] == "stopped"
    assert {span.attributes["agent_host.stop_reason"] for span in calls} == {"cancelled"}


async def test_a_stop_during_a_request_is_told_there() -> None:
    spans, control = Spans(), RunControl()

    async def mute(request: object) -> Any:
        control.stop("enough")
        await anyio.sleep_forever()

    await run(ScriptedModel(mute), tracer=tracer(spans), control=control)
    whole, chat = spans.spans
    assert chat.attributes["agent_host.stop_reason"] == "stopped"
    assert whole.attributes["agent_host.stop_reason"] == "stopped"


async def test_a_model_that_fails_fails_its_request_and_the_run() -> None:
    spans = Spans()
    with pytest.raises(RunFailed):
        await run(ScriptedModel(EndpointSilent(3, before_first=True)), tracer=tracer(spans))
    assert [span.attributes["error.type"] for span in spans.spans] == ["EndpointSilent"] * 2
