"""What stands in the body of an error, wherever servers put it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from host.text.json_text import compact_json

_MAX_LEVELS = 8
_STATUS_OF_KIND = {
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "server_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""What errors inside an answer are called in place of a status (OpenAI, OpenRouter, Anthropic)."""
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TITLE = re.compile(r"<title>\s*(.*?)\s*</title>", re.IGNORECASE | re.DOTALL)


def said_in(body: object) -> str:
    """The words of an error body: its inner message, wherever servers put it.

    OpenAI's ``error.message``, FastAPI's ``detail`` (each complaint behind the field it is about),
    Google's list of one, a page's title; what OpenRouter passes on from the provider
    (``metadata.raw``) is appended. "" for nothing.
    """
    return _said(body, _MAX_LEVELS)


def _said(body: object, levels: int) -> str:
    match body if levels else _printed(body):
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
    except (ValueError, RecursionError):  # NaN, which the SDK's reader lets through
        return _printed(value)


def _printed(value: object) -> str:
    """The value as Python writes it; "" for one too deeply nested for that."""
    try:
        return str(value)
    except RecursionError:
        return ""


def error_of_event(event: Mapping[str, Any]) -> object:
    """The error that an event of a stream holds, or a whole answer; falsy for none.

    Seen: ``{"error": {"code": 500, …}}`` (llama-server b10434, OpenRouter, also in its choice),
    ``{"error": "…"}`` (LM Studio), ``{"object": "error", "message": …}`` (vLLM), and the error
    alone.
    """
    return event.get("error") or _error_alone(event) or _error_of_choice(event)


def _error_alone(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    is_told = isinstance(event.get("message") or event.get("detail"), str)
    is_failure = is_told and "choices" not in event and status_in(event) is not None
    return event if is_failure or event.get("object") == "error" else None


def _error_of_choice(event: Mapping[str, Any]) -> object:
    match event:
        case {"choices": [{"error": error}, *_]}:
            return error
        case _:
            return None


def _snake(kind: str) -> str:
    """``InternalError`` as ``internal_error``."""
    return _HUMP.sub("_", kind).lower()


def status_in(error: object) -> int | None:
    """The status that an error inside an answer names: as a number, or by its kind."""
    if not isinstance(error, Mapping):
        return None
    for field in ("status", "status_code", "code"):
        value = error.get(field)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value[:4])
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    kinds = [error.get("code"), error.get("type")]
    known = (_STATUS_OF_KIND.get(_snake(kind)) for kind in kinds if isinstance(kind, str))
    return next((status for status in known if status), None)
