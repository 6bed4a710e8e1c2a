"""What the fleet starts without is said once, with a reason."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from host.cli.opening import (
    connecting_line,
    failure_lines,
    missing_lines,
    open_pool,
    unknown_tool,
)
from host.config import HostConfig
from host.records import PoolEvent
from tests.fakes.mcp_servers.processes import plain_row


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


def config(*identifiers: str) -> HostConfig:
    flags = {"dead": ["--exit-at-start", "no licence"], "mute": ["--mute"]}
    rows = tuple(plain_row(name, *flags.get(name, ())) for name in identifiers)
    return HostConfig(source="test", rows=rows)


async def test_what_is_missing_is_counted_and_named_and_only_the_untold_is_explained() -> None:
    everything = HostConfig(
        source="test", rows=config("plain", "dead", "mute").rows, unset={"lost": ("A", "B")}
    )
    heard: list[PoolEvent] = []
    settled = anyio.Event()

    def hear(event: PoolEvent) -> None:
        heard.append(event)
        if {"connect", "connect-failed"} <= {event.kind for event in heard}:
            settled.set()

    with anyio.fail_after(30):
        async with open_pool(everything, hear) as pool:
            line = connecting_line(pool)
            await settled.wait()
            missing, failures = missing_lines(pool, everything), failure_lines(pool)
            unknown = str(unknown_tool(pool, "dead__echo"))
    assert line == "connecting to plain, dead, mute"
    assert failures == ["✗ dead: exited with code 3: no licence"]
    assert missing == [
        "· mute: still connecting",
        "✗ lost: A, B is not set; set it, or write a default: ${NAME:-default}",
        "going on with 1 server, without dead, mute, lost",
    ]
    assert unknown.endswith('Server "dead" is not up: exited with code 3: no licence')


async def test_when_all_are_there_nothing_is_said() -> None:
    with anyio.fail_after(30):
        async with open_pool(config("plain"), lambda _: None) as pool:
            await pool.wait_ready()
            assert missing_lines(pool, config("plain")) == []
            assert failure_lines(pool) == []
            assert "tools list" in str(unknown_tool(pool, "other__tool"))
            assert connecting_line(pool) == ""


async def test_a_sync_of_an_opened_pool_dials_what_is_due() -> None:
    with anyio.fail_after(30):
        async with open_pool(config("dead"), lambda _: None) as pool:
            await pool.wait_ready()
            (before,) = pool.state()
            pool.sync_soon()
            await pool.flush()
            (after,) = pool.state()
    assert (before.status, after.status) == ("error", "error")
