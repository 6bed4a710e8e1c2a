"""A run's spans: named, nested, ended, silent about content, and told to servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from host.errors import EndpointSilent, RunFailed
from host.loop.run_control import Interrupted, Interruption, RunControl
from host.loop.run_tracing import RunTracer
from host.loop.stop_reasons import Deadline
from host.records import (
    Message,
    Run,
    StopReason,
    ToolCallRequest,
    ToolFailure,
    ToolSuccess,
    TurnUsage,
)
from host.text.redaction import Redactor
from host.toolbox import PoolToolbox
from host.tracing import OpenTelemetryTracer, TracedModel, is_traced
from tests.fakes.loop_peers import MemoryTool, call, calling, saying
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row
from tests.fakes.spans import Spans
from tests.pool.pools import memory_pool

QUESTION: Message = {"role": "user", "content": "Where is it?"}
REQUEST = ToolCallRequest(id="c1", name="echo__ping", args={"x": 1})
USAGE = TurnUsage(prompt_tokens=10, completion_tokens=2, cached_tokens=4)


def tracer(spans: Spans, **about: Any) -> RunTracer:
    return OpenTelemetryTracer(tracer_provider=spans, **about)


def ended(reason: StopReason = "completed") -> Run:
    turn = saying("There.", usage=USAGE)
    return Run(turn=turn, messages=(QUESTION,), usage=USAGE, stop_reason=reason)


@pytest.fixture(autouse=True)
def no_span_is_left() -> Iterator[None]:
    yield
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_run_is_a_tree_of_the_conventions_spans() -> None:
    spans = Spans()
    model = TracedModel(name="small", base_url="http://localhost:8080/v1", max_tokens=99)
    tracing = tracer(spans, model=model, run_id="r1", conversation_id="s1")
    with tracing.run([QUESTION]) as run:
        with tracing.request(0, [QUESTION], [MemoryTool(name="echo__ping").definition]) as asked:
            asked.answered(calling(call("echo__ping", {"x": 1}, "c1")))
        with tracing.call(0, REQUEST) as made:
            made.returned(ToolSuccess(result="pong"))
        run.ended(ended())
    assert [(span.name, span.kind, span.parent) for span in spans.spans] == [
        ("invoke_agent agent-host", SpanKind.INTERNAL, None),
        ("chat small", SpanKind.CLIENT, spans.spans[0]),
        ("execute_tool echo__ping", SpanKind.INTERNAL, spans.spans[0]),
    ]
    whole, chat, tool = (span.attributes for span in spans.spans)
    assert whole == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "openai",
        "gen_ai.agent.name": "agent-host",
        "gen_ai.request.model": "small",
        "gen_ai.conversation.id": "s1",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.response.finish_reasons": ["stop"],
        "agent_host.run.id": "r1",
        "agent_host.stop_reason": "completed",
    }
    assert chat == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "small",
        "gen_ai.request.max_tokens": 99,
        "gen_ai.conversation.id": "s1",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "server.address": "localhost",
        "server.port": 8080,
        "agent_host.step": 0,
    }
    assert tool == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo__ping",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": "s1",
        "agent_host.step": 0,
    }
    assert all(span.has_ended and span.status is None for span in spans.spans)


def test_a_request_beside_the_run_says_what_it_is_for_and_claims_no_model_it_does_not_know() -> (
    None
):
    spans = Spans()
    tracing = tracer(spans, model=TracedModel(name="small", base_url="http://localhost/v1"))
    with tracing.request(2, [], purpose="select", as_json=True, own_model=False):
        pass
    (chat,) = spans.spans
    assert chat.name == "chat"
    assert chat.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.output.type": "json",
        "agent_host.step": 2,
        "agent_host.purpose": "select",
    }


SECRET, CONTENT = "s3cr3t-value", "marker"
words = st.sampled_from([CONTENT, f"{CONTENT} {SECRET}", f'"{CONTENT}" {SECRET}'])


def _played(tracing: RunTracer, said: str) -> None:
    """A run in which everything that is content says ``said``."""
    message: Message = {"role": "user", "content": said}
    tool = MemoryTool(name="a__b", description=said).definition
    request = ToolCallRequest(id="c1", name="a__b", args={"text": said})
    with tracing.run([message]) as run:
        with tracing.request(0, [message], [tool]) as asked:
            asked.answered(calling(call("a__b", {"text": said}, "c1"), text=said, reasoning=said))
        with tracing.call(0, request) as made:
            made.returned(ToolSuccess(result={"text": said}))
        with tracing.call(0, request) as made:
            made.returned(ToolFailure(code="tool-error", message=said))
        with pytest.raises(ValueError, match=CONTENT), tracing.call(0, request):
            raise ValueError(said)
        run.ended(Run(turn=saying(said), messages=(message,)))


@given(words)
def test_no_content_is_recorded_unless_asked(said: str) -> None:
    spans = Spans()
    _played(tracer(spans, redactor=Redactor([SECRET])), said)
    told = [(span.name, span.attributes, span.description, span.events) for span in spans.spans]
    assert CONTENT not in repr(told)


@given(words)
def test_content_that_is_asked_for_is_recorded_without_secrets(said: str) -> None:
    spans = Spans()
    _played(tracer(spans, capture_content=True, redactor=Redactor([SECRET])), said)
    told = [(span.attributes, span.description, span.events) for span in spans.spans]
    assert SECRET not in repr(told)
    shown = said.replace(SECRET, "***")
    whole, chat, good, bad, worse = spans.spans
    asked = [{"role": "user", "parts": [{"type": "text", "content": shown}]}]
    for span in (whole, chat):
        assert json.loads(span.attributes["gen_ai.input.messages"]) == asked
        assert shown in repr(json.loads(span.attributes["gen_ai.output.messages"]))
    (definition,) = json.loads(chat.attributes["gen_ai.tool.definitions"])
    assert definition["description"] == shown
    assert json.loads(good.attributes["gen_ai.tool.call.arguments"]) == {"text": shown}
    assert json.loads(good.attributes["gen_ai.tool.call.result"]) == {"text": shown}
    assert "gen_ai.tool.call.result" not in bad.attributes
    assert [bad.description, worse.description] == [shown, shown]


def test_content_that_cannot_be_shown_is_left_out_and_hurts_nobody() -> None:
    spans = Spans()
    tracing = tracer(spans, capture_content=True)
    broken: Any = [{"content": "a message without a role"}]
    with tracing.request(0, broken) as asked:
        asked.answered(saying("fine"))
    (chat,) = spans.spans
    assert "gen_ai.input.messages" not in chat.attributes
    assert "fine" in chat.attributes["gen_ai.output.messages"]


def test_a_span_that_is_not_sampled_makes_no_attributes() -> None:
    def servers() -> list[Any]:
        raise AssertionError("asked for nothing")

    tracing = tracer(Spans(sampled=False), capture_content=True, servers=servers)
    with tracing.run([QUESTION]) as run, tracing.call(0, REQUEST) as made:
        made.returned(ToolFailure(code="timeout", message="late"))
        run.ended(ended())


def test_a_tools_failure_is_its_calls_and_not_the_runs() -> None:
    spans = Spans()
    tracing = tracer(spans)
    with tracing.run() as run:
        with tracing.call(0, REQUEST) as made:
            made.returned(ToolFailure(code="tool-error", message="out of paper"))
        run.ended(ended())
    whole, tool = spans.spans
    assert (tool.status, tool.attributes["error.type"]) == (StatusCode.ERROR, "tool_error")
    assert (whole.status, whole.attributes.get("error.type")) == (None, None)


def test_a_failed_run_is_named_by_its_cause_and_tells_what_it_had_spent() -> None:
    spans = Spans()
    tracing = tracer(spans)

    def failing() -> None:
        try:
            with tracing.request(0, []):
                raise EndpointSilent(3, before_first=True)
        except EndpointSilent as error:
            raise RunFailed(str(error), ended("stopped")) from error

    with pytest.raises(RunFailed), tracing.run():
        failing()
    for span in spans.spans:
        assert span.has_ended
        assert (span.status, span.attributes["error.type"]) == (StatusCode.ERROR, "EndpointSilent")
        assert span.events == []
    assert spans.spans[0].attributes["gen_ai.usage.input_tokens"] == 10


@pytest.mark.parametrize("reason", ["stopped", "backstop", "deadline", "budget", "stuck-loop"])
def test_a_run_that_a_limit_or_a_person_ended_has_not_failed(reason: StopReason) -> None:
    spans = Spans()
    with tracer(spans).run() as run:
        run.ended(ended(reason))
    (whole,) = spans.spans
    assert whole.status is None
    assert whole.attributes["agent_host.stop_reason"] == reason


async def _stopped(control: RunControl) -> None:
    await anyio.lowlevel.checkpoint()
    control.stop("enough")


@pytest.mark.parametrize("why", ["stopped", "deadline"])
async def test_a_request_that_is_cut_off_says_by_what_and_the_call_in_it_was_cancelled(
    why: str,
) -> None:
    spans, control = Spans(), RunControl()
    tracing = tracer(spans)
    deadline = Deadline(at_seconds=anyio.current_time() + 5) if why == "deadline" else Deadline()
    interruption = Interruption(control=control, deadline=deadline)

    async def mute() -> None:
        with tracing.call(0, REQUEST):
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        if why == "stopped":
            group.start_soon(_stopped, control)
        with tracing.run() as run:
            with pytest.raises(Interrupted), tracing.request(0, []):
                await interruption.cut_short(mute)
            run.ended(ended("stopped"))
    _, chat, tool = spans.spans
    assert [span.attributes["agent_host.stop_reason"] for span in (chat, tool)] == [
        why,
        "cancelled",
    ]
    assert all(span.status is None and span.has_ended for span in spans.spans)
    assert not any("error.type" in span.attributes for span in spans.spans)


async def test_a_cancelled_task_ends_its_spans_as_cancelled() -> None:
    spans = Spans()
    tracing = tracer(spans)
    with anyio.CancelScope() as scope:
        with tracing.run(), tracing.request(0, []):
            scope.cancel()
            await anyio.sleep_forever()
    assert [span.attributes["agent_host.stop_reason"] for span in spans.spans] == ["cancelled"] * 2
    assert all(span.has_ended and span.status is None for span in spans.spans)


async def test_calls_side_by_side_are_each_the_runs_and_not_each_others() -> None:
    spans = Spans()
    tracing = tracer(spans)

    async def made(name: str) -> None:
        with tracing.call(0, ToolCallRequest(id=name, name=name)) as span:
            mine = trace.get_current_span()
            await anyio.sleep(1)
            assert trace.get_current_span() is mine
            span.returned(ToolSuccess(result=name))

    with tracing.run() as run:
        async with anyio.create_task_group() as group:
            for name in ("a", "b", "c"):
                group.start_soon(made, name)
        run.ended(ended())
    whole, *tools = spans.spans
    assert {span.name for span in tools} == {"execute_tool a", "execute_tool b", "execute_tool c"}
    assert all(span.parent is whole and span.has_ended for span in tools)


class HearingServer(EchoServer):
    """An echo server that keeps the ``_meta`` of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.meta: list[dict[str, Any]] = []

    async def _call(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        self.meta.append(dict(context.meta or {}))
        return await super()._call(context, params)


ERAS: list[Any] = ["legacy", MODERN_PROTOCOL_VERSIONS[-1]]


async def _call_traced(spans: Spans, era: Any) -> dict[str, Any]:
    """What a server of this era hears in ``_meta`` of a call that is made in a traced run."""
    server = HearingServer()
    async with memory_pool(Servers(echo=server), [memory_row("echo", era=era)]) as pool:
        tracing = tracer(spans, servers=pool.state)
        with tracing.run() as run:
            with tracing.call(0, REQUEST) as made:
                made.returned(await PoolToolbox(pool).call(REQUEST))
            run.ended(ended())
    (meta,) = server.meta
    return meta


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_hears_which_call_of_which_trace_it_serves(era: Any) -> None:
    spans = Spans()
    meta = await _call_traced(spans, era)
    tool = spans.named("execute_tool echo__ping")
    assert meta["traceparent"] == tool.traceparent
    version = tool.attributes.pop("mcp.protocol.version")
    assert version == era if era != "legacy" else version not in MODERN_PROTOCOL_VERSIONS
    assert tool.attributes["agent_host.server.id"] == "echo"
    assert tool.attributes["server.address"] == "memory.test"


@pytest.mark.parametrize("era", ERAS)
async def test_where_the_sdk_is_traced_too_its_span_stands_between(
    era: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = Spans()
    monkeypatch.setattr("mcp.shared._otel._tracer", spans)
    meta = await _call_traced(spans, era)
    tool, sent = spans.named("execute_tool echo__ping"), spans.named("MCP send tools/call ping")
    served = spans.named("tools/call ping")
    assert meta["traceparent"] == sent.traceparent
    assert (sent.kind, sent.parent) == (SpanKind.CLIENT, tool)
    assert (served.kind, served.parent) == (SpanKind.SERVER, sent)


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_hears_of_no_trace_where_there_is_none(era: Any) -> None:
    server = HearingServer()
    async with memory_pool(Servers(echo=server), [memory_row("echo", era=era)]) as pool:
        await pool.call("echo__ping")
    (meta,) = server.meta
    assert "traceparent" not in meta


async def test_a_server_that_sleeps_until_the_call_is_told_as_it_is_after_it() -> None:
    spans = Spans()
    async with memory_pool(Servers(echo=EchoServer())) as pool:
        await pool.stop("echo")
        tracing = tracer(spans, servers=pool.state)
        for _ in range(2):
            with tracing.call(0, REQUEST) as made:
                made.returned(await PoolToolbox(pool).call(REQUEST))
        with tracing.call(0, ToolCallRequest(id="c2", name="no__such")):
            pass
    first, second, unknown = (span.attributes for span in spans.spans)
    assert first["mcp.protocol.version"] == second["mcp.protocol.version"]
    assert "agent_host.server.id" not in unknown


def test_without_a_provider_nobody_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_traced()
    for provider, answer in [(trace.NoOpTracerProvider(), False), (Spans(), True)]:
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
        assert is_traced() is answer
