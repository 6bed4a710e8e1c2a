"""Minutes without a byte: no layer below may give up, from openai's client down to the socket.

The sockets are real and the clock is not: it jumps while both ends wait.
"""

from __future__ import annotations

import gc
from typing import Any

import anyio
import pytest

from host.errors import EndpointSilent
from host.wire.clients import Endpoints
from host.wire.model import EndpointModel
from host.wire.settings import EndpointSettings, ModelParams
from host.wire.side_tasks import ask
from host.wire.streaming import stream_turn
from tests.fakes.endpoint import DONE, Pause, Reply, role, streamed, text, whole
from tests.fakes.loopback_endpoint import LoopbackEndpoint

SILENCE = 1200.0
"""Seconds; openai's own limit is 600, that of httpx2 five."""

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
SLOW = streamed(
    Pause(SILENCE), role(), Pause(SILENCE), text("x"), Pause(SILENCE), DONE, before_seconds=SILENCE
)


async def _answered(reply: Reply, **limits: Any) -> str:
    async with LoopbackEndpoint(reply) as endpoint, Endpoints() as endpoints:
        settings = EndpointSettings(base_url=endpoint.base_url, **limits)
        began = anyio.current_time()
        turn = await EndpointModel(endpoints, settings, ModelParams(model="m")).turn(
            BODY["messages"],  # type: ignore[arg-type]  # one message
            [],
        )
        assert anyio.current_time() - began >= 4 * SILENCE
    gc.collect()
    return turn.content


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"request_timeout_seconds": SILENCE + 60},
        {"request_timeout_seconds": SILENCE + 60, "first_token_seconds": 4 * SILENCE},
    ],
)
async def test_a_prompt_evaluated_for_minutes_is_no_dead_endpoint(limits: dict[str, Any]) -> None:
    assert await _answered(SLOW, **limits) == "x"


async def test_a_question_beside_the_run_is_waited_for_as_well() -> None:
    reply = whole("x")
    reply.before_seconds = SILENCE
    async with LoopbackEndpoint(reply) as endpoint, Endpoints() as endpoints:
        settings = EndpointSettings(base_url=endpoint.base_url)
        assert await ask(endpoints, settings, "m", "be brief", "why?") == "x"
    gc.collect()


async def test_a_limit_of_the_layers_below_would_be_seen_here() -> None:
    async with LoopbackEndpoint(SLOW) as endpoint, Endpoints() as endpoints:
        client = endpoints.client(EndpointSettings(base_url=endpoint.base_url))
        with pytest.raises(EndpointSilent, match="600 s"):
            await stream_turn(client.with_options(timeout=600), BODY)
    gc.collect()
