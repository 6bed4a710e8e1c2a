"""What foreign loggers say holds no secret of a row while a connection of it lives."""

from __future__ import annotations

import importlib
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from host.errors import PoolError
from host.pool.log_redaction import LOGGERS, LogRedaction, RowSecretsFilter
from host.pool.server_pool import ServerPool
from host.text.redaction import Redactor
from tests.fakes.mcp_servers.http_server import http_server

SECRET = "canary-0123456789-abcdefghij"


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


def shown(record: logging.LogRecord) -> str:
    assert RowSecretsFilter(Redactor([SECRET])).filter(record)
    return logging.Formatter().format(record)


def record(message: str, *args: object, error: BaseException | None = None) -> logging.LogRecord:
    exc_info = (type(error), error, None) if error else None
    return logging.LogRecord("httpx2", logging.ERROR, "", 1, message, args, exc_info)


@given(st.lists(st.sampled_from([SECRET, "%", "plain", "{}", "\n"]), max_size=6))
def test_a_record_says_the_same_without_the_secrets(parts: list[str]) -> None:
    text = "".join(parts)
    assert shown(record("said %s", text)) == f"said {text.replace(SECRET, '***')}"


def test_what_is_sent_is_not_told_since_a_person_may_have_answered_it() -> None:
    assert shown(record("Sending client message: %s", {"name": "Ada"})) == (
        "Sending client message: (not shown)"
    )


def test_a_traceback_is_redacted_and_still_told() -> None:
    text = shown(record("it failed", error=ValueError(f"bad key {SECRET}")))
    assert text == "it failed\nValueError: bad key ***"


def test_what_a_validator_quotes_in_part_is_not_told() -> None:
    with pytest.raises(ValidationError) as error:
        TypeAdapter(int).validate_json(b"{no " + SECRET.encode() * 4)
    assert "0123456789" in str(error.value)
    text = shown(record("it failed: %s", error.value, error=error.value))
    assert "0123456789" not in text
    assert "input_value=***, input_type=" in text


def test_every_logger_of_what_a_connection_runs_on_is_filtered() -> None:
    modules = "mcp.client.sse mcp.client.auth.oauth2 mcp.client.streamable_http httpcore2 httpx2"
    for module in modules.split():
        importlib.import_module(module)
    known = logging.getLogger().manager.loggerDict
    used = {
        name
        for name, found in known.items()
        if isinstance(found, logging.Logger)
        and name.startswith(("client", "httpcore2", "httpx2", "mcp.client", "mcp.shared"))
    }
    unused = {"mcp.client.stdio", "mcp.shared.direct_dispatcher"}
    assert used - unused <= set(LOGGERS)


def filters() -> list[object]:
    return [each for name in LOGGERS for each in logging.getLogger(name).filters]


def test_the_filters_stand_for_a_block_only() -> None:
    before = filters()
    with LogRedaction(Redactor([SECRET])):
        assert len(filters()) == len(before) + len(LOGGERS)
    assert filters() == before


async def test_a_pool_logs_no_secret_of_an_address_or_a_header(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    before = filters()
    with http_server() as web:
        web.break_call = "garbage"
        place = web.url().removeprefix("http://")
        url = f"http://user:{SECRET}@{place}?token=query-{SECRET}"
        row = web.row(headers={"X-Key": f"header-{SECRET}"}).model_copy(update={"url": url})
        async with ServerPool.open([row]) as pool:
            assert await pool.wait_ready(10)
            assert (await pool.probe(row)).ok
            with pytest.raises(PoolError, match="cannot be read: it is not JSON-RPC"):
                await pool.call("web__write")
            assert filters() != before
    assert filters() == before
    assert "HTTP Request: POST http://***@" in caplog.text
    assert "/mcp?token=***" in caplog.text
    assert SECRET not in caplog.text
    assert "user:" not in caplog.text
