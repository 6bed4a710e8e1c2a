"""Where an answer ends, and how long it is waited for, through the real openai client.

A finish reason makes an answer whole. What its connection does afterwards takes nothing away.
"""

from __future__ import annotations

import gc
import math
from typing import Any

import anyio
import pytest

from host.errors import EndpointSilent, EndpointUnavailable, StreamBroken, WireError
from host.records import Turn
from host.wire.clients import Endpoints
from host.wire.settings import EndpointSettings
from host.wire.streaming import stream_turn
from tests.fakes.endpoint import (
    DONE,
    KEY,
    Break,
    FakeEndpoint,
    Mute,
    Pause,
    Piece,
    as_json,
    delta,
    error_event,
    finish,
    role,
    streamed,
    text,
    tool_call,
    usage,
)
from tests.fakes.loopback_endpoint import LoopbackEndpoint

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
PING = ": waiting\n\n"
WAITED = 0.5
"""Seconds by which a jumping clock may be off."""


async def _turn(*pieces: Piece, **options: Any) -> Turn:
    async with FakeEndpoint(streamed(*pieces)).client() as client:
        return await stream_turn(client, BODY, **options)


async def _seconds(*pieces: Piece, **options: Any) -> float:
    began = anyio.current_time()
    assert (await _turn(*pieces, **options)).content == "whole"
    return anyio.current_time() - began


# --- the connection after the end -------------------------------------------------------------


@pytest.mark.parametrize("end", [(), (Break(),), (Mute(),), ("data: half", Break()), ("\n", DONE)])
async def test_a_finish_reason_is_the_end_however_the_connection_ends(
    end: tuple[Piece, ...],
) -> None:
    turn = await _turn(role(), text("whole"), finish(), usage(10, 4), *end)
    assert (turn.content, turn.finish_reason) == ("whole", "stop")
    assert (turn.usage.prompt_tokens, turn.usage.completion_tokens) == (10, 4)


@pytest.mark.parametrize("end", [(Break(),), (Mute(),)])
async def test_calls_are_what_they_are_when_the_finish_reason_has_come(
    end: tuple[Piece, ...],
) -> None:
    turn = await _turn(tool_call("f", '{"a": 1'), finish("tool_calls"), *end)
    assert [call["function"]["arguments"] for call in turn.tool_calls] == ['{"a": 1']


async def test_text_held_back_is_heard_when_the_connection_is_lost_after_the_end() -> None:
    heard: list[str] = []
    turn = await _turn(text("a <thi"), finish(), Break(), on_output=heard.append)
    assert turn.content == "".join(heard) == "a <thi"


async def test_a_finish_reason_whose_blank_line_was_lost_is_one() -> None:
    event = 'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}'
    assert (await _turn(text("whole"), event, Break())).content == "whole"


async def test_a_whole_body_whose_connection_is_lost_is_an_answer() -> None:
    message = {"role": "assistant", "content": "whole"}
    reply = as_json({"choices": [{"message": message, "finish_reason": "stop"}]})
    reply.pieces = (*reply.pieces, Break())
    async with FakeEndpoint(reply).client() as client:
        assert (await stream_turn(client, BODY)).content == "whole"


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        ((text("half"), Break()), StreamBroken),
        ((text("half"), usage(10, 4), Break()), StreamBroken),
        ((text("half"), Mute()), EndpointSilent),
        ((text("half"), usage(10, 4), Mute()), EndpointSilent),
        ((text("half"), error_event("no", code=503)), EndpointUnavailable),
        ((text("whole"), finish(), error_event("no", code=503)), EndpointUnavailable),
    ],
)
async def test_without_a_finish_reason_nothing_is_whole_and_an_error_counts_even_after_it(
    pieces: tuple[Piece, ...], kind: type[WireError]
) -> None:
    with pytest.raises(kind):
        await _turn(*pieces, idle_seconds=30)


async def test_an_error_in_the_last_words_of_a_lost_connection_tells_no_secret() -> None:
    with pytest.raises(EndpointUnavailable) as caught:
        await _turn(text("x"), 'data: {"error": {"code": 503}}', Break(f"closed for {KEY}"))
    assert caught.value.__context__ is None


async def test_what_cannot_be_read_after_the_end_is_no_loss() -> None:
    assert (await _turn(text("whole"), finish(), "data: junk\n\n")).content == "whole"
    with pytest.raises(StreamBroken, match="not JSON"):
        await _turn(text("half"), "data: junk\n\ndata: [DONE]", Break())


async def test_a_report_before_the_last_text_is_no_word_of_the_end() -> None:
    with pytest.raises(StreamBroken):
        await _turn(usage(10, 0), role(), text("half"))
    assert (await _turn(usage(10, 0), text("whole"), usage(10, 4))).content == "whole"


# --- the wait after the end -------------------------------------------------------------------


@pytest.mark.parametrize(("idle", "waited"), [(None, 5), (0, 5), (30, 5), (math.inf, 5), (2, 2)])
async def test_a_report_is_waited_for_briefly(idle: float | None, waited: float) -> None:
    pieces = (text("whole"), finish(), Mute())
    assert await _seconds(*pieces, idle_seconds=idle) == pytest.approx(waited, abs=WAITED)


async def test_a_report_within_that_time_is_part_of_the_turn() -> None:
    turn = await _turn(text("whole"), finish(), Pause(4), usage(10, 4), Mute(), idle_seconds=30)
    assert turn.usage.completion_tokens == 4


