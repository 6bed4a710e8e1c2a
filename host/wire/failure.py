"""Foreign failures of an endpoint, turned into ours where they are met.

Reading happens in two phases. Until the headers are there, the openai SDK speaks: it wraps what
httpx2 raises and judges the status. While the body is read, httpx2 speaks for itself, and an error
may also stand in the stream. Cancellation is no failure and is never caught here.
"""

from __future__ import annotations

import re
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
from host.text.json_text import compact_json
from host.text.redaction import Redactor, redact_url, secret_values
from host.text.truncation import truncate_text
from host.wire.retry import is_overflow, is_transient_status
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

_MAX_LEVELS = 8
_WITH_EXCHANGES: tuple[type[Exception], ...] = (openai.OpenAIError, httpx2.HTTPError)
_OF_THE_BYTES = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_OVERFLOW_MARKS = {"context_length_exceeded", "exceed_context_size_error"}
_TELLING_MARKS = {"unavailable_error"}
_STATUS_OF_KIND = {
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "server_error": 500,
    "internal_server_error": 500,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""What errors inside an answer are called in place of a status (OpenAI, OpenRouter, Anthropic)."""
_TITLE = re.compile(r"<title>\s*(.*?)\s*</title>", re.IGNORECASE | re.DOTALL)


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

    Seen: ``{"error": {"code": 500, …}}`` (llama-server b10434, OpenRouter, also in its choice),
    ``{"error": "…"}`` (LM Studio), ``{"object": "error", "message": …}`` (vLLM), and the error
    alone. A code in it counts as a status does, and so does a kind that stands for one; the words
    say that it is none (``IN_ANSWER``).
    """
    inner = event.get("error") or _error_alone(event) or _error_of_choice(event)
    if not inner:
        return None
    return _Said.in_body(inner, redactor, status=_status_in(inner)).failure_inside()


def _error_alone(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    is_told = isinstance(event.get("message") or event.get("detail"), str)
    is_failure = is_told and "choices" not in event and _status_in(event) is not None
    return event if is_failure or event.get("object") == "error" else None


def _error_of_choice(event: Mapping[str, Any]) -> object:
    match event:
        case {"choices": [{"error": error}, *_]}:
            return error
        case _:
            return None


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


def said_in(body: object) -> str:
    """The words of an error body: its inner message, wherever servers put it.

    OpenAI's ``error.message``, FastAPI's ``detail`` (each complaint behind the field it is about),
    Google's list of one, a page's title; what OpenRouter passes on from the provider
    (``metadata.raw``) is appended. "" for nothing.
    """
    return _said(body, _MAX_LEVELS)


def _said(body: object, levels: int) -> str:
    match body if levels else str(body):
        case None:
            return ""
        case str(text):
            title = _TITLE.search(text)
            return title[1] if title else text.strip()
        case [{"msg": str()}, *_] as complaints:
            return "; ".join(_complaint(one) for one in complaints if isinstance(one, Mapping))
        case [first, *_]:
            return _said(first, levels - 1)
        case {"message": str(message), "metadata": {"raw": raw}} if message and raw:
            return f"{message}: {_said(raw, levels - 1)}"
        case {"message": str(message)} | {"msg": str(message)} if message:
            return message
        case {"error": inner} | {"detail": inner} | {"message": Mapping() as inner} if inner:
            return _said(inner, levels - 1)
        case other:
            return _as_text(other)


def _complaint(entry: Mapping[str, Any]) -> str:
    """One complaint of pydantic's: ``{"loc": ["body", "top_k"], "msg": …}``."""
    place = entry.get("loc")
    steps = [str(step) for step in place] if isinstance(place, list) else []
    field = ".".join(steps[1:] if steps[:1] == ["body"] else steps)
    words = str(entry.get("msg", ""))
    return f"{field}: {words}" if field else words


def _as_text(value: object) -> str:
    if isinstance(value, Mapping):  # the names of fields that say nothing are no words
        value = {key: inner for key, inner in value.items() if inner not in (None, "")}
        if not value:
            return ""
    try:
        return compact_json(value)
    except ValueError:  # NaN, which the SDK's reader lets through
        return str(value)


def words_of(error: BaseException) -> str:
    """What the endpoint itself said, without our own words around it; else the error's text."""
    match error:
        case EndpointRefused(body=words) | EndpointUnavailable(detail=words) if words:
            return words.removeprefix(IN_ANSWER)
        case _:
            return str(error)


def redactor_of(client: openai.AsyncOpenAI) -> Redactor:
    """A redactor for what a client knows and nobody else may read: key and URL credentials."""
    key = client.api_key
    return Redactor((*secret_values(url=str(client.base_url)), *([key] if key != NO_KEY else [])))


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
            overflow=bool(marks & _OVERFLOW_MARKS) or is_overflow(text),
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


def _status_in(error: object) -> int | None:
    if not isinstance(error, Mapping):
        return None
    for field in ("status", "status_code", "code"):
        value = error.get(field)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value[:4])
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    kinds = [error.get("code"), error.get("type")]
    known = (_STATUS_OF_KIND.get(kind) for kind in kinds if isinstance(kind, str))
    return next((status for status in known if status), None)


def _seconds(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def scrub(error: BaseException, redactor: Redactor) -> None:
    """Cleans an error in place, and those it came from: words, bodies, requests and responses.

    An error of the SDK holds the answer's body, the response with its text, and the request with
    its ``Authorization`` header; whatever reports a cause whole would tell them.

    Of what it was raised while handling (``__context__``), only errors of the SDK and its HTTP
    client are followed: others may be the caller's own.
    """
    due: list[BaseException] = [error]
    seen: set[int] = set()
    while due:
        one = due.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        one.args = tuple(redactor.redact(arg) if isinstance(arg, str) else arg for arg in one.args)
        for name, value in list(vars(one).items()):
            setattr(one, name, cleaned(value, redactor))
        if one.__cause__ is not None:
            due.append(one.__cause__)
        if isinstance(one.__context__, _WITH_EXCHANGES):
            due.append(one.__context__)


def cleaned(value: Any, redactor: Redactor, levels: int = _MAX_LEVELS) -> Any:
    """The value without secrets: texts redacted at any depth, an HTTP exchange as an outline.

    Args:
        levels: how many levels of containers are kept; what lies deeper becomes None.
    """
    match value:
        case str():
            return redactor.redact(value)
        case Mapping() | list() if levels <= 0:
            return None
        case Mapping():
            return {
                cleaned(key, redactor): cleaned(item, redactor, levels - 1)
                for key, item in value.items()
            }
        case list():
            return [cleaned(item, redactor, levels - 1) for item in value]
        case httpx2.Request():
            return _request_outline(value, redactor)
        case httpx2.Response():
            return _response_outline(value, redactor)
        case _:
            return value


def _request_outline(request: httpx2.Request, redactor: Redactor) -> httpx2.Request:
    """Method and address without credentials and query; no headers and no body."""
    url = request.url.copy_with(userinfo=b"", query=None, fragment=None)
    shown = str(url)
    return httpx2.Request(request.method, shown if redactor.redact(shown) == shown else "")


def _response_outline(response: httpx2.Response, redactor: Redactor) -> httpx2.Response:
    """Status, headers and what was read of the body."""
    try:
        text = response.text
    except httpx2.ResponseNotRead:
        text = ""
    try:
        request = _request_outline(response.request, redactor)
    except RuntimeError:  # a response that no request belongs to
        request = None
    headers = [
        (name, redactor.redact(value))
        for name, value in response.headers.multi_items()
        if name.lower() not in _OF_THE_BYTES
    ]
    return httpx2.Response(
        response.status_code, headers=headers, text=redactor.redact(text), request=request
    )
