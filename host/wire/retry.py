"""Which failures of an endpoint are worth another try, and how long to wait before it.

Everything here judges our own errors: foreign ones are translated where they are met. Wordings are
those that servers are known to send (agent-core §5, design §8).
"""

from __future__ import annotations

import re

from host.errors import EndpointRefused, EndpointSilent, EndpointUnavailable, StreamBroken
from host.wire.quoted_text import own_words_in

SMALLEST_LIKELY_WINDOW = 8192
"""Tokens; a stated context window below this is taken for a mistake and not enforced."""

LOADING_POLL_SECONDS = 3.0
LOADING_TIMEOUT_SECONDS = 120.0

FIRST_BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 8.0

_DOUBLINGS_TO_MAX = 4
_BUSY_STATUSES = frozenset({408, 409, 429})

_RATE_LIMIT = re.compile(
    r"per[ -](?:sec(?:ond)?\b|min|hour|day)|rate.?limit|\b[rt]p[smhd]\b|quota"
    r"|\b(?:tokens?|requests?) ?/ ?(?:s|m|h|d|sec|min|hour|day|second|minute)s?\b",
    re.I | re.A,
)
_ALLOWANCE = re.compile(
    r"\bcredits?\b|\b(?:your|the|this|current|free)(?: \w+)? plan\b|try (?:again )?(?:in|after) \d",
    re.I | re.A,
)
_OF_WINDOW = re.compile(r"context (?:size|length|window)", re.I)
_TOO_MUCH = re.compile(
    r"exceeds? the (?:available|maximum)|too (?:long|large) for|reduce the length", re.I
)
_OF_TOKENS = re.compile(r"token|context", re.I)
_OVERFLOW = re.compile(
    r"prompt is too long: \d+ tokens > \d+ maximum"  # Anthropic
    r"|longer than the maximum model length"  # vLLM
    r"|input is too long for requested model"  # Bedrock
    r"|context_length_exceeded",  # OpenAI's code
    re.I | re.A,
)
_INPUT_LIMIT = re.compile(r"too long and exceeds limit of", re.I)
_INPUT = re.compile(r"\binput", re.I | re.A)
_LOADING = re.compile(r"loading model|model is loading|unavailable_error", re.I)
_OUR_FAULT = re.compile(  # llama-server answers 500 for these (b10434)
    r"failed to parse (?:tool call arguments|tools|messages)|(?:is|are) not supported"
    r"|does not support|\[json\.exception\.",
    re.I,
)


def is_transient(error: BaseException) -> bool:
    """Whether the same request may well succeed a moment later.

    True for silence, a broken stream, a connection that failed, and the statuses of
    `is_transient_status`, unless the text says that our own request was wrong: llama-server
    answers 500 for that too (endpoints, "Exact answers"). False for everything else.
    """
    match error:
        case EndpointSilent() | StreamBroken():
            return True
        case EndpointUnavailable(status=status):
            return status is None or (is_transient_status(status) and not blames_request(error))
        case _:
            return False


def blames_request(error: BaseException) -> bool:
    """Whether a server that answered 5xx says that our own request was wrong."""
    match error:
        case EndpointUnavailable(status=int() as status, detail=detail) if status >= 500:
            return bool(_OUR_FAULT.search(own_words_in(detail)))
        case _:
            return False


def is_transient_status(status: int) -> bool:
    """Whether an HTTP status speaks of the server's state and not of our request."""
    return status in _BUSY_STATUSES or status >= 500


def is_overflow(text: str) -> bool:
    """Whether an endpoint's words say that the request does not fit the context window.

    A text about a rate or a quota never does, even when it calls the request too large; one about
    credits, a plan or a wait does only where it names the context window. What it quotes does not
    count.
    """
    said = own_words_in(text)
    if _RATE_LIMIT.search(said):
        return False
    if _OF_WINDOW.search(said) or _OVERFLOW.search(said):
        return True
    if _INPUT_LIMIT.search(said) and _INPUT.search(said):
        return True
    is_too_much = _TOO_MUCH.search(said) and _OF_TOKENS.search(said)
    return bool(is_too_much and not _ALLOWANCE.search(said))


def is_model_loading(error: BaseException) -> bool:
    """Whether the endpoint is up and still reading its model: a 503 that says so."""
    match error:
        case EndpointUnavailable(status=503, detail=detail):
            return bool(_LOADING.search(own_words_in(detail)))
        case _:
            return False


def refuses_request(error: BaseException) -> bool:
    """Whether the endpoint objected to the request's form: status 400 or 422, nothing else."""
    match error:
        case EndpointRefused(status=400 | 422):
            return True
        case _:
            return False


def backoff_seconds(attempt: int, *, jitter: float) -> float:
    """The pause before retry number ``attempt`` (from 0): 0.5 s doubling to 8 s, times ``jitter``.

    Args:
        jitter: a factor drawn by the caller, evenly from 0.5 to 1.
    """
    doublings = min(max(attempt, 0), _DOUBLINGS_TO_MAX)
    seconds: float = FIRST_BACKOFF_SECONDS * (1 << doublings)
    return min(MAX_BACKOFF_SECONDS, seconds) * jitter
