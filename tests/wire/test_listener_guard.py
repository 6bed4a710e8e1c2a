"""What listeners raise comes out as it was raised, whatever it looks like."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import anyio
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import EndpointRefused, EndpointUnavailable, StreamBroken
from host.records import Turn
from host.wire.capabilities import Capabilities
from host.wire.clients import Endpoints
from host.wire.continuation import continue_turn
from host.wire.endpoint import run_turn
from host.wire.listener_guard import ListenerGuard
from host.wire.settings import EndpointSettings
from host.wire.streaming import stream_turn
from tests.fakes.endpoint import (
    DONE,
    KEY,
    FakeEndpoint,
    Mute,
    Reply,
    delta,
    error_event,
    finish,
    role,
    streamed,
    text,
)
from tests.fakes.loopback_endpoint import LoopbackEndpoint

UNREADABLE = "The model produced output that does not match the expected peg-native format"
BODY = {
    "model": "m",
    "messages": [{"role": "user", "content": "hi"}],
    "stream": True,
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
}
CUT = Turn(content="The dog ran away from here", finish_reason="length")

KINDS: list[Callable[[], Exception]] = [
    lambda: LookupError("mine"),
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    lambda: openai.OpenAIError(f"my own client, {KEY}"),
    lambda: httpx2.ReadError(f"my own request, {KEY}"),
    lambda: StreamBroken("my own stream"),
    lambda: EndpointUnavailable(1, 500, detail=UNREADABLE),
    lambda: EndpointRefused(400, "no prefill"),
]

Ask = Callable[[openai.AsyncOpenAI, dict[str, Any]], Any]


def _streamed(client: openai.AsyncOpenAI, told: dict[str, Any]) -> Any:
    return stream_turn(client, BODY, **told)


def _run(client: openai.AsyncOpenAI, told: dict[str, Any]) -> Any:
    return run_turn(client, Capabilities(), lambda *_: BODY, max_retries=2, model="m", **told)


def _continued(client: openai.AsyncOpenAI, told: dict[str, Any]) -> Any:
    return continue_turn(client, Capabilities(), lambda *_: BODY, CUT, model="m", **told)


class _Failing:
    """A listener that raises its own error at a word, and never hears more."""

    def __init__(self, error: Exception, at: str) -> None:
        self.error = error
        self._at = at
        self.heard: list[str] = []

    def hear(self, word: str) -> None:
        self.heard.append(word)
        if self._at in word:
            raise self.error


async def _raised(ask: Ask, *script: Reply, **told: Any) -> tuple[BaseException, FakeEndpoint]:
    endpoint = FakeEndpoint(*script)
    async with endpoint.client() as client:
        with pytest.raises(Exception) as caught:  # noqa: PT011  # compared by the caller
            await ask(client, told)
    return caught.value, endpoint


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ask", [_streamed, _run, _continued])
@pytest.mark.parametrize("listener", ["on_output", "on_thinking"])
async def test_what_a_listener_raises_is_raised_itself_and_unchanged(
    kind: Callable[[], Exception], ask: Ask, listener: str
) -> None:
    failing = _Failing(kind(), "here")
    args = failing.error.args
    reply = streamed(role(), delta(reasoning_content="here"), text("here"), Mute())
    reply.closed = anyio.Event()
    raised, endpoint = await _raised(ask, reply, **{listener: failing.hear})
    assert raised is failing.error
    assert (raised.args, raised.__cause__, raised.__context__) == (args, None, None)
    assert not raised.__suppress_context__
    assert reply.closed.is_set()
    assert (endpoint.sends, failing.heard) == (1, ["here"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ask", [_streamed, _run, _continued])
async def test_so_is_what_it_raises_at_the_text_held_back_to_the_end(
    kind: Callable[[], Exception], ask: Ask
) -> None:
    failing = _Failing(kind(), "<thi")
    raised, _ = await _raised(ask, streamed(text("a <thi"), finish(), DONE), on_output=failing.hear)
    assert raised is failing.error


@pytest.mark.parametrize("kind", KINDS)
async def test_so_is_what_it_raises_while_an_answer_is_gone_on_with(
    kind: Callable[[], Exception],
) -> None:
    failing = _Failing(kind(), "rest")
    unreadable = streamed(text("half "), error_event(UNREADABLE, code=500))
    raised, endpoint = await _raised(
        _run, unreadable, streamed(text("rest"), Mute()), on_output=failing.hear
    )
    assert raised is failing.error
    assert endpoint.sends == 2


async def test_a_cause_and_a_context_of_its_own_stay() -> None:
    cause, context = KeyError("cause"), KeyError("context")

    def fail(_: str) -> None:
        try:
            raise context
        except KeyError:
            raise StreamBroken("mine") from cause

    raised, _ = await _raised(_run, streamed(text("x"), DONE), on_output=fail)
    assert (raised.__cause__, raised.__context__) == (cause, context)


async def test_a_refusal_of_the_listeners_own_teaches_nothing_of_the_model() -> None:
    def fail(_: str) -> None:
        raise EndpointRefused(400, "Assistant prefill is not supported")

    capabilities, notices = Capabilities(), list[str]()
    async with FakeEndpoint(streamed(text("x"), DONE)).client() as client:
        with pytest.raises(EndpointRefused):
            await continue_turn(
                client,
                capabilities,
                lambda *_: BODY,
                CUT,
                model="m",
                on_output=fail,
                on_notice=notices.append,
            )
    assert capabilities.for_model("m").assistant_prefill
    assert notices == []


async def test_a_stop_by_the_listener_that_raises_is_a_stop() -> None:
    with anyio.CancelScope() as scope:

        def fail(_: str) -> None:
            scope.cancel()
            raise LookupError

        async with FakeEndpoint(streamed(text("x"), Mute())).client() as client:
            with pytest.raises(LookupError):
                await stream_turn(client, BODY, on_output=fail)


# --- the scope itself ---------------------------------------------------------------------------


@given(st.integers(1, 4), st.lists(st.text(), max_size=4))
def test_guards_nest_and_pass_on_what_is_heard(depth: int, words: list[str]) -> None:
    heard: list[str] = []
    error = StreamBroken("mine")

    def hear(word: str) -> None:
        heard.append(word)
        if len(heard) == len(words):
            raise error

    def told(listener: Callable[[str], None], levels: int) -> None:
        guard = ListenerGuard()
        with guard:
            inner = guard.over(listener)
            assert inner is not None
            if levels > 1:
                told(inner, levels - 1)
            else:
                for word in words:
                    inner(word)

    if words:
        with pytest.raises(StreamBroken) as caught:
            told(hear, depth)
        assert caught.value is error
        assert caught.value.__context__ is None
    else:
        told(hear, depth)
    assert heard == words


def test_nothing_to_hear_stays_nothing_and_other_errors_pass() -> None:
    guard = ListenerGuard()
    assert guard.over(None) is None
    with pytest.raises(KeyError), guard:
        raise KeyError


def test_a_failure_on_the_way_out_does_not_hide_what_was_raised_and_an_exit_does() -> None:
    error = LookupError("mine")

    def fail(_: str) -> None:
        raise error

    def left_by(another: BaseException) -> None:
        guard = ListenerGuard()
        with guard:
            listener = guard.over(fail)
            assert listener is not None
            try:
                listener("x")
            finally:
                raise another

    with pytest.raises(LookupError):
        left_by(RuntimeError("while closing"))
    with pytest.raises(KeyboardInterrupt):
        left_by(KeyboardInterrupt())


# --- over sockets -------------------------------------------------------------------------------


class TestOverSockets:
    @pytest.fixture
    def anyio_backend(self, real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
        return real_time

    @pytest.mark.parametrize("kind", [anyio.BrokenResourceError, openai.OpenAIError])
    async def test_the_connection_is_closed_promptly(self, kind: type[Exception]) -> None:
        error = kind()

        def fail(_: str) -> None:
            raise error

        script = streamed(text("x"), Mute())
        with anyio.fail_after(20):
            async with LoopbackEndpoint(script) as endpoint, Endpoints() as endpoints:
                client = endpoints.client(EndpointSettings(base_url=endpoint.base_url))
                with pytest.raises(kind) as caught:
                    await stream_turn(client, BODY, on_output=fail)
                assert caught.value is error
                with anyio.fail_after(2):
                    await endpoint.hung_up.wait()
        gc.collect()
