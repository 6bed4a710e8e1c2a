"""Payloads of an answer's body, however it was cut and whatever it is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import StreamBroken
from host.wire.answer_bytes import DRAIN_SECONDS, AnswerBytes, AnswerDecoder
from host.wire.sse import SseDecoder

_chunks = st.sampled_from(
    [{"choices": [{"delta": {"content": "é\n<x>{"}}]}, {"error": "no"}, {"choices": []}]
)
_space = st.text(alphabet=" \t\r\n", max_size=3)


def _fed(whole: bytes, cuts: list[int]) -> list[str]:
    decoder, payloads, start = AnswerDecoder(), list[str](), 0
    for cut in [*sorted(cut % (len(whole) + 1) for cut in cuts), len(whole)]:
        payloads += decoder.feed(whole[start:cut])
        start = cut
    return [*payloads, *decoder.finish()]


@given(_space, st.lists(_chunks, max_size=4), st.lists(st.integers(0, 500), max_size=6))
def test_events_are_what_the_event_decoder_says_wherever_they_were_cut(
    space: str, chunks: list[dict[str, Any]], cuts: list[int]
) -> None:
    lines = "".join(f": note\n\ndata: {json.dumps(chunk)}\n\n" for chunk in chunks)
    whole = (space + lines + "data: [DONE]\n\n").encode()
    plain = SseDecoder()
    assert _fed(whole, cuts) == [*plain.feed(whole), *plain.finish()]


@given(_space, _chunks, st.booleans(), st.lists(st.integers(0, 500), max_size=6))
def test_a_json_body_is_one_payload_wherever_it_was_cut(
    space: str, chunk: dict[str, Any], has_mark: bool, cuts: list[int]
) -> None:
    body = json.dumps(chunk, ensure_ascii=False, indent=1)
    whole = (b"\xef\xbb\xbf" if has_mark else b"") + (space + body).encode()
    assert [json.loads(payload) for payload in _fed(whole, cuts)] == [chunk]


def test_a_page_is_one_payload() -> None:
    assert _fed(b"<!doctype html>\n\n<p>data: x\n\n", [4]) == ["<!doctype html>\n\n<p>data: x\n\n"]


@pytest.mark.parametrize("begin", [b'{"a": "', b"data: "])
def test_no_answer_grows_without_bound(begin: bytes) -> None:
    decoder = AnswerDecoder(max_bytes=100)
    for piece in (begin, b"x" * 30, b"x" * 30):
        decoder.feed(piece)
    with pytest.raises(StreamBroken, match="longer than 100 bytes"):
        decoder.feed(b"x" * 60)


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        (b"", False),
        (b" \r\n", False),
        (b": ping\n\n", False),
        (b": pi", False),
        (b"data: a\n\n", False),
        (b"da", True),
        (b"data: a\n", True),
        (b"{", True),
        (b"{}", True),
    ],
)
def test_a_payload_is_begun_with_its_first_byte_and_a_comment_is_none(
    received: bytes, expected: bool
) -> None:
    decoder = AnswerDecoder()
    for at in range(len(received)):
        decoder.feed(received[at : at + 1])
    assert decoder.is_in_payload is expected


def test_nothing_is_no_payload() -> None:
    assert _fed(b"", []) == _fed(b" \r\n", [1]) == _fed(b"\xef\xbb\xbf", [1]) == []


async def test_an_answer_left_by_a_failure_is_closed_and_read_no_further() -> None:
    sent: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        for piece in (b"one", b"two"):
            sent.append(piece)
            yield piece
            await anyio.sleep(DRAIN_SECONDS / 4)

    async def fail_at_the_first_piece() -> None:
        async with AnswerBytes(response) as received:
            async for _ in received:
                raise LookupError

    response = httpx2.Response(200, content=body())
    with pytest.raises(LookupError):
        await fail_at_the_first_piece()
    assert (sent, response.is_closed) == ([b"one"], True)
