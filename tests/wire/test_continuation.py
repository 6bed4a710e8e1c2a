"""Cut answers gone on with, through the real openai client, on virtual time."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from host.records import Turn, TurnUsage
from host.wire.capabilities import Capabilities
from host.wire.continuation import continue_turn
from host.wire.endpoint import run_turn
from host.wire.settings import EndpointSettings
from tests.fakes.endpoint import (
    DONE,
    Break,
    FakeEndpoint,
    Mute,
    Reply,
    answer,
    delta,
    error_event,
    finish,
    lost,
    refused,
    streamed,
    text,
    tool_call,
    usage,
    whole,
)

QUESTION = {"role": "user", "content": "tell me"}
OPENING = "It was a dark and stormy night, and the rain fell "
CUT = Turn(content=OPENING, finish_reason="length", usage=TurnUsage(prompt_tokens=5))


def _cut(content: str) -> Reply:
    return streamed(text(content), finish("length"), usage(10, 2), DONE)


class _Going:
    """Goes on with an answer over a scripted endpoint, and what was heard of it."""

    def __init__(self, *script: Reply) -> None:
        self.endpoint = FakeEndpoint(*script)
        self.capabilities = Capabilities()
        self.notices: list[str] = []
        self.heard: list[str] = []
        self.built: list[dict[str, Any]] = []
        self.more: dict[str, Any] = {}

    async def on(self, turn: Turn = CUT, **options: Any) -> Turn:
        options = {"model": "m", "jitter": lambda: 1.0, **options}
        async with self.endpoint.client() as client:
            return await continue_turn(
                client,
                self.capabilities,
                self._request,
                turn,
                on_notice=self.notices.append,
                on_output=self.heard.append,
                **options,
            )

    def _request(self, *_: object) -> dict[str, Any]:
        asked = {"model": "m", "messages": [QUESTION], "stream": True, "top_k": 3}
        self.built.append({**asked, **self.more})
        return self.built[-1]

    @property
    def takes_prefill(self) -> bool:
        return self.capabilities.for_model("m").assistant_prefill


async def test_a_cut_answer_is_gone_on_with_from_where_it_stopped() -> None:
    going = _Going(answer("in torrents."))
    turn = await going.on()
    assert (turn.content, turn.finish_reason) == (OPENING + "in torrents.", "stop")
    assert (turn.usage.prompt_tokens, turn.usage.continuations) == (15, 1)
    begun = {"role": "assistant", "content": OPENING}
    assert going.endpoint.bodies == [{**going.built[0], "messages": [QUESTION, begun]}]
    assert going.built[0]["messages"] == [QUESTION]
    assert ("".join(going.heard), going.notices) == ("in torrents.", [])


async def test_a_model_that_never_stops_is_asked_as_often_as_allowed() -> None:
    going = _Going(_cut("a"), _cut("b"), _cut("c"))
    turn = await going.on(max_continuations=3)
    assert (turn.content, turn.finish_reason) == (OPENING + "abc", "length")
    assert turn.usage.continuations == going.endpoint.sends == 3
    assert going.endpoint.bodies[2]["messages"][-1]["content"] == OPENING + "ab"


@pytest.mark.parametrize(
    "turn",
    [
        Turn(content="  ", finish_reason="length"),
        Turn(content="whole", finish_reason="stop"),
        Turn(content="x", finish_reason="length", tool_calls=({"id": "a"},)),  # type: ignore[typeddict-item]  # any call will do
    ],
)
async def test_an_answer_that_cannot_be_gone_on_with_comes_back_itself(turn: Turn) -> None:
    going = _Going()
    assert await going.on(turn) is turn
    assert going.endpoint.sends == 0


async def test_nothing_is_sent_where_nothing_is_allowed() -> None:
    going = _Going()
    assert await going.on(max_continuations=0) is CUT
    going.capabilities.for_model("m").assistant_prefill = False
    assert await going.on() is CUT
    assert going.endpoint.sends == 0


async def test_a_call_at_the_end_is_the_turns() -> None:
    going = _Going(streamed(tool_call("f", "{}"), finish("tool_calls"), DONE))
    turn = await going.on(max_continuations=5)
    assert [call["function"]["name"] for call in turn.tool_calls] == ["f"]
    assert (turn.content, turn.finish_reason) == (OPENING, "tool_calls")


async def test_a_continuation_does_not_begin_inside_the_thinking_of_the_first_answer() -> None:
    going = _Going(streamed(text("on"), text("ward"), finish(), DONE))
    turn = await going.on(start_in_reasoning=True)
    assert (turn.content, turn.reasoning) == (OPENING + "onward", "")


async def test_thinking_before_going_on_is_reasoning() -> None:
    going = _Going(streamed(delta(reasoning_content="hm"), text("on"), finish(), DONE))
    turn = await going.on(Turn(content=OPENING, finish_reason="length", reasoning="so "))
    assert (turn.content, turn.reasoning) == (OPENING + "on", "so hm")


UNREADABLE = "The model produced output that does not match the expected peg-native format"
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {}}}]


@pytest.mark.parametrize("repeated", ["", OPENING + "in torrents "])
async def test_a_continuation_that_becomes_unreadable_is_gone_on_with_in_one_message(
    repeated: str,
) -> None:
    going = _Going(
        streamed(text("in torrents "), error_event(UNREADABLE, code=500)),
        answer(repeated + "and so on."),
    )
    going.more = {"tools": TOOLS}
    turn = await going.on()
    assert turn.content == OPENING + "in torrents and so on."
    assert "".join(going.heard) == "in torrents and so on."
    begun = {"role": "assistant", "content": OPENING + "in torrents "}
    assert going.endpoint.bodies[1]["messages"] == [QUESTION, begun]


async def test_an_unreadable_continuation_that_then_begins_anew_is_thrown_away() -> None:
    going = _Going(
        streamed(text("in torrents "), error_event(UNREADABLE, code=500)),
        answer(OPENING + "quite otherwise"),
    )
    going.more = {"tools": TOOLS}
    assert await going.on() is CUT
    assert "".join(going.heard) == "in torrents "


# --- what is no continuation --------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [(OPENING[:45] + "X", " more"), ("\n", *OPENING[:44], "X")])
async def test_an_answer_begun_anew_is_thrown_away_and_not_asked_for_again(
    pieces: tuple[str, ...],
) -> None:
    going = _Going(streamed(*map(text, pieces), finish(), DONE))
    assert await going.on(max_continuations=3) is CUT
    assert (going.endpoint.sends, going.takes_prefill) == (1, False)
    assert (going.heard, len(going.notices)) == ([], 1)
    assert "anew" in going.notices[0]
    assert going.notices[0].startswith("m ")


async def test_the_same_answer_cut_at_the_same_place_is_one_begun_anew() -> None:
    going = _Going(_cut(OPENING))
    assert await going.on(max_continuations=3) is CUT
    assert (going.endpoint.sends, going.takes_prefill) == (1, False)


async def test_an_answer_that_repeats_what_it_was_given_counts_from_there() -> None:
    going = _Going(whole(OPENING + "in torrents."))
    turn = await going.on()
    assert turn.content == OPENING + "in torrents."
    assert (going.heard, going.takes_prefill) == (["in torrents."], True)


async def test_text_that_only_looked_like_a_new_beginning_is_heard_at_the_end() -> None:
    going = _Going(streamed(text("It was a"), finish(), DONE))
    assert (await going.on()).content == OPENING + "It was a"
    assert going.heard == ["It was a"]


# --- failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        refused(400, "Assistant response prefill is incompatible with enable_thinking."),
        refused(500, "Assistant response prefill is incompatible with enable_thinking."),
        refused(422, "Expected last role User or Tool"),
    ],
)
async def test_an_endpoint_that_refuses_is_not_asked_again(reply: Reply) -> None:
    going = _Going(reply)
    assert await going.on(max_continuations=3) is CUT
    assert await going.on() is CUT
    assert (going.endpoint.sends, going.takes_prefill) == (1, False)
    said = "prefill" if "prefill" in str(reply.pieces) else "last role"
    assert len(going.notices) == 1
    assert said in going.notices[0]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (refused(400, "exceeds the available context size (4096 tokens)"), "no room"),
        (refused(401, "Invalid API Key"), "Invalid API Key"),
        (refused(503, "busy"), "busy"),
        (lost(), "failed"),
        (streamed(text("in torr"), Break()), "failed"),
    ],
)
async def test_any_other_failure_is_a_notice_and_nothing_is_remembered(
    reply: Reply, said: str
) -> None:
    going = _Going(reply)
    assert await going.on(max_continuations=3) is CUT
    assert (going.endpoint.sends, going.takes_prefill) == (1, True)
    assert len(going.notices) == 1
    assert said in going.notices[0]


async def test_what_was_joined_before_a_failure_is_kept() -> None:
    going = _Going(_cut("in "), lost())
    turn = await going.on(max_continuations=3)
    assert (turn.content, turn.usage.continuations) == (OPENING + "in ", 1)


async def test_a_request_that_no_longer_fits_is_not_sent() -> None:
    going = _Going()
    long = Turn(content="x" * 40_000, finish_reason="length")
    assert await going.on(long, context_limit=8192) is long
    assert (going.endpoint.sends, going.takes_prefill) == (0, True)
    assert "no room" in going.notices[0]


async def test_a_failure_that_may_pass_is_tried_again_as_for_any_turn() -> None:
    going = _Going(lost(), answer("on"))
    assert (await going.on(max_retries=1)).content == OPENING + "on"
    assert len(going.notices) == 1


async def test_without_a_model_nothing_is_remembered_and_the_call_still_ends() -> None:
    going = _Going(refused(400, "no prefill"))
    assert await going.on(model=None, max_continuations=3) is CUT
    assert going.takes_prefill
    assert going.endpoint.sends == 1


async def test_a_stop_passes_and_wins_over_a_failure() -> None:
    for reply in (streamed(text("o"), Mute()), Reply(before_seconds=60)):
        going = _Going(reply)
        with anyio.move_on_after(5) as scope:
            await going.on()
        assert scope.cancelled_caught
        assert going.notices == []


async def test_nobody_has_to_listen() -> None:
    endpoint = FakeEndpoint(refused(400, "no"))
    async with endpoint.client() as client:
        turn = await continue_turn(client, Capabilities(), lambda *_: {"messages": [QUESTION]}, CUT)
    assert turn is CUT


async def test_an_answer_of_run_turn_is_gone_on_with_by_the_same_request() -> None:
    endpoint = FakeEndpoint(_cut("Hel"), answer("lo"))
    body = {"model": "m", "messages": [QUESTION], "stream": True}
    async with endpoint.client(
        base_url=EndpointSettings(base_url="http://e.test/v1").base_url
    ) as c:
        first = await run_turn(c, Capabilities(), lambda *_: body)
        turn = await continue_turn(c, Capabilities(), lambda *_: body, first)
    assert (turn.content, turn.usage.prompt_tokens) == ("Hello", 20)
    assert turn.usage.wall_seconds is not None
    assert turn.usage.retries == 0
