"""Streams of a real server, cut into chunks anywhere and cut off anywhere (agent-core §8).

`ENDS` says for every recording which ends make a turn and which an error. It was written down from
what the model was seen to say, not by our reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import EndpointSilent, EndpointUnavailable, StreamBroken, WireError
from host.records import Turn
from host.wire.answer_bytes import AnswerDecoder
from host.wire.streaming import stream_turn
from tests.fakes.endpoint import Break, FakeEndpoint, Mute, streamed

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
HERE = Path(__file__).parent / "recorded_streams"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What of a turn the table states; calls as name and arguments."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish_reason: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """An error of ours, with what its text says unless the stream just broke off."""

    kind: type[WireError]
    says: str = ""


End = Seen | Failed

BROKEN = Failed(kind=StreamBroken)
SILENT = Failed(kind=EndpointSilent)
PEG_NATIVE = Failed(kind=EndpointUnavailable, says="does not match the expected peg-native format")

HELLO = "Hello! How can I assist you today?"
TOKYO = ("get_time", '{"tz": "Asia/Tokyo"}')
CALLS_FOR_OSLO = (("get_time", '{"tz": "Europe/Oslo"}'), ("get_weather", '{"city": "Oslo"}'))

_HELLO_ENDS: Mapping[int, End] = {
    0: BROKEN,
    10: Seen(content=HELLO, finish_reason="stop"),
    11: Seen(
        content=HELLO,
        finish_reason="stop",
        prompt_tokens=32,
        completion_tokens=10,
        cached_tokens=24,
    ),
}

ENDS: Mapping[str, Mapping[int, End]] = {
    "text": {
        0: BROKEN,
        11: Seen(
            content="Three colours are red, blue, and green.",
            finish_reason="stop",
            cached_tokens=24,
        ),
    },
    "usage": _HELLO_ENDS,
    "usage_with_crlf": _HELLO_ENDS,
    "multi_byte": {
        0: BROKEN,
        13: Seen(
            content="「こんにちは、世界🌍」と繰り返します。", finish_reason="stop", cached_tokens=24
        ),
    },
    "cut_at_max_tokens": {
        0: BROKEN,
        5: Seen(content="Three colours are red", finish_reason="length"),
        6: Seen(
            content="Three colours are red",
            finish_reason="length",
            prompt_tokens=33,
            completion_tokens=4,
            cached_tokens=24,
        ),
    },
    "tool_call": {
        0: BROKEN,
        11: Seen(calls=(TOKYO,), finish_reason="tool_calls", cached_tokens=194),
    },
    "tool_call_cut_at_max_tokens": {
        0: BROKEN,
        6: Seen(calls=(("get_time", '{"tz": "'),), finish_reason="length", cached_tokens=199),
    },
    "parallel_tool_calls": {
        0: BROKEN,
        19: Seen(calls=CALLS_FOR_OSLO, finish_reason="tool_calls"),
        20: Seen(
            calls=CALLS_FOR_OSLO,
            finish_reason="tool_calls",
            prompt_tokens=350,
            completion_tokens=37,
            cached_tokens=343,
        ),
    },
    "error_in_a_tool_call": {0: BROKEN, 15: PEG_NATIVE},
    "reasoning": {
        0: BROKEN,
        14: Seen(content="It is 4.", reasoning="2 and 2 make 4.\n", finish_reason="stop"),
        15: Seen(
            content="It is 4.",
            reasoning="2 and 2 make 4.\n",
            finish_reason="stop",
            prompt_tokens=93,
            completion_tokens=17,
            cached_tokens=0,
        ),
    },
}
"""Recording -> the number of an event, from 0 -> how a stream ends that is cut off after its data.

Each entry holds up to the next one: half an event changes nothing. Before the finish reason a cut
is an error, after it a turn that lacks at most the usage, and `[DONE]` is not needed. It makes no
difference whether the stream just ends there or its connection is lost.
"""

RECORDINGS = sorted(ENDS)


@dataclass(frozen=True, slots=True)
class Event:
    """Where an event stands: its first byte, the end of its data, the end of its blank line."""

    start: int
    data_end: int
    end: int


@cache
def recorded(name: str) -> bytes:
    """A recording's bytes; with other line ends if its name says so."""
    stem, _, line_ends = name.partition("_with_")
    raw = (HERE / f"{stem}.sse").read_bytes()
    return raw.replace(b"\n", b"\r\n") if line_ends == "crlf" else raw


@cache
def events_of(name: str) -> tuple[Event, ...]:
    """A recording's events: here each is one line of data and a blank one."""
    raw = recorded(name)
    line_end = b"\r\n" if b"\r\n" in raw else b"\n"
    found, start = [], 0
    for part in raw.split(line_end * 2)[:-1]:
        assert part.startswith(b"data: ")
        end = start + len(part) + 2 * len(line_end)
        found.append(Event(start, start + len(part), end))
        start = end
    assert start == len(raw)
    return tuple(found)


def data_of(name: str, event: Event) -> str:
    return recorded(name)[event.start : event.data_end].decode().removeprefix("data: ")


def expected_end(name: str, cut: int) -> End:
    """The table's end for a stream of which ``cut`` bytes arrived."""
    whole = sum(1 for event in events_of(name) if event.data_end <= cut)
    return [end for number, end in ENDS[name].items() if number < whole or number == 0][-1]


def pieces_of(raw: bytes, cuts: list[int]) -> Iterator[bytes]:
    places = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
    return (raw[start:end] for start, end in pairwise(places))


def single_bytes(raw: bytes) -> Iterator[bytes]:
    return (raw[at : at + 1] for at in range(len(raw)))


