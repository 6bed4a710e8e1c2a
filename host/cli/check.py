"""``agent-host check``: is the file right, do the servers come up, does the endpoint answer?"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import anyio

from host.assembly import LocalEngine
from host.cli.opening import (
    Listings,
    connecting_line,
    endpoint_flags,
    open_pool,
    saved_listings,
)
from host.cli.run_view import pool_line
from host.cli.screen import Screen, counted, json_text
from host.cli.servers import fleet_json, last_words, status
from host.config import (
    EndpointChoice,
    HostConfig,
    endpoint_settings,
    named_file,
    resolve_endpoint,
    unset_remedy,
)
from host.errors import ConfigError, HostError, WireError
from host.records import PoolEvent
from host.wire import Endpoints

if TYPE_CHECKING:
    from host.pool import ServerPool

Notice: TypeAlias = Callable[[str], None]

_FAILURE, _USAGE = 1, 2


def check(config: HostConfig, arguments: argparse.Namespace) -> int:
    """Prints what was found and what to mend.

    Returns 1 when a server or the endpoint is not well, 2 when a model's file is not one to serve.
    """
    return anyio.run(_check, config, arguments)


async def _check(config: HostConfig, arguments: argparse.Namespace) -> int:
    screen = Screen(quiet=arguments.json, all_to_stdout=not arguments.json)
    rows = len(config.rows) + len(config.unset)
    screen.notice(f"✓ {config.source}: {counted(rows, 'server')}", style="green")
    async with AsyncExitStack() as opened:
        engine = await _engine(config, arguments, screen.notice, opened)
        well, fleet = await _check_servers(config, screen, saved_listings(arguments))
        models = (
            engine
            if isinstance(engine, _Problem)
            else await _models(config, arguments, engine, screen.notice)
        )
    problem = models if isinstance(models, _Problem) else None
    if problem:
        screen.warn(f"✗ endpoint: {problem.text}")
    if arguments.json:
        found = [] if isinstance(models, _Problem) else models
        told = problem.text if problem else ""
        whole = {"servers": fleet, "models": found, "endpointProblem": told}
        screen.write(json_text(whole, indent=1))
    return max(0 if well else _FAILURE, problem.status if problem else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    """What is wrong with the endpoint, in a line, and the exit status that stands for it."""

    text: str
    status: int = _FAILURE

    @classmethod
    def of(cls, error: HostError, *, with_file: bool) -> _Problem:
        """Of an error; one of the configuration is the caller's to mend where it names a file."""
        is_usage = with_file and isinstance(error, ConfigError)
        text = str(error).removeprefix("endpoint: ")
        return cls(text=text, status=_USAGE if is_usage else _FAILURE)


async def _check_servers(
    config: HostConfig, screen: Screen, listings: Listings
) -> tuple[bool, list[dict[str, object]]]:
    """Whether every server came up, and their states."""

    def progress(event: PoolEvent) -> None:
        if line := pool_line(event):
            screen.notice(line)

    async with open_pool(config, progress, **listings) as pool:
        if line := connecting_line(pool):
            screen.notice(line)
        await pool.wait_ready()
        for state in pool.state():
            for line in last_words(state):
                screen.warn(f"  {state.id}: {line}")
        _warn_of_idle_patterns(config, pool, screen)
        fleet, well = fleet_json(pool, config), status(pool, config) == 0
    for row_id, names in config.unset.items():
        screen.warn(f"✗ {row_id}: {unset_remedy(names)}")
    return well, fleet


def _warn_of_idle_patterns(config: HostConfig, pool: ServerPool, screen: Screen) -> None:
    """Tells of approval patterns without a tool, unless the tools of some server are unknown."""
    rules = config.agent.approve
    states = pool.state()
    if rules is None or config.unset or any(state.status != "ready" for state in states):
        return
    names = [tool.qualified for state in states for tool in state.tools]
    for pattern in rules.policy().idle_patterns(names):
        screen.warn(f'! agent.approve: "{pattern}" fits no tool; see `agent-host tools list`')


async def _engine(
    config: HostConfig, arguments: argparse.Namespace, on_notice: Notice, opened: AsyncExitStack
) -> LocalEngine | _Problem | None:
    """The engine that loads a model's file while the servers start, or what is wrong with it.

    None where an endpoint is to be asked.
    """
    try:
        file = named_file(config, endpoint_flags(arguments))
        if file is None:
            return None
        engine = LocalEngine.configured(file, config, on_notice)
        return await opened.enter_async_context(engine)
    except (ConfigError, WireError) as error:
        return _Problem.of(error, with_file=True)


async def _models(
    config: HostConfig,
    arguments: argparse.Namespace,
    engine: LocalEngine | None,
    on_notice: Notice,
) -> list[str] | _Problem:
    """The endpoint's models, or what is wrong with it."""
    try:
        if engine is None:
            choice = await resolve_endpoint(config, endpoint_flags(arguments), on_notice=on_notice)
        else:
            choice = await engine.ready()
        models = await _listed(config, choice)
    except (ConfigError, WireError) as error:
        return _Problem.of(error, with_file=engine is not None)
    if choice.model not in models:
        listed = ", ".join(models)
        return _Problem(text=f"{choice.shown_url} does not list {choice.model}; it has {listed}")
    on_notice(f"✓ endpoint {choice.shown_url} ({choice.origin}): {choice.model}")
    return models


async def _listed(config: HostConfig, choice: EndpointChoice) -> list[str]:
    async with Endpoints() as endpoints:
        listed = await endpoints.list_models(endpoint_settings(choice, config.agent))
    return [model.id for model in listed]
