"""A1 to A17: what children do on their pipes, at their start and at their end.

And what only a child of a few lines asks of its client, byte by byte (B14, G9).
"""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from host.pool.line_splitter import MAX_LINE_BYTES
from tests.fakes.mcp_servers.processes import group_gone, plain_row
from tests.fakes.mcp_servers.watching import Watch, state_of
from tests.pool.neighbours import NEAR_ROW, beside
from tests.pool.pools import refused

LISTING_BYTES = 2_094_993
"""The longest listing seen of a real server (ms-365)."""


@pytest.fixture
def anyio_backend(real_time: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return real_time


async def test_text_between_two_answers_is_told_once_and_fails_no_call() -> None:
    async with beside(plain_row("a", "--tools", "babble,sleep")) as pool:
        watch = Watch(pool)
        answers: list[str] = []

        async def wait() -> None:
            answers.append(await pool.call("a__sleep", {"seconds": 0.1}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            for _ in range(3):
                assert await pool.call("a__babble") == "done"
        assert answers == ["slept"]
        (told,) = watch.of("log", "a")
        assert told.level == "warning"
        assert "[WARN] No configuration file found" in str(told.text)


async def test_a_listing_of_two_megabytes_on_one_line_is_read() -> None:
    async with beside(plain_row("a", "--listing-bytes", str(LISTING_BYTES))) as pool:
        longest, *others = state_of(pool, "a").tools
        assert LISTING_BYTES - 2000 < len(longest.description) < LISTING_BYTES
        assert others
        assert await pool.call("a__echo", {"text": "x"}) == "x"


async def test_a_line_without_end_fails_its_call_at_a_limit_that_is_named() -> None:
    async with beside(plain_row("a", "--tools", "flood")) as pool:
        error = await refused(pool, "a__flood", {"count": MAX_LINE_BYTES + 1})
        assert "a line is longer than the limit of 64 MiB during the call" in str(error)
        assert MAX_LINE_BYTES >= 16 << 20
        assert await pool.call("a__flood", {"count": 0}) == "done"


async def test_colours_go_and_signs_of_all_kinds_stay() -> None:
    said = "\x1b[32m✔ ready\x1b[0m \x1b]0;title\x07│ 🚀 \udcff"
    async with beside(plain_row("a", "--stderr", said)) as pool:
        assert state_of(pool, "a").stderr_tail == "✔ ready │ 🚀 \ufffd"


async def test_of_a_traceback_the_useful_line_is_the_reason() -> None:
    last = "ModuleNotFoundError: No module named 'warehouse'"
    async with beside(plain_row("a", "--traceback", "15", "--exit-after", "0")) as pool:
        state = state_of(pool, "a")
        assert state.error == f"exited with code 3: {last}"
        assert len(state.stderr_tail.splitlines()) == 32
        assert state.stderr_tail.endswith(last)


async def test_a_server_that_gives_up_by_itself_fails_then_and_not_at_the_time_out() -> None:
    row = plain_row("a", "--stderr", "cannot reach the warehouse", "--exit-after", "0.4")
    async with beside(row, is_ready=False) as pool:
        began = anyio.current_time()
        await pool.wait_ready()
        assert 0.3 < anyio.current_time() - began < 5
        assert state_of(pool, "a").error == "exited with code 3: cannot reach the warehouse"


async def test_servers_that_ignore_the_end_of_their_input_are_ended_together() -> None:
    rows = [plain_row(name, "--ignore-eof", "--grandchild") for name in ("a", "b", "c")]
    async with beside(*rows) as pool:
        pids = [state.pid for state in pool.state() if state.id != NEAR_ROW.id]
        began = anyio.current_time()
        await pool.sync([NEAR_ROW])
        assert anyio.current_time() - began < 5
        assert await group_gone(*(pid for pid in pids if pid), seconds=1)


async def test_a_server_that_leaves_with_a_code_when_told_to_has_not_crashed() -> None:
    async with beside(plain_row("a", "--exit-code", "1")) as pool:
        watch = Watch(pool)
        await pool.stop("a")
        state = state_of(pool, "a")
        assert (state.status, state.error, state.retry_at) == ("idle", "", None)
        assert watch.kinds("a") == ["close stop"]
        assert watch.of("log") == []


async def test_roots_asked_for_once_per_tool_are_answered_while_the_listing_waits() -> None:
    async with beside(plain_row("a", "--roots-ids", json.dumps([*range(15)]))) as pool:
        assert (await pool.call("a__roots")).count('"roots"') == 15


async def test_an_id_of_any_kind_comes_back_as_it_was() -> None:
    ids = ["7", 7, 0, -3, 2**53 - 1, ""]
    flags = ("--roots-ids", json.dumps(ids), "--tools", "answered")
    async with beside(plain_row("a", *flags)) as pool:
        came_back = json.loads(await pool.call("a__answered"))
        assert sorted(map(repr, came_back)) == sorted(map(repr, ids))
