"""``agent-host servers``: connects to the fleet and shows how every server is."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

import anyio

from host.assembly import LiveConfig, StatusChanges
from host.assembly.background import Background
from host.cli.opening import connecting_line, open_pool, saved_listings
from host.cli.run_view import pool_line
from host.cli.screen import Screen, duration, json_text
from host.cli.table import table_lines
from host.config import HostConfig, is_watchable, unset_remedy
from host.pool import ServerPool, ServerState
from host.records import PoolEvent

WATCH_SECONDS = 2.0

MAX_STDERR_LINES = 10

COLUMNS = ("server", "status", "era", "tools", "pid", "up")


def servers(config: HostConfig, arguments: argparse.Namespace) -> int:
    """Shows the state table; 1 when an enabled server is not ready."""
    screen = Screen(quiet=arguments.json)
    show = _watch if arguments.watch else _show_once
    return anyio.run(show, config, screen, arguments)


async def _show_once(config: HostConfig, screen: Screen, arguments: argparse.Namespace) -> int:
    def progress(event: PoolEvent) -> None:
        if line := pool_line(event):
            screen.notice(line)

    async with open_pool(config, progress, **saved_listings(arguments)) as pool:
        if line := connecting_line(pool):
            screen.notice(line)
        await pool.wait_ready()
        _show(pool, config, screen, arguments.json)
        return status(pool, config)


async def _watch(config: HostConfig, screen: Screen, arguments: argparse.Namespace) -> int:
    changes = StatusChanges()
    opened = open_pool(config, changes.note, **saved_listings(arguments))
    async with opened as pool, Background() as group:
        live = LiveConfig(config, apply=lambda found: pool.start(found.rows))
        if is_watchable(config.source):
            group.start_soon(live.follow)
        while True:
            screen.clear()
            _show(pool, live.current, screen, arguments.json)
            if live.problem and not arguments.json:
                screen.write(live.problem, style="red")
            with anyio.move_on_after(WATCH_SECONDS):
                await changes.wait()
            # A watch is what redials a server that is due; it must not hold up the picture.
            pool.start(live.current.rows)


def _show(pool: ServerPool, config: HostConfig, screen: Screen, as_json: bool) -> None:
    if as_json:
        screen.write(json_text(fleet_json(pool, config), indent=1))
        return
    rows = [(cells(state), "\n".join((state.error, *last_words(state)))) for state in pool.state()]
    rows += [
        ((row_id, "unset", "", "", "", ""), unset_remedy(names))
        for row_id, names in config.unset.items()
    ]
    for number, line in enumerate(table_lines(COLUMNS, rows)):
        screen.write(line, style="" if number else "bold")


def last_words(state: ServerState) -> list[str]:
    """The last lines that a server which failed wrote, where its error does not hold them all."""
    if state.status != "error" or state.stderr_tail in state.error:
        return []
    return state.stderr_tail.splitlines()[-MAX_STDERR_LINES:]


def cells(state: ServerState) -> tuple[str, ...]:
    """A server's line in the table."""
    up = (datetime.now(UTC) - state.started_at).total_seconds() if state.started_at else None
    return (
        state.label if state.label == state.id else f"{state.id} ({state.label})",
        state.status,
        state.era or "",
        f"{sum(not tool.hidden for tool in state.tools)}" + (" stale" if state.stale else ""),
        str(state.pid or ""),
        "" if up is None else duration(up),
    )


def status(pool: ServerPool, config: HostConfig) -> int:
    """0 when every enabled server is ready, else 1 (design §8)."""
    waiting = [s for s in pool.state() if s.status not in ("ready", "idle", "disabled")]
    return 1 if waiting or config.unset else 0


def fleet_json(pool: ServerPool, config: HostConfig) -> list[dict[str, Any]]:
    """Every server's state as JSON objects, without secrets."""
    shown: list[dict[str, Any]] = [
        {
            "id": state.id,
            "slug": state.slug,
            "label": state.label,
            "status": state.status,
            "era": state.era,
            "pid": state.pid,
            "startedAt": state.started_at and state.started_at.isoformat(),
            "error": state.error,
            "stderr": state.stderr_tail,
            "stale": state.stale,
            "tools": [tool.qualified for tool in state.tools if not tool.hidden],
            "withheld": {tool.qualified: tool.withheld for tool in state.tools if tool.withheld},
        }
        for state in pool.state()
    ]
    for row_id, names in config.unset.items():
        shown.append({"id": row_id, "status": "unset", "unsetVariables": list(names)})
    return shown