async def test_neither_pings_nor_reports_make_the_wait_longer() -> None:
    endless = (PING, Pause(1), usage(1, 1), Pause(1)) * 3
    seconds = await _seconds(text("whole"), finish(), *endless, idle_seconds=30)
    assert seconds == pytest.approx(5, abs=WAITED)


async def test_a_stop_during_the_wait_is_a_stop() -> None:
    with anyio.move_on_after(2) as scope:
        await _turn(text("whole"), finish(), Mute())
    assert scope.cancelled_caught


async def test_a_finish_reason_beside_each_text_is_waited_out_like_any_silence() -> None:
    """Gateways to Gemini send one with every chunk (new-api #378, gcli2api #403)."""
    chunks = [delta("stop", content=word) for word in ("wh", "ol", "e")]
    slow = [piece for chunk in chunks for piece in (chunk, Pause(20))]
    assert await _seconds(*slow, DONE, idle_seconds=30) == pytest.approx(60, abs=WAITED)
    for end, kind in ((Break(), StreamBroken), (Mute(), EndpointSilent)):
        with pytest.raises(kind):
            await _turn(*chunks, end, idle_seconds=30)


@pytest.mark.parametrize(("idle", "waited"), [(30, 30), (None, 60)])
async def test_one_finish_reason_beside_the_last_text_is_believed_later(
    idle: float | None, waited: float
) -> None:
    pieces = (text("wh"), delta("stop", content="ole"))
    lasted = await _seconds(*pieces, Mute(), idle_seconds=idle)
    assert lasted == pytest.approx(waited, abs=WAITED)
    reported = await _seconds(*pieces, usage(10, 4), Mute(), idle_seconds=idle)
    assert reported == pytest.approx(5, abs=WAITED)
    assert (await _turn(*pieces, Break())).content == "whole"


# --- an error as the finish reason --------------------------------------------------------------


@pytest.mark.parametrize("end", [(), (DONE,), (usage(1, 0), DONE), (Break(),)])
@pytest.mark.parametrize("begun", [(), (text("half"),)])
async def test_an_error_as_the_finish_reason_is_a_broken_stream(
    begun: tuple[Piece, ...], end: tuple[Piece, ...]
) -> None:
    with pytest.raises(StreamBroken):
        await _turn(*begun, delta("error", content=""), *end)


async def test_an_error_that_follows_its_finish_reason_is_raised_with_its_words() -> None:
    with pytest.raises(EndpointUnavailable, match="upstream exploded"):
        await _turn(text("x"), finish("error"), error_event("upstream exploded", code=502), DONE)


# --- signs of life without an answer ------------------------------------------------------------


@pytest.mark.parametrize(
    ("begun", "sign", "allowance"),
    [
        ((), PING, 60),
        ((role(),), PING, 60),
        ((text("half"),), PING, 30),
        ((text("half"),), 'data: {"type": "ping"}\n\n', 30),
        ((text("half"),), "data:\n\n", 30),
    ],
)
async def test_pings_alone_keep_a_request_alive_for_ten_allowances(
    begun: tuple[Piece, ...], sign: str, allowance: float
) -> None:
    began = anyio.current_time()
    pings = (sign, Pause(0.9 * allowance)) * 12
    with pytest.raises(EndpointSilent) as caught:
        await _turn(*begun, *pings, text("x"), DONE, idle_seconds=30, first_chunk_seconds=60)
    assert (caught.value.seconds, caught.value.before_first) == (10 * allowance, allowance == 60)
    assert anyio.current_time() - began == pytest.approx(10 * allowance, abs=WAITED)


async def test_each_chunk_begins_the_ten_allowances_anew() -> None:
    pings = (PING, Pause(29)) * 7
    assert (await _turn(*pings, text("wh"), *pings, text("ole"), DONE, idle_seconds=30)).content


async def test_without_an_allowance_pings_last_as_long_as_they_like() -> None:
    assert (await _turn(*(PING, Pause(900)) * 5, text("whole"), DONE)).content == "whole"


async def test_a_chunk_that_comes_in_drops_is_more_than_pings() -> None:
    drops = [piece for drop in ("data", ': {"cho', *"icesxyzxyz") for piece in (drop, Pause(29))]
    pieces = (*drops, "\n\n", text("x"), DONE)
    with pytest.raises(StreamBroken, match="not JSON"):
        await _turn(*pieces, idle_seconds=30)


# --- over sockets -------------------------------------------------------------------------------


class TestOverSockets:
    @pytest.fixture
    def anyio_backend(self, real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
        return real_time

    @pytest.mark.parametrize(
        ("end", "options"),
        [
            (Break(), {}),
            (Mute(), {"idle_seconds": 0.3}),
            (Mute(), {"sdk_timeout": 0.3}),
        ],
    )
    async def test_a_body_without_its_last_chunk_is_an_answer_after_its_finish_reason(
        self, end: Piece, options: dict[str, float]
    ) -> None:
        script = streamed(role(), text("whole"), finish(), usage(10, 4), end)
        limit = options.get("sdk_timeout")
        idle = options.get("idle_seconds")
        with anyio.fail_after(20):
            async with LoopbackEndpoint(script) as endpoint, Endpoints() as endpoints:
                client = endpoints.client(EndpointSettings(base_url=endpoint.base_url))
                client = client.with_options(timeout=limit) if limit else client
                with anyio.fail_after(4):
                    turn = await stream_turn(client, BODY, idle_seconds=idle)
                assert (turn.content, turn.usage.completion_tokens) == ("whole", 4)
                if isinstance(end, Mute):
                    with anyio.fail_after(2):
                        await endpoint.hung_up.wait()
        gc.collect()
