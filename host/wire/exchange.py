"""One request whose answer comes whole, as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anyio
import httpx2
import openai

from host.errors import EndpointRefused, EndpointSilent, WireError
from host.text.json_text import compact_json, parse_json_strict
from host.text.redaction import Redactor
from host.wire.answer_errors import failure_in_answer
from host.wire.failure import ForeignFailures, failure_in_stream, redactor_of


async def exchange(
    client: openai.AsyncOpenAI,
    url: str,
    body: Mapping[str, Any] | None = None,
    *,
    limit_seconds: float | None = None,
) -> object:
    """Sends one request and returns the JSON value it is answered with.

    Args:
        url: below the client's base URL, or absolute.
        body: what to POST; None to GET.
        limit_seconds: how long the whole exchange may take; None waits for ever.

    Raises:
        EndpointSilent: the limit ran out.
        WireError: any other failure; also an error in an answer with status 200.
    """
    redactor = redactor_of(client)
    with anyio.move_on_after(limit_seconds), ForeignFailures(redactor):
        response = await _answered(client, url, body)
        value = _decoded(response)
        if failure := _failure_in(value, redactor, is_answer=body is not None):
            raise failure
        return value
    raise EndpointSilent(limit_seconds or math.inf, True)


def _failure_in(value: object, redactor: Redactor, *, is_answer: bool) -> WireError | None:
    """An answer of a model has a known form; what else an endpoint replies may hold any field."""
    if is_answer:
        return failure_in_answer(value, redactor)
    return failure_in_stream(value, redactor) if isinstance(value, Mapping) else None


async def _answered(
    client: openai.AsyncOpenAI, url: str, body: Mapping[str, Any] | None
) -> httpx2.Response:
    if body is None:
        return await client.get(url, cast_to=httpx2.Response, options={"timeout": None})
    return await client.post(
        url,
        cast_to=httpx2.Response,
        content=compact_json(body).encode(),
        options={"timeout": None},
    )


def _decoded(response: httpx2.Response) -> object:
    with suppress(ValueError):
        return parse_json_strict(response.text)
    # Not raised from the reader's error, which holds the whole text, secrets and all.
    hint = "its answer is not JSON; check the base URL, which often ends in /v1"
    raise EndpointRefused(response.status_code, hint)
