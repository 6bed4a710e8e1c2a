"""Foreign failures of an endpoint, turned into ours where they are met.

Reading happens in two phases. Until the headers are there, the openai SDK speaks: it wraps what
httpx2 raises and judges the status. While the body is read, httpx2 speaks for itself, and an error
may also stand in the stream. Cancellation is no failure and is never caught here.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any

import anyio
import httpx2
import openai

from host.errors import (
    ContextOverflow,
    EndpointRefused,
    EndpointSilent,
    EndpointUnavailable,
    StreamBroken,
    WireError,
)
from host.text.redaction import Redactor, redact_url
from host.text.secret_values import secret_values
from host.text.truncation import truncate_text
from host.wire.error_bodies import error_of_event, said_in, status_in
from host.wire.retry import is_overflow, is_transient_status
from host.wire.scrubbing import scrub
from host.wire.settings import NO_KEY

MAX_BODY_CHARS = 4000
"""As much of an endpoint's words as an error keeps."""

IN_ANSWER = "(a code inside its answer, not its HTTP status) "
"""Said in front of an endpoint's words when the status comes from an error in an answer."""

CONNECTION_FAILURES: tuple[type[Exception], ...] = (
    httpx2.RequestError,
    httpx2.InvalidURL,
    ssl.SSLError,
    anyio.EndOfStream,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
)
"""What reading a body may raise without the SDK around it (openai 3.57 names the same gaps)."""

_FOREIGN: tuple[type[Exception], ...] = (openai.OpenAIError, *CONNECTION_FAILURES)

_NEVER_OF_SIZE = frozenset({401, 402, 403, 429})
"""They speak of key, money, permission and rate; what is too large then is no prompt."""
_OVERFLOW_MARKS = {"context_length_exceeded", "exceed_context_size_error"}
_TELLING_MARKS = {"unavailable_error"}


class ForeignFailures:
    """A scope that raises ours for what the SDK or the connection raises inside it.

    The foreign error stays as ``__cause__``, scrubbed of secrets: a traceback prints its words,
    and a report may hold all of it.
    """

    def __init__(self, redactor: Redactor, *, now: Callable[[], float] = time.time) -> None:
        self._redactor = redactor
        self._now = now

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, _FOREIGN):
            failure = failure_of(error, self._redactor, now=self._now)
            scrub(error, self._redactor)
            raise failure from error


def failure_of(
    error: Exception, redactor: Redactor, *, now: Callable[[], float] = time.time
) -> WireError:
    """Our error for one of the SDK or of the connection; its words are redacted.

    A connection that fails before the answer began is `EndpointUnavailable`, one that fails
    while the body is read is `StreamBroken`; a read that ran into the client's own time limit is
    `EndpointSilent`.
    """
    match error:
        case openai.APIStatusError():
            said = _Said.in_body(error.body, redactor, status=error.status_code)
            return said.failure(retry_after_seconds(error.response.headers, now=now))
        case openai.APIConnectionError():
            return _unreached(error, redactor)
        case httpx2.ReadTimeout() if limit := _read_limit(error):
            return EndpointSilent(limit, False)
        case openai.OpenAIError():
            return EndpointRefused(None, redactor.redact(str(error)))
        case _:
            return StreamBroken(redactor.redact(str(error)) or type(error).__name__)


def failure_in_stream(event: Mapping[str, Any], redactor: Redactor) -> WireError | None:
    """Our error for an error event of a stream, or None for an ordinary chunk.

    A code in it counts as a status does, and so does a kind that stands for one; the words say
    that it is none (``IN_ANSWER``).
    """
    inner = error_of_event(event)
    if not inner:
        return None
    return _Said.in_body(inner, redactor, status=status_in(inner)).failure_inside()


def retry_after_seconds(
    headers: Mapping[str, str], *, now: Callable[[], float] = time.time
) -> float | None:
    """The wait an endpoint asks for, never negative; None when it asks for none readably.

    ``retry-after-ms`` first (OpenAI), then ``Retry-After`` as seconds or as an HTTP date.
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after")
    seconds = _seconds(asked)
    if seconds is not None or not asked:
        return seconds
    try:
        until = parsedate_to_datetime(asked)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, until.timestamp() - now())


def words_of(error: BaseException) -> str:
    """What the endpoint itself said, without our own words around it; else the error's text."""
    match error:
        case EndpointRefused(body=words) | EndpointUnavailable(detail=words) if words:
            return words.removeprefix(IN_ANSWER)
        case _:
            return str(error)


def redactor_of(client: openai.AsyncOpenAI) -> Redactor:
    """A redactor for what a client knows and nobody else may read: key and URL credentials.

    What stands in the query of the address may be one of them.
    """
    asked = [str(value) for value in client.default_query.values()]
    keys = [client.api_key] if client.api_key != NO_KEY else []
    return Redactor((*secret_values(url=str(client.base_url)), *asked, *keys))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What an endpoint said when it failed."""

    status: int | None
    text: str
    overflow: bool = False
    needed_tokens: int = 0
    limit_tokens: int = 0

    @classmethod
    def in_body(cls, body: object, redactor: Redactor, *, status: int | None) -> _Said:
        facts: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
        marks = {mark for mark in (facts.get("code"), facts.get("type")) if isinstance(mark, str)}
        text = said_in(body)
        for mark in sorted(marks & _TELLING_MARKS):
            text = text if mark in text else f"{text} ({mark})".strip()
        text = truncate_text(redactor.redact(text), MAX_BODY_CHARS)
        return cls(
            status=status,
            text=text,
            overflow=bool(marks & _OVERFLOW_MARKS)
            or (status not in _NEVER_OF_SIZE and is_overflow(text)),
            needed_tokens=_count(facts.get("n_prompt_tokens")),
            limit_tokens=_count(facts.get("n_ctx")),
        )

    def failure(self, retry_after: float | None = None) -> WireError:
        if self.overflow:
            return ContextOverflow(self.needed_tokens, 0, self.limit_tokens, detail=self.text)
        if self.status is not None and is_transient_status(self.status):
            return EndpointUnavailable(
                1, self.status, detail=self.text, retry_after_seconds=retry_after
            )
        return EndpointRefused(self.status, self.text)

    def failure_inside(self) -> WireError:
        """The failure when it was said inside an answer that had begun well."""
        if self.status is None or self.overflow:
            return self.failure()
        words = truncate_text(self.text, MAX_BODY_CHARS - len(IN_ANSWER))
        return replace(self, text=IN_ANSWER + words).failure()


def _unreached(error: openai.APIConnectionError, redactor: Redactor) -> WireError:
    cause = error.__cause__
    if isinstance(cause, httpx2.ReadTimeout) and (limit := _read_limit(cause)):
        return EndpointSilent(limit, True)
    why = str(cause or "") or str(error)
    url = redact_url(str(error.request.url))
    return EndpointUnavailable(1, None, detail=redactor.redact(f"{url}: {why}"))


def _read_limit(error: httpx2.ReadTimeout) -> float | None:
    limits: Mapping[str, Any] = error.request.extensions.get("timeout", {})
    limit = limits.get("read")
    return float(limit) if isinstance(limit, int | float) else None


def _seconds(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
