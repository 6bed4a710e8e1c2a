"""One turn with its downgrades, retries and guards, through the real openai client."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import anyio
import openai
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
from host.wire.calibration import Calibration
from host.wire.capabilities import Capabilities, ModelCapabilities
from host.wire.endpoint import RequestBuilder, random_jitter, run_turn
from host.wire.request_body import build_body
from host.wire.settings import ModelParams
from tests.fakes.endpoint import (
    DONE,
    Break,
    FakeEndpoint,
    Mute,
    Pause,
    Piece,
    Reply,
    Then,
    answer,
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
)

GRAMMAR = "Failed to initialize samplers: failed to parse grammar"
UNREADABLE = "The model produced output that does not match the expected peg-native format"


def _request(prompt: str = "hi", **params: Any) -> RequestBuilder:
    asked = ModelParams(**{"model": "m", **params})

    def build(known: Capabilities, model: ModelCapabilities | None) -> Mapping[str, Any]:
        return build_body(asked, known, model, [{"role": "user", "content": prompt}])

    return build


class _Run:
    """A scripted endpoint and everything a turn over it left behind."""

    def __init__(self, *script: Reply) -> None:
        self.endpoint = FakeEndpoint(*script)
        self.capabilities = Capabilities()
        self.notices: list[str] = []

    async def turn(self, request: RequestBuilder | None = None, **options: Any) -> Turn:
        async with self.endpoint.client() as client:
            return await run_turn(
                client,
                self.capabilities,
                request or _request(),
                on_notice=self.notices.append,
                jitter=lambda: 1.0,
                **{"model": "m", **options},
            )


async def test_a_clean_turn_takes_one_send_and_no_notice() -> None:
    run = _Run(answer("Hello"))
    turn = await run.turn()
    assert turn.content == "Hello"
    assert (run.endpoint.sends, run.notices) == (1, [])
    assert (turn.usage.retries, turn.usage.timeouts) == (0, 0)


# --- retries ----------------------------------------------------------------------------------


async def test_nobody_has_to_listen_to_notices() -> None:
    endpoint = FakeEndpoint(lost(), answer("x"))
    async with endpoint.client() as client:
        turn = await run_turn(client, Capabilities(), _request(), max_retries=1)
    assert turn.content == "x"


async def test_two_retries_are_three_sends_with_their_progress() -> None:
    run = _Run(*[refused(503, "overloaded")] * 3)
    with pytest.raises(EndpointUnavailable, match="overloaded") as caught:
        await run.turn(max_retries=2)
    assert run.endpoint.sends == caught.value.attempts == 3
    assert [re.search(r"overloaded.*\((\d/\d)\)$", line)[1] for line in run.notices] == [  # type: ignore[index]  # a None fails the test
        "1/2",
        "2/2",
    ]
    first, second, third = run.endpoint.sent_at
    assert second - first == pytest.approx(0.5, abs=0.3)
    assert third - second == pytest.approx(1, abs=0.3)


async def test_the_cause_of_the_last_failure_is_kept() -> None:
    run = _Run(*[refused(503, "overloaded")] * 2)
    with pytest.raises(EndpointUnavailable) as caught:
        await run.turn(max_retries=1)
    assert isinstance(caught.value.__cause__, openai.APIStatusError)


@pytest.mark.parametrize(
    "failure",
    [lost(), refused(500, "oops"), streamed(role(), Break()), streamed(), streamed(role())],
)
async def test_what_may_pass_is_tried_again_and_counted(failure: Reply) -> None:
    run = _Run(failure, answer("x"))
    turn = await run.turn(max_retries=1)
    assert (turn.content, run.endpoint.sends, turn.usage.retries) == ("x", 2, 1)
    assert turn.usage.timeouts == 0


async def test_silence_is_tried_again_and_counted_apart() -> None:
    run = _Run(streamed(Mute()), answer("x"))
    turn = await run.turn(max_retries=1, idle_seconds=30)
    assert (turn.usage.retries, turn.usage.timeouts) == (1, 1)
    assert turn.usage.wall_seconds == pytest.approx(30.5, abs=1)


@pytest.mark.parametrize(
    "failure",
    [
        refused(400, "unknown model"),
        refused(401, "Invalid API Key"),
        refused(404, "File Not Found"),
        streamed(role(), error_event("no", code="bad")),
    ],
)
async def test_what_will_not_pass_is_raised_after_one_send(failure: Reply) -> None:
    run = _Run(failure)
    with pytest.raises(EndpointRefused):
        await run.turn(max_retries=2)
    assert (run.endpoint.sends, run.notices) == (1, [])


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (streamed(text("half"), Break()), StreamBroken),
        (streamed(text("half")), StreamBroken),
        (streamed(text("half"), Mute()), EndpointSilent),
        (streamed(text("half"), error_event("no", code=503)), EndpointUnavailable),
        (streamed(text("half"), error_event(GRAMMAR, code=400)), EndpointRefused),
    ],
)
async def test_an_answer_that_had_begun_is_never_asked_for_again(
    failure: Reply, kind: type[WireError]
) -> None:
    run = _Run(failure)
    with pytest.raises(kind):
        await run.turn(max_retries=2, idle_seconds=30)
    assert (run.endpoint.sends, run.notices) == (1, [])
    assert run.capabilities.strict_schemas


@pytest.mark.parametrize(("asked", "waited"), [("7", 7), ("3600", 60), ("0", 0.5)])
async def test_the_wait_an_endpoint_asks_for_is_granted_up_to_a_minute(
    asked: str, waited: float
) -> None:
    run = _Run(refused(429, "slow down", headers={"retry-after": asked}), answer("x"))
    await run.turn(max_retries=1)
    first, second = run.endpoint.sent_at
    assert second - first == pytest.approx(waited, abs=0.4)


async def test_a_rate_limit_that_speaks_of_tokens_is_tried_again() -> None:
    run = _Run(refused(429, "Request too large for m on tokens per min (TPM)"), answer("x"))
    assert (await run.turn(max_retries=1)).content == "x"


def test_the_drawn_jitter_is_a_factor_from_a_half_to_one() -> None:
    assert all(0.5 <= random_jitter() <= 1 for _ in range(100))


# --- downgrades -------------------------------------------------------------------------------


async def test_a_downgrade_spends_no_attempt_and_stays() -> None:
    run = _Run(refused(400, "Unrecognized request argument supplied: top_k"), lost(), answer("x"))
    request = _request(extra_body={"top_k": 3})
    turn = await run.turn(request, max_retries=1, droppable=("top_k",))
    assert (turn.content, run.endpoint.sends, turn.usage.retries) == ("x", 3, 1)
    assert ["top_k" in body for body in run.endpoint.bodies] == [True, False, False]


async def test_a_refusal_inside_the_stream_is_answered_like_one_before_it() -> None:
    run = _Run(streamed(role(), error_event(GRAMMAR)), answer("x"))
    assert (await run.turn()).content == "x"
    assert not run.capabilities.strict_schemas


# --- a loading model --------------------------------------------------------------------------


async def test_a_loading_model_is_waited_for_without_spending_attempts() -> None:
    loading = refused(503, "Loading model", type="unavailable_error", code=503)
    run = _Run(*[loading] * 20, answer("x"))
    turn = await run.turn()
    assert (turn.content, run.endpoint.sends, len(run.notices)) == ("x", 21, 1)
    assert "120 s" in run.notices[0]
    assert turn.usage.retries == 0


async def test_a_model_that_never_loads_is_given_up_at_the_limit() -> None:
    run = _Run(*[refused(503, "Loading model")] * 4)
    with pytest.raises(EndpointUnavailable) as caught:
        await run.turn(loading_timeout_seconds=7)
    assert caught.value.status == 503
    began = run.endpoint.sent_at[0]
    assert [round(at - began) for at in run.endpoint.sent_at] == [0, 3, 6, 9]


async def test_a_plain_503_is_not_taken_for_loading() -> None:
    run = _Run(refused(503, "down for maintenance"))
    with pytest.raises(EndpointUnavailable):
        await run.turn()
    assert run.endpoint.sends == 1


# --- an answer its server cannot read ---------------------------------------------------------


@pytest.mark.parametrize(
    "failure",
    [
        refused(500, UNREADABLE, type="server_error", code=500),
        streamed(role(), error_event(UNREADABLE, type="server_error", code=500)),
    ],
)
@pytest.mark.parametrize("max_retries", [0, 2])
async def test_an_unreadable_answer_is_drawn_once_more_and_never_the_same_way(
    failure: Reply, max_retries: int
) -> None:
    run = _Run(failure, failure)
    with pytest.raises(EndpointUnavailable):
        await run.turn(_request(temperature=0, extra_body={"seed": 4}), max_retries=max_retries)
    sampling = [(body["temperature"], body["seed"]) for body in run.endpoint.bodies]
    assert sampling == [(0, 4), (0.8, 5)]
    assert len(run.notices) == 1


async def test_another_draw_keeps_what_the_model_insists_on() -> None:
    run = _Run(refused(500, UNREADABLE), answer("x"))
    run.capabilities.for_model("m").chosen_temperature = False
    turn = await run.turn(_request(temperature=0.1))
    assert ["temperature" in body for body in run.endpoint.bodies] == [False, False]
    assert turn.usage.retries == 1


async def test_another_draw_stays_another_draw_over_a_lost_connection() -> None:
    run = _Run(refused(500, UNREADABLE), lost(), answer("x"))
    await run.turn(_request(temperature=1.2), max_retries=1)
    assert [body["temperature"] for body in run.endpoint.bodies] == [1.2, 1.2, 1.2]
    run = _Run(refused(500, UNREADABLE), lost(), answer("x"))
    await run.turn(_request(), max_retries=1)
    assert [body.get("temperature") for body in run.endpoint.bodies] == [None, 0.8, 0.8]


LOAD_TOOLS = {"type": "function", "function": {"name": "load_tools", "parameters": {}}}
CALL = '{"name": "clock__now", "arguments": {"tz": "Asia/Tokyo"}}'


def _with_tools(**params: Any) -> RequestBuilder:
    request = _request(temperature=0, extra_body={"seed": 4}, **params)
    return lambda known, model: {**request(known, model), "tools": [LOAD_TOOLS]}


def _unreadable(*pieces: Piece) -> Reply:
    return streamed(role(), *pieces, error_event(UNREADABLE, type="server_error", code=500))


def _asked(run: _Run) -> list[tuple[Any, Any, Any]]:
    return [
        (body.get("tool_choice"), body["temperature"], body["seed"]) for body in run.endpoint.bodies
    ]


@pytest.mark.parametrize("failure", [refused(500, UNREADABLE), _unreadable()])
async def test_a_call_its_server_cannot_read_comes_as_text_from_the_same_draw(
    failure: Reply,
) -> None:
    run = _Run(failure, answer(CALL))
    turn = await run.turn(_with_tools())
    assert (turn.content, turn.usage.retries) == (CALL, 1)
    assert _asked(run) == [(None, 0, 4), ("none", 0, 4)]
    assert run.notices == [
        "m wrote what its server cannot read; asking once more for text without calls"
    ]


async def test_a_call_of_a_tool_that_was_not_offered_is_no_reason_to_doubt_those_that_were() -> (
    None
):
    said = "tool call validation failed: attempted to call tool 'x' which was not in request.tools"
    run = _Run(refused(400, said), answer(CALL))
    assert (await run.turn(_with_tools())).content == CALL
    assert _asked(run) == [(None, 0, 4), ("none", 0, 4)]


@pytest.mark.parametrize("second", [refused(500, UNREADABLE), refused(400, "Invalid tool_choice")])
async def test_where_forbidding_calls_does_not_help_another_draw_is_the_last_way(
    second: Reply,
) -> None:
    run = _Run(refused(500, UNREADABLE), second, refused(500, UNREADABLE))
    with pytest.raises(EndpointUnavailable, match="peg-native"):
        await run.turn(_with_tools(), max_retries=3)
    assert _asked(run) == [(None, 0, 4), ("none", 0, 4), (None, 0.8, 5)]
    assert len(run.notices) == 2


async def test_the_rest_of_an_answer_that_became_unreadable_follows_what_was_heard() -> None:
    run, heard = (
        _Run(_unreadable(text("int main() "), text("")), answer("{ return 0; }")),
        list[str](),
    )
    turn = await run.turn(_with_tools(), on_output=heard.append)
    assert turn.content == "".join(heard) == "int main() { return 0; }"
    assert (turn.finish_reason, turn.usage.retries) == ("stop", 1)
    going_on = run.endpoint.bodies[1]
    assert going_on["messages"][-1] == {"role": "assistant", "content": "int main() "}
    assert going_on["tool_choice"] == "none"
    assert len(run.notices) == 1


async def test_the_first_token_of_an_answer_gone_on_with_is_the_one_first_heard() -> None:
    run = _Run(
        lost(),
        _unreadable(Pause(2), text("int main() "), Pause(5)),
        streamed(Pause(20), text("{ return 0; }"), finish(), DONE),
    )
    turn = await run.turn(_with_tools(), max_retries=1)
    assert turn.usage.first_token_seconds == pytest.approx(2, abs=0.3)
    assert turn.usage.wall_seconds == pytest.approx(27.5, abs=1)


async def test_what_follows_an_unreadable_answer_is_no_thinking_although_the_answer_began_so() -> (
    None
):
    run = _Run(_unreadable(text("hm</think>int main() ")), answer("{ return 0; }"))
    turn = await run.turn(_with_tools(), start_in_reasoning=True)
    assert (turn.reasoning, turn.content) == ("hm", "int main() { return 0; }")


async def test_nothing_is_heard_twice_from_a_server_that_repeats_what_it_was_given() -> None:
    begun, whole = "Here is the whole program: ", "Here is the whole program: { return 0; }"
    run, heard = _Run(_unreadable(text(begun)), answer(whole)), list[str]()
    assert (await run.turn(_with_tools(), on_output=heard.append)).content == whole
    assert "".join(heard) == whole


async def test_a_rest_that_only_looked_like_a_repetition_is_heard_at_the_end() -> None:
    run, heard = (
        _Run(_unreadable(text("Here is the whole program: ")), answer("Here is")),
        list[str](),
    )
    turn = await run.turn(_with_tools(), on_output=heard.append)
    assert turn.content == "".join(heard) == "Here is the whole program: Here is"


@pytest.mark.parametrize(
    "second",
    [refused(400, "Assistant prefill is not supported"), lost(), _unreadable(text("more"))],
)
async def test_when_going_on_fails_too_the_first_failure_is_raised(second: Reply) -> None:
    run = _Run(_unreadable(text("half")), second)
    with pytest.raises(EndpointUnavailable, match="peg-native"):
        await run.turn(_with_tools(), max_retries=3)
    assert run.endpoint.sends == 2


@pytest.mark.parametrize(
    "failure",
    [
        streamed(role(), delta(reasoning_content="hm"), error_event(UNREADABLE, code=500)),
        streamed(text("half"), error_event("out of memory", code=500)),
    ],
)
async def test_an_answer_that_cannot_be_gone_on_with_is_raised_after_one_send(
    failure: Reply,
) -> None:
    run = _Run(failure)
    with pytest.raises(EndpointUnavailable):
        await run.turn(_with_tools(), max_retries=3)
    assert (run.endpoint.sends, run.notices) == (1, [])


async def test_a_model_that_takes_no_prefill_is_not_asked_to_go_on() -> None:
    run = _Run(_unreadable(text("half")))
    run.capabilities.for_model("m").assistant_prefill = False
    with pytest.raises(EndpointUnavailable):
        await run.turn(_with_tools())
    assert run.endpoint.sends == 1


async def test_a_half_streamed_call_nobody_heard_of_is_asked_for_as_text() -> None:
    run = _Run(_unreadable(tool_call("load_tools", '{"na')), answer(CALL))
    turn = await run.turn(_with_tools())
    assert (turn.content, turn.tool_calls) == (CALL, ())
    assert _asked(run)[1] == ("none", 0, 4)


# --- the window -------------------------------------------------------------------------------

LONG = "x" * 12_000  # about 3,000 tokens


@pytest.mark.parametrize("spelling", ["max_tokens", "max_completion_tokens"])
async def test_a_request_that_cannot_fit_is_not_sent(spelling: str) -> None:
    run = _Run()
    run.capabilities.for_model("m").legacy_token_limit = spelling == "max_tokens"
    with pytest.raises(ContextOverflow, match=r"3\.0k.*5\.5k.*8\.2k") as caught:
        await run.turn(_request(LONG, max_tokens=5500), context_limit=8192, max_retries=2)
    assert (run.endpoint.sends, run.notices) == (0, [])
    assert (caught.value.reserved_tokens, caught.value.limit_tokens) == (5500, 8192)


async def test_a_request_that_fits_exactly_is_sent() -> None:
    def build(_: Capabilities, __: ModelCapabilities | None) -> Mapping[str, Any]:
        content = "x" * (4 * 6000 - 29)  # a user message costs 29 characters beside its text
        return {"messages": [{"role": "user", "content": content}], "max_tokens": 2192}

    run = _Run(answer("x"))
    assert (await run.turn(build, context_limit=8192)).content == "x"


async def test_only_the_first_body_is_sized() -> None:
    bodies = iter(["x", LONG])

    def build(_: Capabilities, __: ModelCapabilities | None) -> Mapping[str, Any]:
        return {"messages": [{"role": "user", "content": next(bodies)}], "max_tokens": 7000}

    run = _Run(lost(), answer("x"))
    assert (await run.turn(build, context_limit=8192, max_retries=1)).content == "x"


@pytest.mark.parametrize("limit", [0, 64, 8191])
async def test_a_window_nobody_has_is_not_enforced(limit: int) -> None:
    run = _Run(answer("x"))
    assert (await run.turn(_request(LONG, max_tokens=99_999), context_limit=limit)).content == "x"


async def test_an_endpoint_that_says_overflow_is_believed_at_once() -> None:
    said = "This model's maximum context length is 8192 tokens, you asked for 9731"
    run = _Run(refused(400, said))
    with pytest.raises(ContextOverflow, match="9731") as caught:
        await run.turn(max_retries=2)
    assert isinstance(caught.value.__cause__, openai.BadRequestError)
    assert run.endpoint.sends == 1


# --- readings ---------------------------------------------------------------------------------


async def test_an_answered_turn_is_measured_and_the_next_one_sized_by_it() -> None:
    calibration = Calibration()
    run = _Run(streamed(text("x"), finish(), usage(6000, 1), DONE))
    await run.turn(_request(LONG), calibration=calibration)
    assert calibration.chars_per_token("m") == pytest.approx(2, abs=0.01)
    with pytest.raises(ContextOverflow) as caught:
        await run.turn(_request(LONG, max_tokens=3000), calibration=calibration, context_limit=8192)
    assert caught.value.needed_tokens == pytest.approx(6000, abs=20)


# --- stopping ---------------------------------------------------------------------------------


async def test_a_stop_during_a_backoff_ends_it() -> None:
    run = _Run(lost())
    with anyio.move_on_after(0.2) as scope:
        await run.turn(max_retries=5)
    assert scope.cancelled_caught
    assert run.endpoint.sends == 1


async def test_a_stop_that_lands_on_a_failure_is_a_stop_without_a_notice() -> None:
    with anyio.CancelScope() as scope:
        run = _Run(streamed(Then(scope.cancel), Break()))
        await run.turn(max_retries=5)
    assert scope.cancelled_caught
    assert (run.endpoint.sends, run.notices) == (1, [])


async def test_a_stop_while_going_on_is_a_stop_although_that_failed_as_well() -> None:
    with anyio.CancelScope() as scope:
        run = _Run(_unreadable(text("half")), streamed(Then(scope.cancel), Break()))
        await run.turn(_with_tools())
    assert scope.cancelled_caught
