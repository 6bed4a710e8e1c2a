"""Servers ask the host's model with somebody's word, under limits, and never more than text."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.assembly import open_host
from host.assembly.sampling import (
    DECLINED,
    FORBIDDEN,
    MAX_AT_ONCE,
    NOBODY,
    Sampler,
    answer_of,
    conversation,
    sampling_policy,
    sampling_settings,
)
from host.config import AgentSettings, EndpointChoice, HostConfig
from host.config.approval_settings import ApprovalSettings
from host.loop.collaborators import Decision
from host.pool import SampledMessage, SamplingAnswer, SamplingRefusal, SamplingRequest
from host.records import PoolEvent, RunEvent, ToolCallRequest, Turn, TurnUsage
from host.wire import Endpoints
from tests.fakes.endpoint import (
    DONE,
    Reply,
    Then,
    answer,
    finish,
    refused,
    streamed,
    text,
    usage,
)
from tests.fakes.http_endpoint import HttpEndpoint
from tests.fakes.mcp_servers.asking import form, program_row, sample

REQUEST = SamplingRequest(messages=(SampledMessage(role="user", text="Hi"),), max_tokens=9)


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


class Asker:
    """Decides every call alike and remembers it."""

    def __init__(self, decision: Decision = "allow") -> None:
        self.calls: list[ToolCallRequest] = []
        self._decision = decision

    async def __call__(self, call: ToolCallRequest) -> Decision:
        self.calls.append(call)
        return self._decision


async def sampled(
    *script: Reply, asker: Asker | None = None, **agent: Any
) -> tuple[SamplingAnswer | SamplingRefusal, list[dict[str, Any]]]:
    """What a request comes to, and what the endpoint was asked."""
    settings = AgentSettings(context_length=100_000, max_retries=0, **agent)
    async with Endpoints() as endpoints:
        with HttpEndpoint(*script) as endpoint, anyio.fail_after(20):
            choice = EndpointChoice(
                base_url=endpoint.base_url, api_key="k", model="m", origin="test"
            )
            sampler = Sampler(endpoints, choice, "m", lambda: settings, asker)
            return await sampler("shop", REQUEST), endpoint.bodies


async def test_a_person_who_agrees_lets_the_model_be_asked() -> None:
    asker = Asker()
    answered, bodies = await sampled(answer("Hello."), asker=asker)
    assert isinstance(answered, SamplingAnswer)
    assert (answered.text, answered.model, answered.stop_reason) == ("Hello.", "m", "endTurn")
    assert answered.prompt_tokens > 0
    (call,) = asker.calls
    assert call.name == "sampling/shop"
    assert call.args == {"messages": [{"user": "Hi"}], "maxTokens": 9}
    assert bodies[0]["max_tokens"] == 9


@pytest.mark.parametrize(
    ("asker", "approve", "refusal"),
    [
        (None, None, NOBODY),
        (Asker(("deny", "for reasons of mine")), None, DECLINED),
        (Asker(), ApprovalSettings(deny=("sampling/*",)), FORBIDDEN),
        (Asker(), ApprovalSettings(allow=("*",), deny=("sampling/shop",)), FORBIDDEN),
        (None, ApprovalSettings(allow=("sampling/other",)), NOBODY),
        (None, ApprovalSettings(allow=("sampling/*",), ask=("sampling/shop",)), NOBODY),
    ],
    ids=["nobody", "declined", "denied", "denied-by-name", "another-allowed", "asked-by-name"],
)
async def test_without_a_yes_the_model_is_not_asked(
    asker: Asker | None, approve: ApprovalSettings | None, refusal: SamplingRefusal
) -> None:
    answered, bodies = await sampled(asker=asker, approve=approve)
    assert answered == refusal
    assert bodies == []


async def test_a_server_on_the_list_needs_nobody() -> None:
    approve = ApprovalSettings(allow=("sampling/shop",))
    answered, _ = await sampled(answer("Hello."), approve=approve)
    assert isinstance(answered, SamplingAnswer)


async def test_an_endpoint_that_fails_is_a_refusal_whose_reason_stays_here() -> None:
    answered, _ = await sampled(refused(500, "secret trouble"), asker=Asker())
    assert isinstance(answered, SamplingRefusal)
    assert answered.reason == "the model did not answer"
    assert "500" in answered.detail


async def test_a_host_serves_its_model_to_the_servers_whose_rows_allow_it() -> None:
    heard: list[RunEvent | PoolEvent] = []
    rows = (
        program_row("shop", sampling={"allow": True, "maxTokens": 3}),
        program_row("modern", "--modern", sampling={"allow": True}),
        program_row("web"),
    )
    agent = AgentSettings(context_length=100_000, max_retries=0)
    config = HostConfig(source="test", rows=rows, agent=agent)
    asker = Asker()
    with HttpEndpoint(answer("Hello."), answer("Hi.")) as endpoint, anyio.fail_after(30):
        choice = EndpointChoice(base_url=endpoint.base_url, api_key="k", model="m", origin="test")
        async with open_host(config, heard.append, endpoint=choice, ask_person=asker) as host:
            await host.pool.wait_ready(20)
            assert '"text": "Hello."' in await host.pool.call("shop__ask", sample("Hi"))
            assert '"text": "Hi."' in await host.pool.call("modern__ask", sample("Hi"))
            assert "not supported" in await host.pool.call("web__ask", sample("Hi"))
            assert "not supported" in await host.pool.call("shop__ask", form())
    assert endpoint.bodies[0]["max_tokens"] == 3
    assert [call.name for call in asker.calls] == ["sampling/shop", "sampling/modern"]
    spent = [event for event in heard if isinstance(event, PoolEvent) and event.kind == "sampling"]
    assert [(event.server_id, event.ok) for event in spent] == [("shop", True), ("modern", True)]
    assert all((event.completion_tokens or 0) > 0 for event in spent)


async def test_only_a_few_questions_are_put_to_the_model_at_once() -> None:
    settings = AgentSettings(context_length=100_000, max_retries=0)
    together, at_once, done = threading.Barrier(MAX_AT_ONCE), [], 0

    def look() -> None:
        together.wait(20)  # as many are under way as may be, or this breaks
        at_once.append(len(endpoint.bodies) - done)

    replies = [streamed(Then(look), text("x"), finish(), usage(1, 1), DONE)] * (3 * MAX_AT_ONCE)

    async def ask() -> None:
        nonlocal done
        assert isinstance(await sampler("shop", REQUEST), SamplingAnswer)
        done += 1

    async with Endpoints() as endpoints:
        with HttpEndpoint(*replies) as endpoint, anyio.fail_after(30):
            choice = EndpointChoice(
                base_url=endpoint.base_url, api_key="k", model="m", origin="test"
            )
            sampler = Sampler(endpoints, choice, "m", lambda: settings, Asker())
            async with anyio.create_task_group() as tasks:
                for _ in replies:
                    tasks.start_soon(ask)
    assert done == len(replies)
    assert max(at_once) <= MAX_AT_ONCE


TEXTS = st.sampled_from(["", "Hi", "Bye"])
REQUESTS = st.builds(
    SamplingRequest,
    messages=st.lists(
        st.builds(SampledMessage, role=st.sampled_from(["user", "assistant"]), text=TEXTS)
    ).map(tuple),
    system_prompt=TEXTS,
    max_tokens=st.integers(1, 50),
    temperature=st.none() | st.floats(0, 2),
    stop_sequences=st.lists(TEXTS).map(tuple),
)
EXTRA = st.dictionaries(
    st.sampled_from(["max_tokens", "max_completion_tokens", "temperature", "n", "stop", "top_k"]),
    st.integers(1, 9999),
)


@given(REQUESTS, EXTRA, st.integers(0, 9999), st.none() | st.floats(0, 2))
def test_whatever_the_host_asks_with_the_requests_limits_hold(
    request: SamplingRequest, extra: dict[str, Any], max_tokens: int, temperature: float | None
) -> None:
    agent = AgentSettings(max_tokens=max_tokens, temperature=temperature, extra_body=extra)
    settings = sampling_settings(agent, request)
    assert settings.max_tokens == request.max_tokens
    assert not {"max_tokens", "max_completion_tokens", "n"} & set(settings.extra_body)
    assert settings.extra_body.get("stop", []) == list(request.stop_sequences)
    if request.temperature is None:
        assert settings.temperature == temperature
        assert settings.extra_body.get("temperature") == extra.get("temperature")
    else:
        assert settings.temperature == request.temperature
        assert "temperature" not in settings.extra_body
    assert settings.extra_body.get("top_k") == extra.get("top_k")


@given(REQUESTS)
def test_the_conversation_is_the_servers_word_for_word(request: SamplingRequest) -> None:
    messages = conversation(request)
    system = [message for message in messages if message["role"] == "system"]
    assert [message["content"] for message in system] == [request.system_prompt] * bool(
        request.system_prompt
    )
    told = [message for message in messages if message["role"] != "system"]
    assert [(message["role"], message["content"]) for message in told] == [
        (message.role, message.text) for message in request.messages
    ]


@pytest.mark.parametrize(
    ("finish_reason", "stop_reason"),
    [("stop", "endTurn"), ("length", "maxTokens"), ("", "endTurn"), ("content_filter", "endTurn")],
)
def test_the_server_is_told_why_the_answer_ends(finish_reason: str, stop_reason: str) -> None:
    usage = TurnUsage(prompt_tokens=3, completion_tokens=2, total_tokens=5)
    answered = answer_of(Turn(content="x", finish_reason=finish_reason, usage=usage), "m")
    assert answered == SamplingAnswer(
        text="x", model="m", stop_reason=stop_reason, prompt_tokens=3, completion_tokens=2
    )


def test_what_no_list_names_is_asked_about_whatever_the_rules_for_tools_are() -> None:
    lenient = ApprovalSettings(read_only="allow", destructive="allow", otherwise="allow")
    for agent in (AgentSettings(), AgentSettings(approve=lenient)):
        assert sampling_policy(agent).verdict("sampling/shop", None) == "ask"