async def ended(*pieces: bytes | Break | Mute, idle: float = 0) -> End:
    """What the real client makes of an answer of these pieces."""
    async with FakeEndpoint(streamed(*pieces)).client() as client:
        return await _end(client, idle)


async def _end(client: openai.AsyncOpenAI, idle: float = 0) -> End:
    try:
        return seen_in(await stream_turn(client, BODY, idle_seconds=idle))
    except EndpointSilent:
        return SILENT
    except WireError as error:
        if isinstance(error, StreamBroken):
            return BROKEN
        said = PEG_NATIVE.says if PEG_NATIVE.says in str(error) else str(error)
        return Failed(kind=type(error), says=said)


def seen_in(turn: Turn) -> Seen:
    assert len({call["id"] for call in turn.tool_calls}) == len(turn.tool_calls)
    return Seen(
        content=turn.content,
        reasoning=turn.reasoning,
        calls=tuple(
            (call["function"]["name"], call["function"]["arguments"]) for call in turn.tool_calls
        ),
        finish_reason=turn.finish_reason,
        prompt_tokens=turn.usage.prompt_tokens,
        completion_tokens=turn.usage.completion_tokens,
        cached_tokens=turn.usage.cached_tokens,
    )


def whole_end(name: str) -> End:
    return list(ENDS[name].values())[-1]


@pytest.mark.parametrize("name", RECORDINGS)
async def test_a_stream_in_one_piece_is_the_turn_that_the_model_wrote(name: str) -> None:
    assert await ended(recorded(name)) == whole_end(name)


async def test_a_stream_that_comes_byte_by_byte_is_the_same_turn() -> None:
    assert await ended(*single_bytes(recorded("multi_byte"))) == whole_end("multi_byte")


@pytest.mark.parametrize("name", RECORDINGS)
def test_bytes_that_come_one_by_one_are_the_same_events(name: str) -> None:
    decoder = AnswerDecoder()
    payloads = [one for byte in single_bytes(recorded(name)) for one in decoder.feed(byte)]
    assert payloads == [data_of(name, event) for event in events_of(name)]
    assert decoder.finish() == []


@given(name=st.sampled_from(RECORDINGS), cuts=st.lists(st.integers(0, 7000), max_size=20))
async def test_a_stream_cut_into_chunks_anywhere_is_the_same_turn(
    name: str, cuts: list[int]
) -> None:
    assert await ended(*pieces_of(recorded(name), cuts)) == whole_end(name)


@given(
    name=st.sampled_from(RECORDINGS),
    cuts=st.lists(st.integers(0, 7000), max_size=4),
    kept=st.integers(0, 7000),
    end=st.sampled_from([(), (Break(),)]),
)
async def test_a_stream_cut_off_anywhere_ends_as_the_table_says(
    name: str, cuts: list[int], kept: int, end: tuple[Break, ...]
) -> None:
    raw = recorded(name)
    kept %= len(raw) + 1
    assert await ended(*pieces_of(raw[:kept], cuts), *end) == expected_end(name, kept)


@pytest.mark.parametrize("name", RECORDINGS)
async def test_a_stream_cut_off_around_its_last_events_ends_as_the_table_says(name: str) -> None:
    raw = recorded(name)
    places = {
        place
        for event in events_of(name)[-4:]
        for place in (event.start, event.start + 3, event.data_end - 1, event.data_end)
    }
    endpoint = FakeEndpoint(*(streamed(raw[:place]) for place in places))
    async with endpoint.client() as client:
        ends = {place: await _end(client) for place in places}
    assert ends == {place: expected_end(name, place) for place in places}


@pytest.mark.parametrize("name", RECORDINGS)
async def test_a_connection_lost_around_the_last_events_ends_as_a_proper_end_does(
    name: str,
) -> None:
    """A finish reason makes an answer whole: how the connection ends after it takes nothing away.

    Servers and proxies end a chunked body without its last chunk, or reset the connection, when
    everything was said. Before the finish reason a lost connection is a broken stream.
    """
    raw = recorded(name)
    for event in events_of(name)[-3:]:
        for place in (event.start, event.data_end - 1, event.data_end):
            assert await ended(raw[:place], Break()) == expected_end(name, place)
    assert await ended(raw, Break()) == whole_end(name)


@pytest.mark.parametrize("name", RECORDINGS)
async def test_a_connection_that_stays_open_in_silence_gives_what_came_after_the_finish_reason(
    name: str,
) -> None:
    raw = recorded(name)
    for event in events_of(name)[-3:]:
        expected = expected_end(name, event.end)
        assert await ended(raw[: event.end], Mute(), idle=30) == (
            SILENT if expected == BROKEN else expected
        )


async def test_half_an_answer_that_is_not_streamed_is_broken_and_shown() -> None:
    async with FakeEndpoint(streamed(b'{"choices": [{"message": {"con')).client() as client:
        with pytest.raises(StreamBroken, match="message"):
            await stream_turn(client, BODY)


@pytest.mark.parametrize("name", ["multi_byte", "error_in_a_tool_call", "usage_with_crlf"])
def test_an_event_cut_off_at_any_byte_is_whole_or_no_json(name: str) -> None:
    """Why it is enough above to look at the ends of events: no other byte makes a difference."""
    raw = recorded(name)
    for event in events_of(name):
        whole = data_of(name, event)
        for cut in range(event.start, event.end):
            decoder = AnswerDecoder()
            payloads = decoder.feed(raw[event.start : cut]) + decoder.finish()
            if cut >= event.data_end:
                assert payloads == [whole]
            else:
                assert len(payloads) <= 1
                assert not any(_is_json(payload) for payload in payloads)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
