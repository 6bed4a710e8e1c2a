"""Foreign errors and HTTP exchanges without the secrets that they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2
import openai

from host.text.redaction import REDACTED, Redactor

_MAX_LEVELS = 8
_WITH_EXCHANGES: tuple[type[Exception], ...] = (openai.OpenAIError, httpx2.HTTPError)
_OF_THE_BYTES = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})
_SCHEMAS = "host.schemas"
"""Where the outline of a request says whether its body held schemas, of tools or of an answer."""


def scrub(error: BaseException, redactor: Redactor) -> None:
    """Cleans an error in place, and those it came from: words, bodies, requests and responses.

    An error of the SDK holds the answer's body, the response with its text, and the request with
    its ``Authorization`` header; whatever reports a cause whole would tell them. What cannot be
    cleaned is dropped: this never raises.

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
        one.args = tuple(
            _scrubbed(arg, redactor) if isinstance(arg, str) else arg for arg in one.args
        )
        held = vars(one)
        held |= {name: _scrubbed(value, redactor) for name, value in held.items()}
        if one.__cause__ is not None:
            due.append(one.__cause__)
        if isinstance(one.__context__, _WITH_EXCHANGES):
            due.append(one.__context__)


def carried_schemas(error: BaseException | None) -> bool | None:
    """Whether the request that a scrubbed error answers held schemas; None if not known."""
    request = error.request if isinstance(error, openai.APIStatusError) else None
    held = request.extensions.get(_SCHEMAS) if request is not None else None
    return held if isinstance(held, bool) else None


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


def _scrubbed(value: Any, redactor: Redactor) -> Any:
    try:
        return cleaned(value, redactor)
    except Exception:  # noqa: BLE001  # the error that is being cleaned counts, not this one
        match value:
            case httpx2.Response():
                return httpx2.Response(value.status_code, request=httpx2.Request("", ""))
            case httpx2.Request():
                return httpx2.Request(value.method, "")
            case str():
                return REDACTED
            case _:
                return None


def _request_outline(request: httpx2.Request, redactor: Redactor) -> httpx2.Request:
    """Method and address without credentials and query, and what kind of body; no headers."""
    url = request.url.copy_with(userinfo=b"", query=None, fragment=None)
    shown = str(url)
    return httpx2.Request(
        request.method,
        shown if redactor.redact(shown) == shown else "",
        extensions={_SCHEMAS: _has_schemas(request)},
    )


def _has_schemas(request: httpx2.Request) -> bool | None:
    try:
        body = request.content
    except httpx2.RequestNotRead:
        return None
    # Inside a text the quotes would be escaped.
    return b'"tools":' in body or b'"response_format":' in body


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
        (name, _header_value(value, redactor))
        for name, value in response.headers.raw
        if name.lower() not in _OF_THE_BYTES
    ]
    return httpx2.Response(
        response.status_code, headers=headers, text=redactor.redact(text), request=request
    )


def _header_value(value: bytes, redactor: Redactor) -> bytes:
    """A header's bytes, in which a secret may stand in either of the charsets that are in use."""
    for charset in ("utf-8", "latin-1"):
        text = value.decode(charset, "surrogateescape")
        value = redactor.redact(text).encode(charset, "surrogateescape")
    return value
