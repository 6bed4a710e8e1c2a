"""Real children: dialled in whatever era they speak, failed at once where they fail at once.

Where one is at fault, a neighbour has calls in flight, and all of them succeed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from host.pool.rows import StdioServerRow
from host.pool.server_pool import ServerPool
from host.pool.settings import PoolSettings
from tests.fakes.mcp_servers.processes import alive_in_group, group_gone, plain_row
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.neighbours import NEAR_ROW, beside
from tests.pool.pools import refused


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


async def test_an_old_server_and_a_new_one_are_spoken_to_in_their_own_ways() -> None:
    rows = [plain_row("old"), plain_row("new", "--modern"), plain_row("pin", era="legacy")]
    async with ServerPool.open(rows) as pool:
        assert await pool.wait_ready(20)
        eras = {state.id: state.era for state in pool.state()}
        assert eras == {"old": "2025-06-18", "new": "2026-07-28", "pin": "2025-06-18"}
        assert "server/discover" in await pool.call("old__seen")
        assert "server/discover" not in await pool.call("pin__seen")
        assert "initialize" not in await pool.call("new__seen")
        pids = [state.pid for state in pool.state()]
    assert not any(alive_in_group(pid) for pid in pids if pid)


async def test_a_child_that_exits_at_start_fails_at_once_with_code_and_last_words() -> None:
    row = plain_row("bad", "--exit-at-start", "API key missing")
    async with beside(row, is_ready=False) as pool:
        began = anyio.current_time()
        assert await pool.wait_ready(20)
        assert anyio.current_time() - began < 5
        state = state_of(pool, "bad")
        assert (state.status, state.error) == ("error", "exited with code 3: API key missing")
        assert state.stderr_tail == "API key missing"
        assert state.pid is None


async def test_a_child_that_dies_of_the_probe_is_started_again_without_it() -> None:
    async with beside(plain_row("shy", "--exit-on-discover")) as pool:
        assert (
            await pool.call("shy__seen")
            == "initialize notifications/initialized tools/list tools/call"
        )
        watch = Watch(pool)
        await pool.stop("shy")
        assert "server/discover" not in await pool.call("shy__seen")
        assert watch.kinds("shy") == ["close stop", "connect"]


async def test_a_child_that_goes_mute_at_the_probe_is_dialled_without_it_next_time() -> None:
    row = plain_row("mute", "--mute-on-discover", connect_timeout_ms=1000)
    async with beside(row, crash_backoff_seconds=0.1) as pool:
        assert state_of(pool, "mute").error == "did not answer within 1 s"
        await anyio.sleep(0.2)
        await pool.sync([row, NEAR_ROW])
        assert state_of(pool, "mute").era == "2025-06-18"


async def test_a_mute_child_fails_at_its_deadline_and_delays_nobody() -> None:
    rows = [
        plain_row("mute", "--mute", connect_timeout_ms=1000),
        plain_row("slow", "--start-seconds", "0.5"),
        plain_row("fast", "--mark", "here"),
    ]
    async with beside(*rows, max_concurrent_dials=3, is_ready=False) as pool:
        began = anyio.current_time()
        assert await pool.call("fast__mark") == "here"
        assert state_of(pool, "mute").status == "connecting"
        pid = state_of(pool, "mute").pid
        assert await pool.wait_ready(20)
        assert anyio.current_time() - began < 3
        assert state_of(pool, "mute").error == "did not answer within 1 s"
        assert state_of(pool, "slow").status == "ready"
        assert pid is not None
    assert await group_gone(pid, seconds=1)


async def test_garbage_on_the_output_is_told_and_survived() -> None:
    row = plain_row("noisy", "--garbage", "--bad-utf8", "--shout", "300000")
    async with beside(row, is_ready=False) as pool:
        watch = Watch(pool)
        assert await pool.wait_ready(20)
        assert await pool.call("noisy__echo", {"text": "x"}) == "x"
        (told,) = watch.of("log")
        assert "Starting server" in str(told.text)


@pytest.mark.parametrize("fails", ["--loop-pages", "--fail-list"])
async def test_a_listing_without_an_end_or_with_an_error_fails_the_dial(fails: str) -> None:
    async with beside(plain_row("odd", fails)) as pool:
        state = state_of(pool, "odd")
        words = {
            "--loop-pages": "repeats a page of its tool list without end",
            "--fail-list": "answered with an error: fetch failed (-32603)",
        }
        assert (state.status, state.error, state.tools) == ("error", words[fails], ())


async def test_all_pages_and_an_odd_tool_are_taken_in() -> None:
    async with ServerPool.open([plain_row("many", "--pages", "4", "--bad-tool")]) as pool:
        assert await pool.wait_ready(20)
        names = [tool.name for tool in state_of(pool, "many").tools]
        assert names[0] == "bad"
        assert len(names) == len(set(names)) == 13
        assert await pool.call("many__mark") == "(no output)"


async def test_roots_are_answered_before_the_listing_is(tmp_path: Path) -> None:
    rows = [
        plain_row("with", "--ask-roots", roots=[str(tmp_path), "file:///other"]),
        plain_row("without", "--ask-roots"),
    ]
    async with ServerPool.open(rows) as pool:
        assert await pool.wait_ready(20)
        roots = await pool.call("with__roots")
        assert f'"{tmp_path.as_uri()}"' in roots
        assert '"file:///other"' in roots
        assert await pool.call("without__roots") == '[{"roots": []}]'


async def test_a_child_inherits_no_secret_that_its_row_does_not_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "ours")
    monkeypatch.setenv("MY_MODEL_PASS", "ours")
    monkeypatch.setenv("PLAIN_VARIABLE", "seen")
    rows = [
        plain_row("a", env={"GIVEN_TOKEN": "given"}),
        plain_row("b", child_env="all"),
        plain_row("c", child_env=["SOME_API_KEY"]),
    ]
    settings = PoolSettings(secret_env=("MY_MODEL_PASS",))
    async with ServerPool.open(rows, settings=settings) as pool:
        assert await pool.wait_ready(20)

        async def seen(server: str, name: str) -> str:
            return await pool.call(f"{server}__environment", {"name": name})

        assert await seen("a", "SOME_API_KEY") == "(unset)"
        assert await seen("a", "MY_MODEL_PASS") == "(unset)"
        assert await seen("a", "PLAIN_VARIABLE") == "seen"
        assert await seen("a", "GIVEN_TOKEN") == "given"
        assert await seen("b", "SOME_API_KEY") == "ours"
        assert await seen("c", "SOME_API_KEY") == "ours"
        assert await seen("c", "PLAIN_VARIABLE") == "(unset)"


async def test_a_bare_python_is_the_one_beside_us_and_a_missing_command_is_named() -> None:
    plain = plain_row("a")
    rows = [
        StdioServerRow(id="a", command="python", args=plain.args, env={"PATH": os.defpath}),
        StdioServerRow(id="gone", command="no-such-server-anywhere"),
        plain_row("lost", cwd="/no/such/folder"),
    ]
    async with ServerPool.open(rows) as pool:
        assert await pool.wait_ready(20)
        assert await pool.call("a__echo", {"text": "x"}) == "x"
        assert '"no-such-server-anywhere" was not found' in state_of(pool, "gone").error
        assert '"/no/such/folder" does not exist' in state_of(pool, "lost").error


async def test_a_child_killed_during_a_call_fails_it_and_the_next_call_starts_another() -> None:
    async with beside(plain_row("a"), crash_backoff_seconds=0.2) as pool:
        before = state_of(pool, "a").pid
        error = await refused(pool, "a__crash")
        assert error.code == "tool-error"
        assert "was ended by SIGKILL during the call; whether it ran is unknown" in str(error)
        assert error.detail == "the tool crashed"
        assert await pool.call("a__echo", {"text": "back"}) == "back"
        assert state_of(pool, "a").pid not in (None, before)


async def test_a_call_to_a_child_that_reads_no_more_times_out_in_its_time() -> None:
    async with beside(plain_row("full", "--stop-reading")) as pool:
        began = anyio.current_time()
        big = {"text": "x" * 1_000_000}
        for _ in range(2):
            assert (await refused(pool, "full__echo", big, timeout_seconds=0.3)).code == "timeout"
        assert anyio.current_time() - began < 2


async def test_a_child_that_closes_its_input_is_taken_for_gone() -> None:
    async with beside(plain_row("half", "--close-input")) as pool:
        error = await refused(pool, "half__echo", {"text": "x"})
        assert "stopped reading its input during the call" in str(error)
        assert state_of(pool, "half").pid is None


async def test_an_era_that_is_pinned_wrongly_is_taken_at_its_word() -> None:
    async with ServerPool.open([plain_row("old", era="2026-07-28")]) as pool:
        assert await pool.wait_ready(20)
        state = state_of(pool, "old")
        assert (state.status, state.era, state.capabilities) == ("ready", "2026-07-28", {})
        assert await pool.call("old__echo", {"text": "x"}) == "x"


async def test_a_server_without_a_stream_of_changes_is_not_asked_again() -> None:
    async with ServerPool.open([plain_row("new", "--modern")]) as pool:
        assert await pool.wait_ready(20)
        with anyio.fail_after(5):
            while "subscriptions/listen" not in await pool.call("new__seen"):
                pass
        assert state_of(pool, "new").status == "ready"


async def test_a_cancelled_call_tells_the_child() -> None:
    async with ServerPool.open([plain_row("a")]) as pool:
        assert await pool.wait_ready(20)
        with anyio.move_on_after(0.1):
            await pool.call("a__sleep", {"seconds": 30})
        with anyio.fail_after(5):
            while "notifications/cancelled" not in await pool.call("a__seen"):
                pass


async def test_a_burst_of_changes_of_a_child_is_one_new_listing() -> None:
    async with ServerPool.open([plain_row("a")]) as pool:
        assert await pool.wait_ready(20)
        watch = Watch(pool)
        await pool.call("a__change")
        await watch.until(lambda: bool(watch.of("tools-changed")))
        assert watch.of("tools-changed")[0].added == ("added",)
        assert (await pool.call("a__seen")).count("tools/list") == 2
