"""MCP servers: configured as rows, connected in a pool, called by name.

Names are loaded when they are first used: importing this package loads neither the MCP SDK nor
pydantic nor anyio, so that a question of configuration or naming does not pay for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from host.pool.arguments import argument_problems, coerce_arguments
    from host.pool.child_environment import MINIMAL_CHILD_ENV
    from host.pool.fingerprint import tools_fingerprint
    from host.pool.hook_templates import expand_args, validate_hooks
    from host.pool.naming import could_own, qualified_name
    from host.pool.probing import probe
    from host.pool.results import result_text
    from host.pool.row_import import from_mcp_servers_json
    from host.pool.row_validation import validate_server_row, validate_servers
    from host.pool.rows import HookRow, HttpServerRow, ServerRow, StdioServerRow, same_connection
    from host.pool.search import rank_tools
    from host.pool.server_pool import ServerPool
    from host.pool.server_state import (
        ProbedTool,
        ProbeReport,
        ServerState,
        ToolDescription,
        ToolState,
    )
    from host.pool.settings import PoolSettings, ResultCacheSettings
    from host.pool.tool_walk import list_all_tools
    from host.pool.transports import ServerTransport
    from host.text.context_blocks import context_blocks
    from host.text.truncation import truncate_text

__all__ = [
    "MINIMAL_CHILD_ENV",
    "HookRow",
    "HttpServerRow",
    "PoolSettings",
    "ProbeReport",
    "ProbedTool",
    "ResultCacheSettings",
    "ServerPool",
    "ServerRow",
    "ServerState",
    "ServerTransport",
    "StdioServerRow",
    "ToolDescription",
    "ToolState",
    "argument_problems",
    "coerce_arguments",
    "context_blocks",
    "could_own",
    "expand_args",
    "from_mcp_servers_json",
    "list_all_tools",
    "probe",
    "qualified_name",
    "rank_tools",
    "result_text",
    "same_connection",
    "tools_fingerprint",
    "truncate_text",
    "validate_hooks",
    "validate_server_row",
    "validate_servers",
]

_HOMES = {
    "MINIMAL_CHILD_ENV": "host.pool.child_environment",
    "HookRow": "host.pool.rows",
    "HttpServerRow": "host.pool.rows",
    "PoolSettings": "host.pool.settings",
    "ProbeReport": "host.pool.server_state",
    "ProbedTool": "host.pool.server_state",
    "ResultCacheSettings": "host.pool.settings",
    "ServerPool": "host.pool.server_pool",
    "ServerRow": "host.pool.rows",
    "ServerState": "host.pool.server_state",
    "ServerTransport": "host.pool.transports",
    "StdioServerRow": "host.pool.rows",
    "ToolDescription": "host.pool.server_state",
    "ToolState": "host.pool.server_state",
    "argument_problems": "host.pool.arguments",
    "coerce_arguments": "host.pool.arguments",
    "context_blocks": "host.text.context_blocks",
    "could_own": "host.pool.naming",
    "expand_args": "host.pool.hook_templates",
    "from_mcp_servers_json": "host.pool.row_import",
    "list_all_tools": "host.pool.tool_walk",
    "probe": "host.pool.probing",
    "qualified_name": "host.pool.naming",
    "rank_tools": "host.pool.search",
    "result_text": "host.pool.results",
    "same_connection": "host.pool.rows",
    "tools_fingerprint": "host.pool.fingerprint",
    "truncate_text": "host.text.truncation",
    "validate_hooks": "host.pool.hook_templates",
    "validate_server_row": "host.pool.row_validation",
    "validate_servers": "host.pool.row_validation",
}
"""Where each name lives."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
