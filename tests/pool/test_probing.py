"""A probe dials once, tells what is there, stores nothing, and never raises."""

from __future__ import annotations

import anyio
import pytest

from host.pool.probing import probe
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row, tool
from tests.pool.pools import memory_pool, quiet_settings


async def test_a_probe_tells_what_a_server_offers_and_hangs_up() -> None:
    servers = Servers(fs=EchoServer())
    with anyio.fail_after(100):
        report = await probe(memory_row("fs"), settings=quiet_settings(servers))
    assert (report.ok, report.error, report.instructions) == (True, "", "Echoes.")
    assert [found.name for found in report.tools] == ["ping", "echo", "add", "read"]
    assert report.tools[3].title == "Read a thing"
    assert report.tools[3].annotations == {"readOnlyHint": True}
    assert len(report.tools_fingerprint) == 64
    assert report.era == "2026-07-28"
    assert servers.opened["fs"][0].closed.is_set()


async def test_a_probe_of_a_pool_leaves_the_pool_as_it_was() -> None:
    servers = Servers(fs=EchoServer(), web=EchoServer([tool("only")]))
    async with memory_pool(servers, [memory_row("fs")], index_tools=False) as pool:
        report = await pool.probe(memory_row("web"))
        assert [found.name for found in report.tools] == ["only"]
        assert [state.id for state in pool.state()] == ["fs"]


async def test_a_probe_that_fails_says_why() -> None:
    servers = Servers(fs=EchoServer())
    servers.refused["fs"] = OSError("no device hunter2")
    row = memory_row("fs", headers={"Authorization": "hunter2"})
    report = await probe(row, settings=quiet_settings(servers))
    assert (report.ok, report.tools, report.tools_fingerprint) == (False, (), "")
    assert report.error == "failed: no device *** (OSError)"


@pytest.mark.parametrize(
    ("row_ms", "probe_seconds", "seconds"), [(2000, 5.0, 2), (None, 5.0, 5), (None, None, 8)]
)
async def test_the_patience_of_a_pools_probe_is_the_rows_first(
    row_ms: int | None, probe_seconds: float | None, seconds: float
) -> None:
    servers = Servers(fs=EchoServer())
    servers.servers["fs"].hold_lists = anyio.Event()
    async with memory_pool(
        servers, [], probe_timeout_seconds=probe_seconds, connect_timeout_seconds=8
    ) as pool:
        report = await pool.probe(memory_row("fs", connect_timeout_ms=row_ms))
        assert report.error == f"did not answer within {seconds} s"


async def test_the_patience_of_a_free_probe_is_the_callers_first() -> None:
    servers = Servers(fs=EchoServer())
    servers.servers["fs"].hold_lists = anyio.Event()
    row = memory_row("fs", connect_timeout_ms=9000)
    settings = quiet_settings(servers)
    assert (await probe(row, settings=settings, timeout_seconds=1)).error.endswith("1 s")
    assert (await probe(row, settings=settings)).error.endswith("9 s")
