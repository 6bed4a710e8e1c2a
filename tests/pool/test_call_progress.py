from __future__ import annotations

import math
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.call_progress import INTERVAL_SECONDS, MAX_TEXT_CHARS, CallProgress, with_floats
from host.text.terminal_text import one_line
from tests.fakes.mcp_servers.asking import AskingServer
from tests.fakes.mcp_servers.echo import EchoServer, Servers, memory_row
from tests.fakes.mcp_servers.watching import Watch
from tests.pool.pools import memory_pool

NUMBERS = st.floats() | st.integers() | st.integers(-(10**400), 10**400)
WORDS = st.sampled_from([None, "", "a", "key-4711", "\x1b[31m", "\u202e", "\n", "x" * 300])
REPORTS = st.lists(
    st.tuples(st.floats(0, 1), st.floats(), st.none() | st.floats(), WORDS | st.text()),
    max_size=20,
)


@given(REPORTS)
def test_reports_are_told_seldom_clean_and_finite(
    reports: list[tuple[float, float, float | None, str | None]],
) -> None:
    now = 0.0
    told: list[tuple[float, float, float | None, str | None]] = []
    progress = CallProgress(
        lambda done, total, text: told.append((now, done, total, text)),
        lambda text: text.replace("key-4711", "***"),
        lambda: now,
    )
    for wait, done, total, message in reports:
        now += wait
        progress.report(done, total, message)

    expected_times: list[float] = []
    clock = 0.0
    for wait, done, _, _ in reports:
        clock += wait
        is_due = not expected_times or clock >= expected_times[-1] + INTERVAL_SECONDS
        if math.isfinite(done) and is_due:
            expected_times.append(clock)
    assert [at for at, *_ in told] == expected_times
    for _, done, total, text in told:
        assert math.isfinite(done)
        assert total is None or (math.isfinite(total) and total > 0)
        assert text is None or text == one_line(text)
        assert text is None or "4711" not in text
        assert len(text or "") < MAX_TEXT_CHARS + 30


def test_nothing_is_told_after_the_call() -> None:
    told: list[float] = []
    progress = CallProgress(lambda done, *_: told.append(done), str, lambda: 0.0)
    progress.end()
    progress.report(1.0, None, None)
    assert told == []


@given(
    st.none()
    | st.dictionaries(
        st.sampled_from(["progress", "total", "progressToken", "message"]),
        NUMBERS | st.booleans() | st.none() | st.text(),
    )
)
def test_every_number_of_a_report_can_be_made_a_float(params: dict[str, Any] | None) -> None:
    mended = with_floats(params)
    if params is None or mended is None:
        assert mended is params
        return
    assert mended.keys() == params.keys()
    for name, value in mended.items():
        if isinstance(value, int | float):
            float(value)
        try:
            float(params[name])
        except (OverflowError, ValueError, TypeError):
            continue
        assert value is params[name]


@pytest.mark.parametrize("era", ["legacy", "auto"])
@pytest.mark.parametrize("fields", [{}, {"progress_extends_timeout": True}])
async def test_progress_is_told_of_any_call_that_reports_it(
    era: str, fields: dict[str, Any]
) -> None:
    rows = [memory_row("fs", era=era, **fields)]
    async with memory_pool(Servers(fs=EchoServer()), rows) as pool:
        watch = Watch(pool)
        await pool.call("fs__echo", {"progress": 3})
        told = [(event.tool_name, event.progress, event.total) for event in watch.of("progress")]
        # The last report comes together with the answer, and may come too late.
        assert told[:2] == [("fs__echo", 1.0, 3.0), ("fs__echo", 2.0, 3.0)]
        kinds = [event.kind for event in watch.events]
        assert kinds.index("call") == len(kinds) - 1


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_flood_of_progress_is_a_few_events_and_none_after_the_call(era: str) -> None:
    reports = [[number, 1e308, f"step {number}"] for number in range(500)]
    rows = [memory_row("fs", era=era)]
    async with memory_pool(Servers(fs=AskingServer()), rows) as pool:
        watch = Watch(pool)
        for _ in range(3):
            await pool.call("fs__ping", {"reports": reports})
            await anyio.sleep(1)
        assert 1 <= len(watch.of("progress")) <= 12
        for event, following in zip(watch.events, watch.events[1:], strict=False):
            assert (event.kind, following.kind) != ("call", "progress") or event.at < following.at


async def test_without_a_listener_no_progress_is_asked_for() -> None:
    fs = AskingServer()
    async with memory_pool(Servers(fs=fs)) as pool:
        await pool.call("fs__ping")
        Watch(pool)
        await pool.call("fs__ping")
        assert fs.reports_wanted == [False, True]


async def test_a_report_too_large_for_a_float_does_not_end_the_session() -> None:
    servers = Servers(fs=AskingServer())
    async with memory_pool(servers) as pool:
        watch = Watch(pool)
        reports = [[10**400, 10**500, "huge"]]
        assert "ping(" in await pool.call("fs__ping", {"reports": reports, "sleepMs": 1000})
        assert [event.text for event in watch.of("progress")] == ["huge"]
        assert servers.dials("fs") == 1
