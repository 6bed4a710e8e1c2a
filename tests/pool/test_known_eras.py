"""The era of a server is asked once and then known, and asked again where that is wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from host.pool.attempts import KnownEra
from host.pool.listing_cache import ERA_AGE
from host.pool.rows import ServerRow
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from tests.fakes.listings import Cache
from tests.fakes.mcp_servers.processes import plain_row
from tests.fakes.mcp_servers.watching import Watch, state_of


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


NEWER = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
"""What a server of the newer era says of itself."""


async def seen(row: ServerRow, cache: Cache) -> str:
    """What the server was sent before it answered a call, in a pool of its own."""
    async with ServerPool.open([row], settings=PoolSettings(tools_cache=cache)) as pool:
        return await pool.call("fs__seen")


def altered(cache: Cache, **changes: Any) -> None:
    """Another era saved of the server."""
    era = cache.kept["fs"].era
    assert era is not None
    cache.kept["fs"] = replace(cache.kept["fs"], era=replace(era, **changes))


@pytest.mark.parametrize("flags", [[], ["--exit-on-discover"], ["--mute-on-discover"]])
async def test_a_server_of_the_older_era_is_not_probed_again(flags: list[str]) -> None:
    row, cache = plain_row("fs", *flags, connect_timeout_ms=3_000), Cache()
    if flags != ["--mute-on-discover"]:
        await seen(row, cache)
    else:  # as if it had been sat out once
        await seen(row.model_copy(update={"era": "legacy"}), cache)
        era = KnownEra(mode="legacy", asked_at=cache.kept["fs"].saved_at)
        cache.kept["fs"] = replace(cache.kept["fs"], era=era)
    assert cache.kept["fs"].era
    assert await seen(row, cache) == "initialize notifications/initialized tools/list tools/call"


async def test_a_server_of_the_newer_era_is_asked_who_it_is_beside_its_work() -> None:
    row, cache = plain_row("fs", "--modern"), Cache()
    assert (await seen(row, cache)).startswith("server/discover tools/list")
    assert (await seen(row, cache)).startswith("tools/list")
    assert cache.saves == ["fs"]


async def test_what_it_says_of_itself_now_is_what_is_known_and_saved() -> None:
    row, cache = plain_row("fs", "--modern"), Cache()
    await seen(row, cache)
    era = cache.kept["fs"].era
    assert era is not None
    assert era.discovered is not None
    altered(cache, discovered={**era.discovered, "instructions": "Of yore."})
    cache.kept["fs"] = replace(cache.kept["fs"], instructions="Of yore.")
    async with ServerPool.open([row], settings=PoolSettings(tools_cache=cache)) as pool:
        await pool.call("fs__seen")
        while len(cache.saves) < 2:
            await pool.call("fs__seen")
        assert state_of(pool, "fs").instructions is None
    assert cache.kept["fs"].instructions is None


@pytest.mark.parametrize(
    ("flags", "mode", "discovered", "spoken"),
    [
        (["--strict"], "2026-07-28", NEWER, "2025-06-18"),
        ([], "2026-07-28", {"no": "answer"}, "2025-06-18"),
        ([], "2031-01-01", {"supportedVersions": ["2031-01-01"]}, "2025-06-18"),
        (["--modern"], "2031-01-01", {}, "2026-07-28"),
    ],
)
async def test_a_wrong_era_costs_an_attempt_and_is_put_right(
    flags: list[str], mode: str, discovered: dict[str, Any], spoken: str
) -> None:
    row, cache = plain_row("fs", *flags), Cache()
    await seen(row, cache)
    altered(cache, mode=mode, discovered=discovered)
    async with ServerPool.open([row], settings=PoolSettings(tools_cache=cache)) as pool:
        watch = Watch(pool)
        assert (await pool.call("fs__seen")).startswith("server/discover")
        assert state_of(pool, "fs").era == spoken
        assert watch.kinds("fs") == ["connect"]
    era = cache.kept["fs"].era
    assert era is not None
    assert era.mode in (spoken, "legacy")
    assert cache.saves == ["fs", "fs"]


async def test_an_older_server_that_answers_in_the_newer_era_is_probed_next_time() -> None:
    row, cache = plain_row("fs"), Cache()
    await seen(row, cache)
    altered(cache, mode="2026-07-28", discovered=NEWER)
    async with ServerPool.open([row], settings=PoolSettings(tools_cache=cache)) as pool:
        assert (await pool.call("fs__seen")).startswith("tools/list")
        while len(cache.saves) < 2:
            await pool.call("fs__seen")
    assert (await seen(row, cache)).startswith("server/discover initialize")


async def test_an_era_known_for_a_week_is_asked_for_again() -> None:
    row, cache = plain_row("fs"), Cache()
    await seen(row, cache)
    altered(cache, asked_at=cache.kept["fs"].saved_at - ERA_AGE - timedelta(seconds=1))
    assert (await seen(row, cache)).startswith("server/discover")
    assert (await seen(row, cache)).startswith("initialize")


async def test_a_redial_in_one_pool_does_not_probe_again() -> None:
    async with ServerPool.open([plain_row("fs")]) as pool:
        assert (await pool.call("fs__seen")).startswith("server/discover")
        await pool.stop("fs")
        assert (await pool.call("fs__seen")).startswith("initialize")


async def test_a_pinned_era_is_what_the_row_says() -> None:
    row, cache = plain_row("fs", "--modern"), Cache()
    await seen(row, cache)
    pinned = row.model_copy(update={"era": "legacy"})
    assert (await seen(pinned, cache)).startswith("initialize")
