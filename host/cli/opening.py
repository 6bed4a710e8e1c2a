"""What several commands begin with: the pool, the wait for the fleet, what is missing."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypedDict

from host.assembly import pool_settings, wait_until_settled
from host.catalogue import advice
from host.cli.screen import Screen, counted
from host.config import EndpointWish, HostConfig, unset_remedy
from host.errors import ConfigError, PoolError
from host.pool import (
    ElicitationMode,
    ListingFiles,
    OnElicit,
    ServerPool,
    ToolsCache,
    could_own,
)
from host.records import PoolEvent
from host.text.terminal_text import one_line

DOWN = ("error", "needs-auth")
"""How a server stands that did not come up."""


def endpoint_flags(arguments: argparse.Namespace) -> EndpointWish:
    """What the endpoint flags of a command say.

    Raises:
        ConfigError: they contradict each other.
    """
    if arguments.gguf is not None and arguments.api_key is not None:
        raise ConfigError("--api-key", ["goes with --base-url; a file that --gguf serves has none"])
    return EndpointWish(
        base_url=arguments.base_url,
        api_key=arguments.api_key,
        model=arguments.model,
        gguf=arguments.gguf,
    )


def text_or_stdin(written: str) -> str:
    """The text, or all of stdin for ``-``."""
    return sys.stdin.read() if written == "-" else written


class Listings(TypedDict):
    """What is known of the fleet before it is dialled, as pools and hosts are told."""

    tools_cache: ToolsCache
    dial_known: bool


def saved_listings(arguments: argparse.Namespace) -> Listings:
    """The user's saved listings; a command that has no ``--fresh`` wants every server up."""
    return Listings(
        tools_cache=ListingFiles.of_user(os.environ, Path.home()),
        dial_known=getattr(arguments, "fresh", True),
    )


@asynccontextmanager
async def open_pool(
    config: HostConfig,
    listener: Callable[[PoolEvent], None],
    *,
    on_elicit: OnElicit | None = None,
    elicitation_modes: Sequence[ElicitationMode] = ("form",),
    tools_cache: ToolsCache | None = None,
    dial_known: bool = False,
) -> AsyncIterator[ServerPool]:
    """The fleet, being dialled, with somebody listening from the first event on.

    Args:
        on_elicit, elicitation_modes, tools_cache, dial_known: as ``PoolSettings`` has them.
    """
    settings = pool_settings(
        config,
        on_elicit=on_elicit,
        elicitation_modes=elicitation_modes,
        tools_cache=tools_cache,
        dial_known=dial_known,
    )
    async with ServerPool.open((), load=lambda: config.rows, settings=settings) as pool:
        pool.subscribe(listener)
        pool.start(config.rows)
        yield pool


def connecting_line(pool: ServerPool) -> str:
    """Whom the fleet's start waits for, by name; "" for nobody."""
    names = [state.id for state in pool.state() if state.status == "connecting"]
    return f"connecting to {', '.join(names)}" if names else ""


async def settle(pool: ServerPool, config: HostConfig, screen: Screen) -> None:
    """Waits until the fleet is up, or the rest of it is, and says what is missing and why."""
    await wait_until_settled(pool)
    for line in [*failure_lines(pool), *missing_lines(pool, config)]:
        screen.warn(line)


def failure_lines(pool: ServerPool) -> list[str]:
    """One line for each server that did not come up: why."""
    return [
        f"✗ {state.id}: {one_line(state.error)}" for state in pool.state() if state.status in DOWN
    ]


def missing_lines(pool: ServerPool, config: HostConfig) -> list[str]:
    """What the work goes on without: one line for each server that nobody was told of, and a sum.

    Servers that failed are only named: why they did has been told.
    """
    states = pool.state()
    failed = [state.id for state in states if state.status in DOWN]
    slow = [state.id for state in states if state.status == "connecting"]
    lines = [f"· {server_id}: still connecting" for server_id in slow]
    lines += [f"✗ {row_id}: {unset_remedy(names)}" for row_id, names in config.unset.items()]
    missing = [*failed, *slow, *config.unset]
    ready = sum(state.status in ("ready", "idle") for state in states)
    if missing:
        lines.append(f"going on with {counted(ready, 'server')}, without {', '.join(missing)}")
    return lines


def unknown_tool(pool: ServerPool, name: str) -> PoolError:
    """The error for a name that no tool has: what is down, or what it may have meant."""
    for state in pool.state():
        if state.status in DOWN and could_own(state.slug, name):
            hint = f'Server "{state.id}" is not up: {one_line(state.error)}'
            break
        if state.stale and could_own(state.slug, name):
            near = advice(name, pool.catalogue())
            hint = f'Server "{state.id}" was not asked; --fresh asks it. {near}'.strip()
            break
    else:
        hint = advice(name, pool.catalogue()) or "`agent-host tools list` shows what there is."
    return PoolError("unknown-tool", f'there is no tool "{name}". {hint}', tool_name=name)
