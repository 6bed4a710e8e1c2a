"""Server-sent events, from bytes to payloads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import StreamBroken
from host.wire.sse import SseDecoder

BOM = b"\xef\xbb\xbf"


def decoded(*received: bytes, max_event_bytes: int = 1 << 20) -> list[str]:
    decoder = SseDecoder(max_event_bytes=max_event_bytes)
    payloads = [payload for piece in received for payload in decoder.feed(piece)]
    return payloads + decoder.finish()


CASES: list[tuple[bytes, list[str]]] = [
    (b"", []),
    (b"data: a\n\n", ["a"]),
    (b"data:a\n\ndata:  b\n\n", ["a", " b"]),
    (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", ["a", "b", "c"]),
    (b"data: a\ndata: b\n\n", ["a\nb"]),
    (b"data: a\r\ndata: b\r\n\r\n", ["a\nb"]),
    (b"data: a\r\n\ndata: b\r\n\n", ["a", "b"]),
    (b"data\n\n", [""]),
    (b"data:\ndata:\n\n", ["\n"]),
    (b": ping\n\n:\n\ndata: a\n\n", ["a"]),
    (b"event: delta\nid: 3\nretry: 10\ndata: a\n\n", ["a"]),
    (b"event: error\nid: 3\nretry: 10\ndata: a\n\ndata: b\n\n", ['{"error":"a"}', "b"]),
    (b'data: {"message":\ndata: "no"}\nevent:error\n\n', ['{"error":{"message":"no"}}']),
    (b"event: error\nevent: message\ndata: a\n\n", ["a"]),
    (b"event: error\n\ndata: a\n\n", ["a"]),
    (b"event: error\ndata:\n\n", ['{"error":{"message":""}}']),
    (b"event: error\ndata: null\n\n", ['{"error":{"message":"null"}}']),
    (b'event: error\ndata: {"mess', ['{"error":"{\\"mess"}']),
    (b"event: done\n\n", []),
    (b'error: {"code":500}\n\n', ['{"error":{"code":500}}']),
    (b'data: a\nerrors: b\n\nerror:"no"', ["a", '{"error":"no"}']),
    (b"DATA: a\ndatax: b\n data: c\n\n", []),
    (BOM + b"data: a\n\n", ["a"]),
    (BOM, []),
    (BOM + BOM + b"data: a\n\n", []),
    (b"\n\n\ndata: a\n\n\n\n", ["a"]),
    (b"data: a\n\n" + BOM + b"data: b\n\n", ["a"]),
    ("data: é\U0001f600\n\n".encode(), ["é\U0001f600"]),
    ("data: a\u2028b\x0bc\x85d\n\n".encode(), ["a\u2028b\x0bc\x85d"]),
    (b"data: \xff\xfe!\n\n", ["\ufffd\ufffd!"]),
    (b"data: a\x00b\n\n", ["a\x00b"]),
    (b"data: a: b\n\n", ["a: b"]),
    # Cut off by a server that hung up.
    (b"data: a\n\ndata: b\n", ["a", "b"]),
    (b"data: a\n\ndata: b", ["a", "b"]),
    (b'data: {"a": \xc3', ['{"a": \ufffd']),
]


@pytest.mark.parametrize(("stream", "payloads"), CASES)
def test_every_form_of_event_is_read(stream: bytes, payloads: list[str]) -> None:
    assert decoded(stream) == payloads


@pytest.mark.parametrize(("stream", "payloads"), CASES)
def test_a_stream_that_comes_byte_by_byte_reads_the_same(
    stream: bytes, payloads: list[str]
) -> None:
    assert decoded(*(stream[at : at + 1] for at in range(len(stream)))) == payloads


def test_an_event_is_given_out_as_soon_as_it_is_complete() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\r\n") == []
    assert decoder.feed(b"\r") == ["a"]
    assert decoder.feed(b"\ndata: b\n\nda") == ["b"]
    assert decoder.feed(b"") == []
    assert decoder.feed(b"ta: c\n\n") == ["c"]
    assert decoder.finish() == []


def test_a_comment_is_not_yet_an_event_and_half_a_line_is_one() -> None:
    decoder = SseDecoder()
    seen = []
    for piece in (b": pi", b"ng\n", b"\n", b"d", b"ata: a", b"\n", b"\n"):
        decoder.feed(piece)
        seen.append(decoder.is_in_event)
    assert seen == [False, False, False, True, True, True, False]


LINES = st.sampled_from(["", " ", "x", '{"a":1}', "é", "\U0001f600", ": y", "data: z", "\ufeff"])
PAYLOADS = st.lists(LINES, min_size=1, max_size=3).map("\n".join)
NOISE = st.sampled_from(
    [": ping", ":", "event: message", "id: 7", "retry: 1", "unknown", "x: data"]
)


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[str], list[bytes]]:
    """Payloads, and a stream of them in pieces, every line end of its own kind."""
    payloads = draw(st.lists(PAYLOADS, max_size=4))
    lines: list[str] = []
    for payload in payloads:
        lines += draw(st.lists(NOISE, max_size=2))
        space = " " if payload.startswith(" ") else draw(st.sampled_from(["", " "]))
        for line in payload.split("\n"):
            lines += [f"data:{' ' if line.startswith(' ') else space}{line}"]
            lines += draw(st.lists(NOISE, max_size=1))
        lines += [""] * draw(st.integers(1, 2))
    whole = draw(st.sampled_from([b"", BOM]))
    for line in lines:
        # A line feed right after a carriage return would end the same line once more.
        ends = ["\r", "\r\n"] if not line and whole.endswith(b"\r") else ["\r", "\n", "\r\n"]
        whole += (line + draw(st.sampled_from(ends))).encode()
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    bounds = zip([0, *cuts], [*cuts, len(whole)], strict=True)
    return payloads, [whole[start:stop] for start, stop in bounds]


@given(streams())
def test_a_stream_gives_its_payloads_wherever_it_was_cut(
    stream: tuple[list[str], list[bytes]],
) -> None:
    payloads, pieces = stream
    decoder = SseDecoder()
    found = [payload for piece in pieces for payload in decoder.feed(piece)]
    assert found + decoder.finish() == payloads


@pytest.mark.parametrize(
    "pieces",
    [
        [b"data: " + b"x" * 200],
        [b"x" * 60, b"x" * 60],
        [b"data: " + b"x" * 40 + b"\n"] * 4,
        [b"data\n" * 200],
        [b": " + b"x" * 200],
    ],
)
def test_an_event_longer_than_allowed_breaks_the_stream(pieces: list[bytes]) -> None:
    with pytest.raises(StreamBroken, match="longer than 100 bytes"):
        decoded(*pieces, max_event_bytes=100)


def test_many_events_and_comments_within_the_limit_pass() -> None:
    stream = (b": " + b"c" * 90 + b"\n") * 50 + (b"data: " + b"x" * 80 + b"\n\n") * 50
    assert decoded(BOM + stream, max_event_bytes=100) == ["x" * 80] * 50
