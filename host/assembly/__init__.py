"""Puts the rooms together: config, pool, toolbox, model, loop, events.

async with open_host(load_config(path)) as host:
    run = await host.ask("How far is it?")

Names are loaded when they are first used: who only looks at the fleet does not load the openai SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from host.assembly.active_run import ActiveRun
    from host.assembly.fleet_settings import pool_settings
    from host.assembly.host import Host
    from host.assembly.live_config import LiveConfig
    from host.assembly.local_engine import LocalEngine
    from host.assembly.loop_settings import DEFAULT_SYSTEM_PROMPT
    from host.assembly.opening import open_host
    from host.assembly.settling import StatusChanges, wait_until_settled
    from host.assembly.subscribers import Subscriber

__all__ = [
    "DEFAULT_SYSTEM_PROMPT",
    "ActiveRun",
    "Host",
    "LiveConfig",
    "LocalEngine",
    "StatusChanges",
    "Subscriber",
    "open_host",
    "pool_settings",
    "wait_until_settled",
]

_HOMES = {
    "DEFAULT_SYSTEM_PROMPT": "host.assembly.loop_settings",
    "ActiveRun": "host.assembly.active_run",
    "Host": "host.assembly.host",
    "LiveConfig": "host.assembly.live_config",
    "LocalEngine": "host.assembly.local_engine",
    "StatusChanges": "host.assembly.settling",
    "Subscriber": "host.assembly.subscribers",
    "open_host": "host.assembly.opening",
    "pool_settings": "host.assembly.fleet_settings",
    "wait_until_settled": "host.assembly.settling",
}
"""Where each name lives."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
