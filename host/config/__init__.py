"""From files, flags and environment to what the rooms are given.

Names are loaded when they are first used, so that a mistake in a servers file is told without
loading the openai SDK.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from host.config.agent_settings import AgentSettings
    from host.config.config_changes import (
        RowChanges,
        restart_fields,
        row_changes,
        unset_remedy,
        with_overrides,
    )
    from host.config.endpoint_choice import EndpointChoice, EndpointWish
    from host.config.endpoint_resolution import (
        configured_model,
        endpoint_settings,
        named_file,
        resolve_endpoint,
        resolve_model,
    )
    from host.config.host_config import HostConfig
    from host.config.model_file import ModelFile
    from host.config.servers_file import find_servers_file, load_config
    from host.config.watching import ServersFileWatch, is_watchable

__all__ = [
    "AgentSettings",
    "EndpointChoice",
    "EndpointWish",
    "HostConfig",
    "ModelFile",
    "RowChanges",
    "ServersFileWatch",
    "configured_model",
    "endpoint_settings",
    "find_servers_file",
    "is_watchable",
    "load_config",
    "named_file",
    "resolve_endpoint",
    "resolve_model",
    "restart_fields",
    "row_changes",
    "unset_remedy",
    "with_overrides",
]

_HOMES = {
    "AgentSettings": "host.config.agent_settings",
    "EndpointChoice": "host.config.endpoint_choice",
    "EndpointWish": "host.config.endpoint_choice",
    "HostConfig": "host.config.host_config",
    "ModelFile": "host.config.model_file",
    "RowChanges": "host.config.config_changes",
    "ServersFileWatch": "host.config.watching",
    "configured_model": "host.config.endpoint_resolution",
    "endpoint_settings": "host.config.endpoint_resolution",
    "find_servers_file": "host.config.servers_file",
    "is_watchable": "host.config.watching",
    "load_config": "host.config.servers_file",
    "named_file": "host.config.endpoint_resolution",
    "resolve_endpoint": "host.config.endpoint_resolution",
    "resolve_model": "host.config.endpoint_resolution",
    "restart_fields": "host.config.config_changes",
    "row_changes": "host.config.config_changes",
    "unset_remedy": "host.config.config_changes",
    "with_overrides": "host.config.config_changes",
}
"""Where each name lives."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
