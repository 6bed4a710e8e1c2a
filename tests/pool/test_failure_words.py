"""Failures say what happened, in one line, and whether it is known that nothing was done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import MCPError
from mcp.client import InputRequiredRoundsExceededError
from mcp_types import CallToolResult
from pydantic import ValidationError

from host.errors import PoolError
from host.pool.command_lookup import CommandProblem
from host.pool.exchange_note import ExchangeNote
from host.pool.failure_words import (
    MAX_WORDS_CHARS,
    Failure,
    call_failure,
    dial_failure,
    ended,
    is_closed,
    is_cut_stream,
    leaf,
    reason_words,
    timed_out,
)
from host.pool.task_states import TaskFailed
from host.text.redaction import Redactor

PLAIN = Redactor()
UNKNOWN = "whether the tool ran is unknown"
CLOSED = MCPError(-32000, "Connection closed")
STAND_IN = MCPError(-32603, "Server returned an error response")


def malformed() -> ValidationError:
    with pytest.raises(ValidationError) as error:
        CallToolResult.model_validate({"content": 7})
    return error.value


nested = st.recursive(
    st.sampled_from([KeyError("a"), CLOSED, ValueError("b")]),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(
        lambda errors: ExceptionGroup("group", errors)
    ),
)


@given(nested)
def test_the_first_error_inside_groups_is_found(error: Exception) -> None:
    found = leaf(error)
    assert not isinstance(found, BaseExceptionGroup)
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    assert found is error


@given(
    st.sampled_from([CLOSED, STAND_IN, KeyError("x" * 999), MCPError(5, "a\nb " * 200)]),
    st.sampled_from(["", "exited with code 1"]),
    st.sampled_from(["", "one\ntwo\n", "x" * 5000]),
    st.sampled_from([None, 401, 599, 999]),
)
def test_a_failure_is_one_short_line_without_a_traceback(
    error: Exception, end_note: str, last_words: str, status: int | None
) -> None:
    note = ExchangeNote(status=status)
    failure = dial_failure(error, note, end_note=end_note, last_words=last_words, redactor=PLAIN)
    for text in (failure.text, call_failure(error, note, end_note=end_note, redactor=PLAIN)):
        assert text
        assert "\n" not in text
        assert len(text) < 2 * MAX_WORDS_CHARS
    assert failure.detail == last_words


@pytest.mark.parametrize(
    ("error", "note", "end_note", "words", "text"),
    [
        (CLOSED, {}, "exited with code 3", "no key\n", "exited with code 3: no key"),
        (CLOSED, {}, "exited with code 3", "", "exited with code 3"),
        (CommandProblem("the command is odd"), {}, "", "", "the command is odd"),
        (PoolError("connect-failed", "repeats a page"), {}, "", "", "repeats a page"),
        (
            MCPError(-32603, "fetch failed"),
            {},
            "",
            "red",
            "answered with an error: fetch failed (-32603)",
        ),
        (STAND_IN, {"status": 503}, "", "", "answered HTTP 503; service unavailable"),
        (
            MCPError(-32602, "bad version"),
            {"status": 400},
            "",
            "",
            "answered with an error: bad version (-32602)",
        ),
        (
            CLOSED,
            {"failure": "ConnectError: no"},
            "",
            "",
            "could not be reached (ConnectError: no)",
        ),
        (KeyError("x"), {}, "", "", "failed: 'x' (KeyError)"),
    ],
)
def test_a_failed_dial_is_told(
    error: Exception, note: dict[str, object], end_note: str, words: str, text: str
) -> None:
    told = ExchangeNote(**note)  # type: ignore[arg-type] # one of its fields each
    assert (
        dial_failure(error, told, end_note=end_note, last_words=words, redactor=PLAIN).text == text
    )


@pytest.mark.parametrize(
    ("error", "note", "end_note", "text"),
    [
        (
            CLOSED,
            {},
            "exited with code 1",
            "exited with code 1 during the call; whether it ran is unknown",
        ),
        (CLOSED, {}, "", "closed the connection during the call; whether it ran is unknown"),
        (CLOSED, {"session_lost": True}, "", "has forgotten our session; the call was not made"),
        (STAND_IN, {"status": 500}, "", f"answered HTTP 500; internal server error; {UNKNOWN}"),
        (
            STAND_IN,
            {"status": 403},
            "",
            "answered HTTP 403; it denies access; check the row's headers",
        ),
        (CLOSED, {"failure": "ConnectError: no"}, "", "could not be reached (ConnectError: no)"),
        (
            CLOSED,
            {"failure": "ReadError", "broken_body": True},
            "",
            f"broke off its answer; {UNKNOWN}",
        ),
        (MCPError(-32000, "not today"), {}, "", "answered with an error: not today (-32000)"),
    ],
)
def test_a_failed_call_is_told_with_what_is_not_known(
    error: Exception, note: dict[str, object], end_note: str, text: str
) -> None:
    told = ExchangeNote(**note)  # type: ignore[arg-type] # one of its fields each
    assert call_failure(error, told, end_note=end_note, redactor=PLAIN) == text


def test_a_malformed_answer_is_told_by_its_first_fault() -> None:
    text = call_failure(malformed(), ExchangeNote(), end_note="", redactor=PLAIN)
    assert text.startswith("answered something malformed (CallToolResult: content:")


def test_an_error_code_of_the_server_is_not_taken_for_a_closed_connection() -> None:
    assert is_closed(CLOSED)
    assert not is_closed(MCPError(-32000, "not today"))
    assert not is_closed(KeyError())


def test_a_time_out_and_an_end_carry_the_last_line() -> None:
    assert timed_out(1.5, "a\nloading\n", PLAIN).text == "did not answer within 1.5 s: loading"
    assert ended("", "bye", PLAIN).text == "closed the connection: bye"


SECRET = "canary-0123456789-abcdefghij"


def leaked(text: str) -> list[str]:
    """The parts of the secret in the text, six characters long."""
    return [
        SECRET[start : start + 6] for start in range(len(SECRET) - 5) if SECRET[start:][:6] in text
    ]


@given(st.integers(240, 320), st.sampled_from(["x", "x ", "é"]))
def test_no_part_of_a_secret_is_left_where_words_are_cut(chars: int, filling: str) -> None:
    said = (filling * chars)[:chars] + SECRET + " and more"
    redactor, note = Redactor([SECRET]), ExchangeNote()
    told = [
        reason_words(MCPError(-32000, said), redactor),
        reason_words(KeyError(said), redactor),
        call_failure(MCPError(-32000, said), note, end_note="", redactor=redactor),
        call_failure(CLOSED, note, end_note=said, redactor=redactor),
        timed_out(1, said, redactor).text,
        ended("", said, redactor).text,
        dial_failure(CLOSED, note, end_note="left", last_words=said, redactor=redactor).text,
    ]
    assert [leaked(text) for text in told] == [[]] * len(told)


def test_a_secret_of_several_lines_is_not_shown_by_its_last_one() -> None:
    failure = ended(
        "", "the key is one-one-one\ntwo-two-two\n", Redactor(["one-one-one\ntwo-two-two"])
    )
    assert failure.text == "closed the connection: the key is ***"


@pytest.mark.parametrize("body", ["JSON response", "SSE message"])
def test_an_answer_that_is_no_message_is_told_in_words_of_ours(body: str) -> None:
    error = MCPError(
        -32700, f"Failed to parse {body}: 1 validation error\n see https://errors.pydantic.dev/2"
    )
    text = reason_words(error, PLAIN)
    assert text == "sent an answer that cannot be read: it is not JSON-RPC"


def test_advice_to_programmers_is_told_in_words_for_everybody() -> None:
    error = InputRequiredRoundsExceededError(10)
    assert reason_words(error, Redactor()).startswith("asked for further input again and again")


def test_an_error_of_our_reader_is_told_as_it_is() -> None:
    error = MCPError(-32700, "sent an answer that cannot be read: it is nested too deep")
    assert reason_words(error, PLAIN) == error.message
    assert reason_words(MCPError(-32700, "no"), PLAIN) == "answered with an error: no (-32700)"


def told(error: Exception, **note: object) -> str:
    noted = ExchangeNote(**note)  # type: ignore[arg-type] # one of its fields each
    return call_failure(error, noted, end_note="", redactor=PLAIN)


def test_a_refusal_is_told_with_what_its_body_says() -> None:
    said = told(STAND_IN, status=403, said="Your IP is not allowed")
    assert said.endswith('; check the row\'s headers; it says: "Your IP is not allowed"')


@given(st.integers(0, 400))
def test_no_part_of_a_secret_is_left_of_what_a_body_says(chars: int) -> None:
    note = ExchangeNote(status=500, said="x" * chars + SECRET)
    text = call_failure(STAND_IN, note, end_note="", redactor=Redactor([SECRET]))
    assert leaked(text) == []


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("Unexpected content type: text/html", "content of another kind than JSON-RPC (text/html)"),
        ("Redirect to http://b.test/ not followed; use that", "redirects to http://b.test/; check"),
        ("Redirect to http://b.test/ not followed: it would", "redirects to http://b.test/; check"),
        ("server answered a request with 202 Accepted", "accepted the request and gives no answer"),
        ("no such thing", "answered with an error: no such thing (-32600)"),
    ],
)
def test_an_answer_without_a_message_is_told_in_words_of_ours(message: str, words: str) -> None:
    assert words in told(MCPError(-32600, message))


def test_a_stream_that_ends_without_the_answer_is_told_as_one_that_broke_off() -> None:
    error = MCPError(-32000, "SSE stream ended without a response")
    assert told(error) == f"broke off its answer; {UNKNOWN}"
    assert is_cut_stream(error)
    assert not is_cut_stream(CLOSED)
    assert not is_cut_stream(KeyError("SSE stream"))


def test_an_answer_without_an_end_is_told_with_how_much_is_read_of_one() -> None:
    assert told(STAND_IN, is_too_long=True) == f"sent more than 64 MB for one answer; {UNKNOWN}"


def test_a_dial_that_ran_out_of_time_tells_what_came_of_its_first_attempt() -> None:
    before = Failure(text="exited with code 1: what?", detail="what?")
    failure = timed_out(2, "", PLAIN, before=before)
    assert failure.text == "did not answer within 2 s; before that it exited with code 1: what?"
    assert failure.detail == "what?"
    assert timed_out(2, "now", PLAIN, before=before).detail == "now"


def test_a_task_that_came_to_nothing_tells_it_itself() -> None:
    assert reason_words(TaskFailed("has called off the task"), PLAIN) == "has called off the task"
