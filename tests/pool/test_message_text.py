"""Answers are read as far as they can be, and never lost."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import JSONRPCError, JSONRPCResponse

from host.pool.message_text import EscapeMender, read_message, whole_escapes
from host.pool.transports import UNREADABLE

PIECES = st.sampled_from(
    [r"\ud83d", r"\uDE00", r"\ude00", r"\uD83D", "\\\\", r"\n", r"\u00e9", "ud83d", "x", "é", r"\""]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(TEXTS)
def test_halves_of_pairs_become_one_mark_and_all_else_stays(text: str) -> None:
    quoted = f'"{text}"'
    mended = json.loads(whole_escapes(quoted.encode()))
    assert mended == re.sub("[\ud800-\udfff]", "\ufffd", json.loads(quoted))


@given(TEXTS, st.lists(st.integers(0, 80), max_size=6))
def test_the_places_where_a_text_is_cut_into_pieces_do_not_matter(
    text: str, cuts: list[int]
) -> None:
    whole = f'"{text}"'.encode()
    mender, places = EscapeMender(), [0, *sorted(cuts), len(whole)]
    pieces = [mender.feed(whole[a:b]) for a, b in pairwise(places)]
    assert b"".join(pieces) + mender.close() == whole_escapes(whole)


def test_a_text_without_such_escapes_is_not_copied() -> None:
    text = b'{"a": "b\\u00e9", "and": "more text"}'
    assert EscapeMender().feed(text) is text


@pytest.mark.parametrize(
    ("end", "rest"), [(rb"\ud83d", rb"\ufffd"), (rb"\u", rb"\u"), (b"\\", b"\\"), (b"x", b"")]
)
def test_a_text_may_end_inside_an_escape(end: bytes, rest: bytes) -> None:
    mender = EscapeMender()
    told = mender.feed(b"a" + end)
    assert told + mender.close() == b"a" + (rest or end)


def answer(text: str, identifier: str = "3") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{identifier},"result":{text}}}'.encode()


def deep(depth: int) -> str:
    return '{"a":' + "[" * depth + "]" * depth + "}"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (r'{"a":"x\ud83d"}', {"a": "x\ufffd"}),
        (r'{"a":"x\ud83d\ude00"}', {"a": "x\U0001f600"}),
        (r'{"\udc00":["\ud800"]}', {"\ufffd": ["\ufffd"]}),
        (r'{"a":"\\\\ud83d"}', {"a": r"\\ud83d"}),
        ('{"a":"tab\tand\x01"}', {"a": "tab\tand\x01"}),
        (deep(400), json.loads(deep(400))),
    ],
)
def test_what_the_sdk_refuses_is_read(text: str, result: dict[str, Any]) -> None:
    message = read_message(answer(text))
    assert isinstance(message, JSONRPCResponse)
    assert (message.id, message.result) == (3, result)


def test_bytes_that_are_no_utf8_are_marked() -> None:
    message = read_message(answer('{"a":"caf?"}').replace(b"?", b"\xe9"))
    assert isinstance(message, JSONRPCResponse)
    assert message.result == {"a": "caf\ufffd"}


@pytest.mark.parametrize(
    ("line", "identifier"),
    [
        (answer(deep(100_000)), 3),
        (answer(deep(100_000), '"x"'), "x"),
        (f'{{"result":{deep(100_000)},"id":7,"jsonrpc":"2.0"}}'.encode(), 7),
        (f'{{"jsonrpc":"2.0","result":{deep(100_000)},"id":7}}'.encode(), 7),
        (answer('{"a":'), 3),
        (answer('{"a":' + "1" * 5000 + "}"), 3),
        (answer('"no object"'), 3),
        (b'{"id":3,"result":{}}', 3),
        (b'{"id":3,"error":{"code":"x"}}', 3),
    ],
)
def test_an_answer_nobody_can_read_is_an_error_for_who_waits(
    line: bytes, identifier: int | str
) -> None:
    message = read_message(line)
    assert isinstance(message, JSONRPCError)
    assert message.id == identifier
    assert message.error.message.startswith(UNREADABLE)


@pytest.mark.parametrize(
    "line",
    [
        b"Starting server",
        b"[1, 2]",
        b"7",
        b'{"id":3,"level":"info"}',
        b'{"id":3,"error":"a log line"}',
        b'{"jsonrpc":"2.0","id":true,"result":1}',
        b'{"jsonrpc":"2.0","id":3,"method":5}',
        b'{"jsonrpc":"2.0","id":3,"method":"a","params":' + deep(100_000).encode() + b"}",
        b'{"a":' + deep(100_000).encode() + b',"id":3}',
        deep(100_000).encode(),
    ],
)
def test_what_answers_nothing_is_no_message(line: bytes) -> None:
    with pytest.raises(ValueError, match="no message"):
        read_message(line)
