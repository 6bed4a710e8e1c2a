"""Errors that stand inside an answer with status 200, told apart from what a model says.

`host.wire.failure.failure_in_stream` reads the ``error`` of an event and what has a status. Here
are the forms that need more: errors wrapped in lists or in each other, and errors alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from host.errors import WireError
from host.text.redaction import Redactor
from host.wire.failure import failure_in_stream

_MAX_WRAPPERS = 8


def failure_in_answer(value: object, redactor: Redactor) -> WireError | None:
    """Our error for what came in place of a chunk or of an answer; None where it is one.

    Seen besides what `failure_in_stream` reads: ``{"message": …}`` and ``{"detail": …}`` alone
    (FastAPI), with a code that is no status (``"InternalError"``, 1302: Alibaba, Zhipu) or with
    none, ``{"errors": […]}`` (Cloudflare), ``[{"error": …}]`` (Google), ``{"error": "…", "code":
    503}`` and ``{"error": true, "message": …}``. What holds choices or counts is an answer,
    whatever else it says, unless it names an ``error``.
    """
    event = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(event, Mapping):
        return None
    error = event.get("error") or (_said_alone(event) if event is value else None)
    if not error:
        return failure_in_stream(event, redactor)
    inner = _unwrapped(error)
    if not isinstance(inner, Mapping | list):
        inner = {**event, "error": inner}  # its neighbours may hold the words, or the status
    return failure_in_stream({"error": inner}, redactor)


def _said_alone(event: Mapping[str, Any]) -> object:
    if event.get("choices") is not None or event.get("usage"):
        return None
    if errors := event.get("errors"):
        return errors
    is_said = any(_is_text(event.get(name)) for name in ("message", "msg"))
    return event if is_said or event.get("detail") else None


def _unwrapped(error: object) -> object:
    for _ in range(_MAX_WRAPPERS):
        match error:
            case {"message": str(message)} if message:
                return error
            case [Mapping() as inner, *_] if inner and "msg" not in inner:
                error = inner
            case {"error": Mapping() | list() as inner} | {"errors": list() as inner} if inner:
                error = inner
            case _:
                return error
    return error


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)
