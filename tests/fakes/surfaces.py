"""Everything that anybody can read of a pool, put together as one text."""

from __future__ import annotations

import base64
import json
import logging
import traceback
from collections.abc import Awaitable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from host.errors import HostError
from host.pool.server_pool import ServerPool
from tests.fakes.mcp_servers.watching import Watch
from tests.fakes.spans import Spans

_MAX_DEPTH = 6


def spellings(secret: str, *users: str) -> set[str]:
    """The secret as it may stand in a text: as it is, encoded for addresses, JSON, Basic, code.

    Half of it, as a cut leaves it, is as bad.
    """
    told = [secret, *(f"{user}:{secret}" for user in ("", *users))]
    return {
        *(secret, secret[: len(secret) // 2 + 1], quote(secret, safe=""), quote_plus(secret)),
        *(json.dumps(secret)[1:-1], repr(secret)[1:-1]),
        *(base64.b64encode(text.encode()).decode().rstrip("=") for text in told),
        *(base64.urlsafe_b64encode(text.encode()).decode().rstrip("=") for text in told),
    }


def shown_in(text: str, secret: str, *users: str) -> list[str]:
    """The lines of the text in which the secret stands, in whatever spelling."""
    forms = spellings(secret, *users)
    return [line for line in text.splitlines() if any(form in line for form in forms)]


class EveryRecord(logging.Handler):
    """Keeps every record of every logger, at all levels, formatted as log files have it."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        told = logging.Formatter("%(name)s %(message)s").format(record)
        self.lines.append(f"log: {told} {record.args!r} {record.msg!r}")


class Surfaces:
    """Collects what is told of a pool.

    Args:
        spans: where the spans of the MCP SDK go; put there by ``spans_of_the_sdk``.

    Attributes:
        to_models: what only models read.
    """

    def __init__(self, pool: ServerPool, spans: Spans, log: EveryRecord) -> None:
        self._pool = pool
        self._spans = spans
        self._log = log
        self._watch = Watch(pool)
        self._said: list[str] = []
        self.to_models: list[str] = []

    async def raises(self, work: Awaitable[Any]) -> None:
        """Await what raises an error of ours, and keep all that hangs on it."""
        with pytest.raises(HostError) as caught:
            await work
        self.error(caught.value)

    def error(self, error: BaseException) -> None:
        """Keep an error, those it came from, and whatever they hold."""
        self._said += traceback.format_exception(error)
        self._said += [f"error: {line}" for line in _chain(error, set())]

    def say(self, *told: object) -> None:
        """Keep whatever else somebody can read."""
        self._said += [f"told: {each!r} {each}" for each in told]

    def text(self) -> str:
        """All of it, with how the pool is now."""
        pool, parts = self._pool, [*self._said, *self._log.lines]
        parts += [f"event: {event!r}" for event in self._watch.events]
        parts += [f"state: {state!r}" for state in pool.state()]
        parts += [f"row: {state.row.model_dump_json()}" for state in pool.state()]
        parts += [f"row: {state.row!r} {state.row}" for state in pool.state(secrets=True)]
        for entry in pool._fleet.entries.values():
            held = (entry.failure, entry.words, entry.redactor, entry.redactor.for_models)
            parts.append(f"entry: {held!r}")
        for span in self._spans.spans:
            told = (span.name, span.attributes, span.events, span.description)
            parts.append(f"span: {told!r}")
        parts += [f"object: {each!r}" for each in (pool, pool._commons, pool._fleet)]
        return "\n".join(part.replace("\n", " ") for part in parts)

    def models_text(self) -> str:
        """What models read: the tools and what was kept of answers."""
        pool = self._pool
        parts: list[object] = [*pool.tools(), *pool.catalogue(), *pool.instructions()]
        parts += [pool.describe(tool["function"]["name"]) for tool in pool.tools()]
        return "\n".join([*map(repr, parts), *self.to_models])


def _chain(error: BaseException, seen: set[int]) -> Iterator[str]:
    if id(error) in seen:
        return
    seen.add(id(error))
    yield f"{error!r} {error.args!r} {getattr(error, '__notes__', ())!r}"
    for held in vars(error).values():
        yield from _held(held, seen, _MAX_DEPTH)
    for inner in (error.__cause__, error.__context__):
        if inner is not None:
            yield from _chain(inner, seen)


def _held(value: Any, seen: set[int], depth: int) -> Iterator[str]:
    """What an attribute of an error shows to whoever looks into it."""
    if isinstance(value, BaseException):
        yield from _chain(value, seen)
    elif is_dataclass(value) and depth:
        for field in fields(value):
            yield from _held(getattr(value, field.name), seen, depth - 1)
    else:
        yield repr(value)


@pytest.fixture
def spans_of_the_sdk(monkeypatch: pytest.MonkeyPatch) -> Spans:
    """The spans that the MCP SDK makes."""
    spans = Spans()
    monkeypatch.setattr("mcp.shared._otel._tracer", spans)
    return spans


@pytest.fixture
def every_record() -> Iterator[EveryRecord]:
    """Whatever anybody logs, at all levels."""
    kept, root = EveryRecord(), logging.getLogger()
    level = root.level
    root.setLevel(logging.DEBUG)
    root.addHandler(kept)
    yield kept
    root.removeHandler(kept)
    root.setLevel(level)
