"""When to try again, and how long to wait before it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import (
    ContextOverflow,
    EndpointRefused,
    EndpointSilent,
    EndpointUnavailable,
    StreamBroken,
    WireError,
)
from host.wire.patience import (
    MAX_RETRY_AFTER_SECONDS,
    Patience,
    Remedy,
    blames_output,
    is_about_output,
)
from host.wire.retry import backoff_seconds

BUSY = EndpointUnavailable(1, 429, detail="slow down")
LOADING = EndpointUnavailable(1, 503, detail="Loading model")
UNREADABLE = EndpointUnavailable(
    1, 500, detail="The model produced output that does not match the expected peg-native format"
)
_failures = st.sampled_from(
    [
        BUSY,
        LOADING,
        UNREADABLE,
        EndpointUnavailable(1, None, detail="no route"),
        EndpointUnavailable(1, 502, detail="bad gateway"),
        EndpointSilent(30, True),
        StreamBroken("lost"),
        EndpointRefused(400, "no such model"),
        ContextOverflow(9000, 0, 8192),
    ]
)


@given(
    st.lists(st.tuples(_failures, st.integers(0, 60)), max_size=40),
    st.integers(-1, 4),
    st.booleans(),
)
def test_patience_ends_and_spends_no_more_than_it_was_given(
    failures: list[tuple[WireError, int]], max_retries: int, may_call: bool
) -> None:
    patience = Patience(max_retries, 120, label="m")
    now, spent, remedies, loading_since = 0.0, 0, list[Remedy](), None
    for failure, pause in failures:
        wait = patience.wait_for(failure, now=now, jitter=0.75, may_call=may_call)
        if wait is None:
            continue
        spent += wait.spends_attempt
        remedies += [wait.remedy] if wait.remedy else []
        if failure is LOADING and not wait.spends_attempt:
            loading_since = now if loading_since is None else loading_since
            assert now - loading_since < 120
        assert wait.seconds <= MAX_RETRY_AFTER_SECONDS
        now += wait.seconds + pause
    assert spent == patience.retries <= max(0, max_retries)
    in_order = ["no calls", "other draw"] if may_call else ["other draw"]
    assert remedies == in_order[: len(remedies)]


@given(st.integers(0, 5), st.floats(0.5, 1), st.none() | st.floats(0, 1000))
def test_the_wait_is_the_longer_of_backoff_and_what_was_asked(
    attempt: int, jitter: float, asked: float | None
) -> None:
    patience = Patience(10, 0, label="m")
    busy = EndpointUnavailable(1, 429, retry_after_seconds=asked)
    waits = [patience.wait_for(busy, now=0, jitter=jitter) for _ in range(attempt + 1)]
    last = waits[-1]
    assert last is not None
    granted = min(asked or 0, MAX_RETRY_AFTER_SECONDS)
    assert last.seconds == max(backoff_seconds(attempt, jitter=jitter), granted)


def test_a_retry_says_what_happened_when_and_how_often() -> None:
    patience = Patience(2, 0, label="m")
    first = patience.wait_for(BUSY, now=0, jitter=1)
    assert first is not None
    assert re.fullmatch(r".*slow down; trying again in 500 ms \(1/2\)", first.notice)
    second = patience.wait_for(EndpointUnavailable(1, 429, retry_after_seconds=7), now=0, jitter=1)
    assert second is not None
    assert second.notice.endswith("trying again in 7 s (2/2)")
    assert patience.wait_for(BUSY, now=0, jitter=1) is None


def test_a_notice_is_one_clean_line() -> None:
    busy = EndpointUnavailable(1, 500, detail="two\nlines \x1b[31mred")
    wait = Patience(1, 0, label="m").wait_for(busy, now=0, jitter=1)
    assert wait is not None
    assert wait.notice.isprintable()
    assert "two lines red" in wait.notice


def test_a_loading_model_is_noticed_once_and_then_polled() -> None:
    patience = Patience(0, 7, label="m")
    waits = [patience.wait_for(LOADING, now=now, jitter=1) for now in (0, 3, 6, 9)]
    notices = [wait.notice for wait in waits if wait]
    assert [wait and wait.seconds for wait in waits] == [3, 3, 3, None]
    assert notices == ["m is still loading; waiting up to 7 s", "", ""]


@pytest.mark.parametrize("limit", [0, -1])
def test_no_patience_with_a_loading_model_is_possible(limit: float) -> None:
    assert Patience(0, limit, label="m").wait_for(LOADING, now=0, jitter=1) is None


@pytest.mark.parametrize("max_retries", [0, 3])
def test_an_unreadable_answer_is_asked_for_otherwise_whatever_the_retries(max_retries: int) -> None:
    patience = Patience(max_retries, 0, label="m")
    waits = [patience.wait_for(UNREADABLE, now=0, jitter=1, may_call=True) for _ in range(3)]
    assert [wait and (wait.remedy, wait.spends_attempt, wait.seconds) for wait in waits] == [
        ("no calls", False, 0),
        ("other draw", False, 0),
        None,
    ]
    patience = Patience(max_retries, 0, label="m")
    draws = [patience.wait_for(UNREADABLE, now=0, jitter=1, may_call=False) for _ in range(2)]
    assert [wait and wait.remedy for wait in draws] == ["other draw", None]


def test_a_server_that_cannot_be_told_not_to_call_gets_another_draw() -> None:
    refused = EndpointRefused(400, "Invalid tool_choice: none")
    patience = Patience(0, 0, label="m")
    assert patience.wait_for(refused, now=0, jitter=1, may_call=True) is None
    patience.wait_for(UNREADABLE, now=0, jitter=1, may_call=True)
    wait = patience.wait_for(refused, now=0, jitter=1, may_call=True)
    assert wait is not None
    assert wait.remedy == "other draw"
    assert patience.wait_for(refused, now=0, jitter=1, may_call=True) is None


@pytest.mark.parametrize(
    "error",
    [
        UNREADABLE,
        EndpointUnavailable(1, 500, detail="Failed to parse input at pos 184: <tool_call>"),
        EndpointRefused(400, "Failed to call a function. Please adjust your prompt."),
        EndpointRefused(
            400,
            "tool call validation failed: attempted to call tool 'x' which was not in request",
        ),
    ],
)
def test_what_servers_say_of_their_models_output_is_known(error: WireError) -> None:
    assert blames_output(error)


@pytest.mark.parametrize("status", [400, 500, 502])
def test_words_about_the_output_are_known_under_any_status(status: int) -> None:
    for said in (UNREADABLE.detail, "attempted to call tool 'set_stream_options'"):
        assert is_about_output(f"{status} from upstream: {said}")
    assert not is_about_output(f"{status} from upstream: failed to parse grammar")


def test_only_a_500_about_the_output_blames_the_output() -> None:
    assert blames_output(UNREADABLE)
    assert not blames_output(EndpointUnavailable(1, 502, detail=UNREADABLE.detail))
    assert not blames_output(EndpointUnavailable(1, 500, detail="out of memory"))
    assert not blames_output(EndpointRefused(400, UNREADABLE.detail))
