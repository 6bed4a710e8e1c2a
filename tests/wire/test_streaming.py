"""One streamed answer, read through the real openai client, on virtual time."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import anyio
import pytest

from host.errors import (
    ContextOverflow,
    EndpointRefused,
    EndpointSilent,
    EndpointUnavailable,
    StreamBroken,
    WireError,
)
from host.records import Turn
from host.wire.negotiation import Produced
from host.wire.streaming import stream_turn
from tests.fakes.endpoint import (
    DONE,
    KEY,
    Break,
    FakeEndpoint,
    Mute,
    Pause,
    Piece,
    Reply,
    Then,
    answer,
    as_json,
    delta,
    error_event,
    finish,
    lost,
    refused,
    role,
    streamed,
    text,
    tool_call,
    usage,
    wire_bytes,
)

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}


async def _turn(reply: Reply, **options: float | Produced | None) -> Turn:
    async with FakeEndpoint(reply).client() as client:
        return await stream_turn(client, BODY, **options)  # type: ignore[arg-type]  # options of one test each


async def test_a_whole_answer_is_a_turn() -> None:
    endpoint = FakeEndpoint(streamed(role(), text("Hel"), text("lo"), finish(), usage(9, 2), DONE))
    told: list[str] = []
    async with endpoint.client() as client:
        turn = await stream_turn(client, BODY, on_output=told.append)
    assert (turn.content, turn.finish_reason, turn.reasoning) == ("Hello", "stop", "")
    assert (turn.usage.prompt_tokens, turn.usage.completion_tokens) == (9, 2)
    assert told == ["Hel", "lo"]
    assert endpoint.bodies == [BODY]


async def test_the_key_is_sent_and_nothing_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-someone-else")
    endpoint = FakeEndpoint(answer("x"))
    async with endpoint.client() as client:
        await stream_turn(client, BODY)
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_reasoning_goes_to_its_own_listener_and_never_into_the_content() -> None:
    pieces = (delta(reasoning_content="hm "), delta(reasoning="so"), text("<think>then</think>Yes"))
    thoughts: list[str] = []
    output: list[str] = []
    async with FakeEndpoint(streamed(*pieces, finish(), DONE)).client() as client:
        turn = await stream_turn(client, BODY, on_thinking=thoughts.append, on_output=output.append)
    assert (turn.content, output) == ("Yes", ["Yes"])
    assert (turn.reasoning, "".join(thoughts)) == ("hm sothen", "hm sothen")


async def test_text_held_back_for_a_marker_is_given_out_at_the_end() -> None:
    output: list[str] = []
    async with FakeEndpoint(streamed(text("a <thi"), finish(), DONE)).client() as client:
        turn = await stream_turn(client, BODY, on_output=output.append)
    assert (turn.content, "".join(output)) == ("a <thi", "a <thi")


async def test_no_usage_ever_leaves_counts_at_zero_and_the_first_token_measured() -> None:
    turn = await _turn(streamed(Pause(2), text("x"), Pause(3), text("y"), finish(), DONE))
    assert (turn.usage.prompt_tokens, turn.usage.total_tokens) == (0, 0)
    assert turn.usage.cached_tokens is None
    assert turn.usage.first_token_seconds == pytest.approx(2, abs=0.5)


async def test_usage_is_the_latest_report_and_not_a_sum() -> None:
    turn = await _turn(streamed(text("x"), usage(10, 1), usage(10, 2), usage(10, 3), DONE))
    assert (turn.usage.prompt_tokens, turn.usage.completion_tokens) == (10, 3)


async def test_an_answer_that_was_not_streamed_is_read_all_the_same() -> None:
    message = {"role": "assistant", "content": "Hello"}
    whole = {"choices": [{"message": message, "finish_reason": "stop"}]}
    output: list[str] = []
    async with FakeEndpoint(as_json(whole)).client() as client:
        turn = await stream_turn(client, BODY, on_output=output.append)
    assert (turn.content, output) == ("Hello", ["Hello"])


async def test_a_lone_surrogate_in_a_transcript_can_be_sent() -> None:
    endpoint = FakeEndpoint(answer("x"))
    messages = [{"role": "user", "content": "broken \ud83d"}]
    async with endpoint.client() as client:
        await stream_turn(client, {**BODY, "messages": messages})
    assert endpoint.bodies[0]["messages"] == messages


# --- what counts as begun ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("piece", "has_begun"),
    [
        (role(), False),
        (delta(content=""), False),
        (delta(tool_calls=[]), False),
        (usage(3, 0), False),
        (": ping\n\n", False),
        (text("x"), True),
        (delta(reasoning_content="x"), True),
        (tool_call("f", ""), True),
    ],
)
async def test_only_a_chunk_that_carries_something_begins_an_answer(
    piece: Piece, has_begun: bool
) -> None:
    produced = Produced()
    with pytest.raises(StreamBroken):
        await _turn(streamed(piece, Break()), produced=produced)
    assert produced.any is has_begun


async def test_the_answer_has_begun_before_listeners_hear_of_it() -> None:
    produced = Produced()
    seen: list[bool] = []
    async with FakeEndpoint(streamed(text("x"), DONE)).client() as client:
        await stream_turn(
            client, BODY, produced=produced, on_output=lambda _: seen.append(produced.any)
        )
    assert seen == [True]


async def test_a_connection_refused_begins_nothing() -> None:
    produced = Produced()
    with pytest.raises(EndpointUnavailable):
        await _turn(lost(), produced=produced)
    assert not produced.any


# --- how streams end --------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [(finish(),), (usage(1, 1),), (DONE,), ("data: [DONE]",)])
async def test_any_word_of_the_end_makes_an_answer_whole(ending: tuple[Piece, ...]) -> None:
    assert (await _turn(streamed(text("x"), *ending))).content == "x"


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (role(),),
        (text("half"),),
        (tool_call("f", "{"),),
        (text("half"), Break()),
        (Break(),),
        (text("half"), 'data: {"choices": [{"delta": {"content": "no'),
        (text("half"), "data: no JSON\n\n", DONE),
    ],
)
async def test_a_stream_that_stops_before_its_end_is_broken(pieces: tuple[Piece, ...]) -> None:
    with pytest.raises(StreamBroken):
        await _turn(streamed(*pieces))


async def test_a_done_without_anything_else_is_an_empty_turn() -> None:
    turn = await _turn(streamed(DONE))
    assert (turn.content, turn.finish_reason) == ("", "")


async def test_what_follows_done_is_not_read() -> None:
    turn = await _turn(streamed(text("x"), DONE + "data: junk\n\n", text("y"), Break()))
    assert turn.content == "x"


async def test_a_server_that_stays_on_the_line_after_done_is_not_waited_for() -> None:
    with anyio.fail_after(5):
        assert (await _turn(streamed(text("x"), DONE, Mute()))).content == "x"


@pytest.mark.parametrize("count", [1, 3])
async def test_a_running_count_is_no_word_of_the_end(count: int) -> None:
    counted = [{**text("half"), "usage": {"prompt_tokens": 9, "completion_tokens": 1}}] * count
    with pytest.raises(StreamBroken):
        await _turn(streamed(*counted))
    turn = await _turn(streamed(*counted, DONE))
    assert (turn.content, turn.usage.prompt_tokens) == ("half" * count, 9)


async def test_silence_after_the_end_is_none_however_long_the_answer_took() -> None:
    pieces = (text("x"), Pause(29.95), DONE, Mute())
    assert (await _turn(streamed(*pieces), idle_seconds=30)).content == "x"


# --- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "kind", "status"),
    [
        (refused(400, "no such field"), EndpointRefused, 400),
        (refused(401, "Invalid API Key"), EndpointRefused, 401),
        (refused(404, "File Not Found"), EndpointRefused, 404),
        (refused(429, "slow down"), EndpointUnavailable, 429),
        (refused(503, "Loading model"), EndpointUnavailable, 503),
        (lost(), EndpointUnavailable, None),
        (streamed(role(), error_event("no", code=500)), EndpointUnavailable, 500),
        (streamed(role(), error_event("no", code="429")), EndpointUnavailable, 429),
        (streamed(role(), error_event("no", code="bad_tool")), EndpointRefused, None),
        (streamed({"error": "it said no"}), EndpointRefused, None),
        (streamed(role(), 'error: {"code":500,"message":"no"}\n\n'), EndpointUnavailable, 500),
        (streamed({"object": "error", "message": "no", "code": 400}), EndpointRefused, 400),
        (as_json({"error": {"message": "no", "code": 400}}), EndpointRefused, 400),
        (as_json([{"error": {"message": "no"}}], 400), EndpointRefused, 400),
    ],
)
async def test_every_failure_is_one_of_ours(
    reply: Reply, kind: type[WireError], status: int | None
) -> None:
    with pytest.raises(kind) as caught:
        await _turn(reply)
    assert getattr(caught.value, "status", "none at all") == status


async def test_a_code_inside_an_answer_is_not_called_an_http_status() -> None:
    with pytest.raises(EndpointUnavailable, match="failed with status 500") as caught:
        await _turn(streamed(role(), error_event("the model's own fault", code=500)))
    assert "HTTP 500" not in str(caught.value)
    assert "the model's own fault" in str(caught.value)


async def test_a_web_page_means_a_wrong_address() -> None:
    page = Reply(pieces=("<!doctype html><html></html>",), headers={"content-type": "text/html"})
    with pytest.raises(EndpointRefused, match="base URL"):
        await _turn(page)


async def test_an_overflow_is_one_before_and_in_the_stream() -> None:
    said = "request (9030 tokens) exceeds the available context size (4096 tokens)"
    for reply in (
        refused(400, said, n_prompt_tokens=9030, n_ctx=4096),
        streamed(error_event(said, code=400, n_prompt_tokens=9030, n_ctx=4096)),
    ):
        with pytest.raises(ContextOverflow, match="9030") as caught:
            await _turn(reply)
        assert (caught.value.needed_tokens, caught.value.limit_tokens) == (9030, 4096)


@pytest.mark.parametrize(
    "reply",
    [
        refused(401, f"Incorrect API key provided: {KEY}"),
        refused(500, f"{KEY} is over its budget"),
        streamed(error_event(f"no credit for {KEY}")),
        streamed(f"data: {KEY}\n\n"),
        streamed(Break(f"closed for {KEY}")),
    ],
)
async def test_the_key_stands_in_no_error_and_in_no_traceback(reply: Reply) -> None:
    with pytest.raises(WireError) as caught:
        await _turn(reply)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert KEY not in repr(vars(caught.value))


async def test_an_exception_of_a_listener_passes_and_closes_the_stream() -> None:
    closed = anyio.Event()
    reply = streamed(text("x"), Mute())
    reply.closed = closed

    def fail(_: str) -> None:
        raise LookupError("the listener's own")

    async with FakeEndpoint(reply).client() as client:
        with pytest.raises(LookupError):
            await stream_turn(client, BODY, on_output=fail)
    assert closed.is_set()


# --- silence ----------------------------------------------------------------------------------


async def test_steady_chunks_outlast_any_deadline() -> None:
    pieces = (text("a"), Pause(20), text("b"), Pause(20), text("c"), Pause(20), DONE)
    assert (await _turn(streamed(*pieces), idle_seconds=30)).content == "abc"


async def test_silence_after_half_an_answer_is_reported_with_its_seconds() -> None:
    with pytest.raises(EndpointSilent, match="30 s") as caught:
        await _turn(streamed(text("a"), Mute()), idle_seconds=30)
    assert (caught.value.seconds, caught.value.before_first) == (30, False)


@pytest.mark.parametrize("reply", [streamed(Mute()), streamed(before_seconds=10**6)])
async def test_silence_from_the_start_ends_at_the_first_allowance_and_says_so(
    reply: Reply,
) -> None:
    began = anyio.current_time()
    with pytest.raises(EndpointSilent, match="150 s before the first token") as caught:
        await _turn(reply, idle_seconds=30, first_chunk_seconds=150)
    assert caught.value.before_first
    assert anyio.current_time() - began == pytest.approx(150, abs=1)


async def test_the_first_allowance_lasts_until_something_is_carried() -> None:
    pieces = (role(), Pause(100), text("x"), Mute())
    began = anyio.current_time()
    with pytest.raises(EndpointSilent) as caught:
        await _turn(streamed(*pieces), idle_seconds=30, first_chunk_seconds=150)
    assert not caught.value.before_first
    assert anyio.current_time() - began == pytest.approx(130, abs=1)


@pytest.mark.parametrize("first", [None, 0, -1])
async def test_without_a_first_allowance_the_idle_one_counts(first: float | None) -> None:
    with pytest.raises(EndpointSilent, match="30 s"):
        await _turn(streamed(role(), Mute()), idle_seconds=30, first_chunk_seconds=first)


@pytest.mark.parametrize("idle", [0, None, -5])
async def test_without_an_allowance_silence_lasts_as_long_as_it_likes(idle: float | None) -> None:
    pieces = (Pause(700), text("a"), Pause(700), DONE)
    assert (await _turn(streamed(*pieces), idle_seconds=idle)).content == "a"


async def test_only_the_first_token_may_be_limited() -> None:
    pieces = (text("a"), Pause(700), DONE)
    assert (await _turn(streamed(*pieces), first_chunk_seconds=30)).content == "a"
    with pytest.raises(EndpointSilent):
        await _turn(streamed(Mute()), first_chunk_seconds=30)


async def test_a_comment_is_a_sign_of_life() -> None:
    pieces = (Pause(20), ": waiting\n\n", Pause(20), text("a"), DONE)
    assert (await _turn(streamed(*pieces), idle_seconds=30)).content == "a"


async def test_the_sdk_limits_nothing_while_silence_is_watched() -> None:
    endpoint = FakeEndpoint(answer("x"), answer("x"))
    async with endpoint.client().with_options(timeout=7) as client:
        await stream_turn(client, BODY, idle_seconds=30)
        await stream_turn(client, BODY)
    limits = [request.extensions["timeout"]["read"] for request in endpoint.requests]
    assert limits == [None, 7]


# --- stopping ---------------------------------------------------------------------------------


async def test_a_stop_closes_the_stream_and_is_no_failure() -> None:
    reply = streamed(text("a"), Mute())
    reply.closed = anyio.Event()
    with anyio.move_on_after(5) as scope:
        await _turn(reply, idle_seconds=30)
    assert scope.cancelled_caught
    assert reply.closed.is_set()


async def test_a_stop_wins_over_silence_that_runs_out_at_the_same_time() -> None:
    with anyio.CancelScope() as scope:
        scope.deadline = anyio.current_time() + 30
        await _turn(streamed(Mute()), idle_seconds=30)
    assert scope.cancelled_caught


async def test_a_stop_wins_over_an_answer_that_ends_at_once() -> None:
    with anyio.CancelScope() as scope:
        await _turn(streamed(text("a"), Then(scope.cancel), finish(), DONE))
        raise AssertionError("a stopped answer is no turn")
    assert scope.cancelled_caught


async def test_a_listener_may_stop_the_run_even_at_its_last_word() -> None:
    def stopping(scope: anyio.CancelScope) -> Callable[[str], None]:
        return lambda _: scope.cancel()

    whole_answer = wire_bytes(text("a")) + DONE.encode()
    async with FakeEndpoint(streamed(whole_answer)).client() as client:
        with anyio.CancelScope() as scope:
            await stream_turn(client, BODY, on_output=stopping(scope))
            raise AssertionError("a stopped answer is no turn")
    assert scope.cancelled_caught
