from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.server_log import MAX_LINES, STRETCH_SECONDS, ServerLog
from host.text.redaction import Redactor
from host.text.terminal_text import clean_terminal
from tests.fakes.mcp_servers.asking import AskingServer
from tests.fakes.mcp_servers.echo import Servers, memory_row
from tests.fakes.mcp_servers.watching import Watch
from tests.pool.pools import memory_pool

SECRET = "key-4711"
SAID = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.sampled_from(["", "a", SECRET, f"x{SECRET}\x1b[2J", "\x1b]0;t\x07", "y" * 5000])
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.lists(st.tuples(SAID, st.none() | st.sampled_from(["db", "\x1b[1mdb\n", SECRET]))))
def test_whatever_is_logged_is_told_as_clean_text(lines: list[tuple[Any, str | None]]) -> None:
    told: list[dict[str, Any]] = []
    log = ServerLog(
        lambda **fields: told.append(fields),
        lambda *_: None,
        Redactor([SECRET]),
        lambda: 0.0,
    )
    for said, logger in lines:
        log.hear("info", said, logger)
    assert len(told) == min(len(lines), MAX_LINES)
    for fields, (said, _) in zip(told, lines, strict=False):
        assert fields["text"] == clean_terminal(fields["text"])
        assert SECRET not in repr(fields)
        assert "\n" not in (fields["logger"] or "")
        if isinstance(said, str) and said.isprintable() and len(said) < 4000:
            assert fields["text"] == said.replace(SECRET, "***")


@given(st.lists(st.tuples(st.floats(0, STRETCH_SECONDS), st.integers(1, 3 * MAX_LINES))))
def test_every_line_is_told_or_counted(bursts: list[tuple[float, int]]) -> None:
    now, told, counted = 0.0, 0, 0

    def tell(**fields: Any) -> None:
        nonlocal told
        told += 1

    def notice(level: str, text: str) -> None:
        nonlocal counted
        assert level == "warning"
        counted += int(text.split()[0].replace(",", ""))

    log = ServerLog(tell, notice, Redactor(), lambda: now)
    for wait, lines in bursts:
        now += wait
        for _ in range(lines):
            log.hear("info", "x", None)
    log.end()
    assert told + counted == sum(lines for _, lines in bursts)
    assert told <= MAX_LINES * (now / STRETCH_SECONDS + 1)


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_servers_own_lines_are_told_apart_from_what_the_pool_says_of_it(era: str) -> None:
    rows = [memory_row("fs", era=era, log_level="debug", headers={"X-Key": "Bearer key-47110"})]
    async with memory_pool(Servers(fs=AskingServer()), rows) as pool:
        watch = Watch(pool)
        lines = [
            ["warning", "disk\x1b[31m full, key-47110", "disk"],
            ["info", {"free": 0}, None],
        ]
        await pool.call("fs__ping", {"lines": lines})
        await watch.until(lambda: len(watch.of("log")) == 2)
        first, second = watch.of("log", "fs")
        assert (first.level, first.source, first.logger) == ("warning", "server", "disk")
        assert first.text == "disk full, ***"
        assert (second.text, second.logger) == ('{"free":0}', None)


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_flood_of_lines_is_cut_and_its_size_told_once(era: str) -> None:
    rows = [memory_row("fs", era=era, log_level="debug")]
    servers = Servers(fs=AskingServer(), web=AskingServer())
    async with memory_pool(servers, [*rows, memory_row("web")]) as pool:
        watch = Watch(pool)
        flood = [["info", f"line {number}", None] for number in range(1000)]
        await pool.call("fs__ping", {"lines": flood})
        assert await pool.call("web__ping") == "ping({})"
        await pool.stop("fs")
        own = [event for event in watch.of("log", "fs") if event.source == "server"]
        ours = [event for event in watch.of("log", "fs") if event.source == "pool"]
        assert len(own) == MAX_LINES
        (notice,) = ours
        assert notice.text == "900 of its log lines left out: more than 100 in 10 s"
