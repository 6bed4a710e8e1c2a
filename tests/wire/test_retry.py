"""Which failures are tried again, and when."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import (
    ContextOverflow,
    EndpointRefused,
    EndpointSilent,
    EndpointUnavailable,
    StreamBroken,
)
from host.wire.retry import (
    backoff_seconds,
    is_model_loading,
    is_overflow,
    is_transient,
    refuses_request,
)


def unavailable(status: int | None, detail: str = "") -> EndpointUnavailable:
    return EndpointUnavailable(1, status, detail=detail)


@pytest.mark.parametrize(
    "error",
    [
        EndpointSilent(30, True),
        StreamBroken("connection lost"),
        unavailable(None),
        *(unavailable(status) for status in (408, 409, 429, 500, 502, 503, 504, 529)),
        unavailable(500, "The model produced output that does not match the expected peg-native"),
        unavailable(500, "Failed to parse input at pos 3: this is not supported"),
        unavailable(None, "could not parse the answer of the proxy"),
    ],
)
def test_what_may_pass_by_itself_is_transient(error: Exception) -> None:
    assert is_transient(error)


@pytest.mark.parametrize(
    "error",
    [
        ContextOverflow(9, 0, 8),
        *(EndpointRefused(status, "no") for status in (None, 400, 401, 403, 404, 422)),
        EndpointRefused(None, "failed to parse grammar"),
        RuntimeError("503"),
        ConnectionError("reset"),
        KeyboardInterrupt(),
        unavailable(
            500,
            "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] "
            "parse error at line 1, column 8: syntax error",
        ),
        unavailable(500, "Failed to parse tools: Unsupported tool type: custom; tools = [1]"),
        unavailable(500, "image input is not supported - hint: provide the mmproj"),
        unavailable(500, "[json.exception.parse_error.101] parse error at line 1, column 29: …"),
    ],
)
def test_what_will_fail_again_is_not_transient(error: BaseException) -> None:
    assert not is_transient(error)


OVERFLOWS = [
    "prompt is too long for this model's 4096 tokens",
    "request (9030 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "This model's maximum context length is 8192 tokens",
    "Please reduce the length of the messages: too many tokens",
    "the prompt EXCEEDS THE MAXIMUM number of Tokens",
    "the context window is full",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "The prompt (total length 9000) is longer than the maximum model length of 4096",
    "input token count 70000 is too long and exceeds limit of 65536",
    "Input is too long for requested model.",
    "Error code: 400 - {'code': 'context_length_exceeded'}",
]
OTHERS = [
    "field title too long for column",
    "the file exceeds the maximum upload size",
    "no such model",
    "",
    "reduce the length of the name",
    "output too long and exceeds limit of the log",
]
RATE_LIMITS = [
    "Request too large for m on tokens per min",
    "token quota hit, request too large for key",
    "Rate limit reached: tokens per day",
    "ratelimit exceeded",
    "rate_limit_exceeded",
    "Limit 30000 TPM",
    "over the (rpm) budget",
    "tokens per hour",
    "Request too large for model on tokens per second",
    "your request of 30000 tokens exceeds the maximum of 20000 tokens/minute",
    "context window: the tokens exceed the maximum of 900 requests / s",
    "per-minute token limit: this exceeds the maximum",
    "Tokens per day (TPD): request too large for m",
]
ALLOWANCES = [
    "This request exceeds the available token budget; retry in 20 s",
    "the prompt exceeds the maximum tokens, please try again after 3 seconds",
    "This request requires more credits: prompt exceeds the available token credits",
    "exceeds the maximum tokens of your free plan",
]
QUOTED = [
    "Failed to parse input at pos 3: the context window is 8k tokens {",
    "Failed to parse messages: no role; messages = [{'content': 'over the context length'}]",
]


@pytest.mark.parametrize("text", OVERFLOWS)
def test_a_request_larger_than_the_window_is_an_overflow(text: str) -> None:
    assert is_overflow(text)


@pytest.mark.parametrize("text", [*OTHERS, *RATE_LIMITS, *ALLOWANCES, *QUOTED])
def test_other_complaints_are_no_overflow(text: str) -> None:
    assert not is_overflow(text)


@given(
    st.sampled_from(OVERFLOWS + OTHERS),
    st.sampled_from(["; rate limit", " (rate-limit)", " 5 TPM", "\ntokens per min", " quota"]),
    st.sampled_from([str.upper, str.lower, str.title]),
    st.booleans(),
)
def test_a_rate_limit_wins_wherever_it_stands(
    text: str, mark: str, cased: Callable[[str], str], before: bool
) -> None:
    whole = f"{mark} {text}" if before else f"{text}{mark}"
    assert not is_overflow(cased(whole))


@pytest.mark.parametrize(
    "text",
    [
        "a context window above 200k tokens is not in your plan",
        "This model's maximum context length is 8192 tokens; other models need credits",
        "the prompt exceeds the maximum tokens per section",
    ],
)
def test_where_the_window_is_named_it_is_the_window(text: str) -> None:
    assert is_overflow(text)


@given(st.sampled_from(OVERFLOWS), st.sampled_from([str.upper, str.lower, str.swapcase]))
def test_an_overflow_is_known_in_any_case(text: str, cased: Callable[[str], str]) -> None:
    assert is_overflow(cased(text))


@pytest.mark.parametrize("word", ["rpmx", "atpm", "tpmrpm"])
def test_rate_units_count_only_as_whole_words(word: str) -> None:
    assert is_overflow(f"{word}: context window of 4096 tokens exceeded")


@pytest.mark.parametrize(
    ("error", "loading"),
    [
        (unavailable(503, "Loading model"), True),
        (unavailable(503, "the model is loading, wait"), True),
        (unavailable(503, "please wait (unavailable_error)"), True),
        (unavailable(503, "overloaded"), False),
        (unavailable(503, "Failed to parse input at pos 3: Loading model"), False),
        (unavailable(500, "Loading model"), False),
        (unavailable(None, "Loading model"), False),
        (EndpointRefused(503, "Loading model"), False),
        (RuntimeError("Loading model"), False),
    ],
)
def test_only_a_503_that_says_so_is_a_loading_model(error: Exception, loading: bool) -> None:
    assert is_model_loading(error) is loading


@pytest.mark.parametrize(
    ("error", "refuses"),
    [
        (EndpointRefused(400, ""), True),
        (EndpointRefused(422, ""), True),
        (EndpointRefused(404, ""), False),
        (EndpointRefused(401, ""), False),
        (EndpointRefused(None, ""), False),
        (unavailable(429), False),
        (ContextOverflow(1, 0, 1), False),
        (ValueError("400"), False),
    ],
)
def test_only_400_and_422_refuse_the_request(error: Exception, refuses: bool) -> None:
    assert refuses_request(error) is refuses


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(0, 0.5), (1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (-1, 0.5)]
)
def test_the_pause_doubles_up_to_eight_seconds(attempt: int, seconds: float) -> None:
    assert backoff_seconds(attempt, jitter=1.0) == seconds


@given(st.integers(0, 10**400), st.floats(0.5, 1.0))
def test_the_pause_is_bounded_and_never_shrinks(attempt: int, jitter: float) -> None:
    pause = backoff_seconds(attempt, jitter=jitter)
    assert 0.25 <= pause <= 8
    assert pause <= backoff_seconds(attempt + 1, jitter=jitter)
