"""MCP servers: configured as rows, connected in a pool, called by name.

Names are loaded when they are first used: importing this package loads neither the MCP SDK nor
pydantic nor anyio, so that a question of configuration or naming does not pay for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from host.pool.arguments import argument_problems, coerce_arguments
    from host.pool.auth.credentials import Credentials
    from host.pool.auth.records import Login, Logout
    from host.pool.auth.stores import CredentialStore, UserStore
    from host.pool.child_environment import MINIMAL_CHILD_ENV
    from host.pool.elicitation import (
        ElicitationAnswer,
        ElicitationMode,
        ElicitationRequest,
        FormElicitation,
        OnElicit,
        UrlElicitation,
    )
    from host.pool.fingerprint import tools_fingerprint
    from host.pool.form_fields import FormField, field_problems
    from host.pool.hook_templates import expand_args, validate_hooks
    from host.pool.listing_files import ListingFiles
    from host.pool.naming import could_own, qualified_name
    from host.pool.probing import probe
    from host.pool.results import result_text
    from host.pool.row_import import from_mcp_servers_json
    from host.pool.row_validation import validate_server_row, validate_servers
    from host.pool.rows import (
        AuthRow,
        HookRow,
        HttpServerRow,
        IdentityProviderRow,
        ServerRow,
        StdioServerRow,
        same_connection,
    )
    from host.pool.sampling import (
        OnSample,
        SampledMessage,
        SamplingAnswer,
        SamplingRefusal,
        SamplingRequest,
    )
    from host.pool.saved_listings import SavedListing, ToolsCache
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
    "AuthRow",
    "CredentialStore",
    "Credentials",
    "ElicitationAnswer",
    "ElicitationMode",
    "ElicitationRequest",
    "FormElicitation",
    "FormField",
    "HookRow",
    "HttpServerRow",
    "IdentityProviderRow",
    "ListingFiles",
    "Login",
    "Logout",
    "OnElicit",
    "OnSample",
    "PoolSettings",
    "ProbeReport",
    "ProbedTool",
    "ResultCacheSettings",
    "SampledMessage",
    "SamplingAnswer",
    "SamplingRefusal",
    "SamplingRequest",
    "SavedListing",
    "ServerPool",
    "ServerRow",
    "ServerState",
    "ServerTransport",
    "StdioServerRow",
    "ToolDescription",
    "ToolState",
    "ToolsCache",
    "UrlElicitation",
    "UserStore",
    "argument_problems",
    "coerce_arguments",
    "context_blocks",
    "could_own",
    "expand_args",
    "field_problems",
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
    "AuthRow": "host.pool.rows",
    "CredentialStore": "host.pool.auth.stores",
    "Credentials": "host.pool.auth.credentials",
    "ElicitationAnswer": "host.pool.elicitation",
    "ElicitationMode": "host.pool.elicitation",
    "ElicitationRequest": "host.pool.elicitation",
    "FormElicitation": "host.pool.elicitation",
    "FormField": "host.pool.form_fields",
    "HookRow": "host.pool.rows",
    "HttpServerRow": "host.pool.rows",
    "IdentityProviderRow": "host.pool.rows",
    "ListingFiles": "host.pool.listing_files",
    "Login": "host.pool.auth.records",
    "Logout": "host.pool.auth.records",
    "OnElicit": "host.pool.elicitation",
    "OnSample": "host.pool.sampling",
    "PoolSettings": "host.pool.settings",
    "ProbeReport": "host.pool.server_state",
    "ProbedTool": "host.pool.server_state",
    "ResultCacheSettings": "host.pool.settings",
    "SampledMessage": "host.pool.sampling",
    "SamplingAnswer": "host.pool.sampling",
    "SamplingRefusal": "host.pool.sampling",
    "SamplingRequest": "host.pool.sampling",
    "SavedListing": "host.pool.saved_listings",
    "ServerPool": "host.pool.server_pool",
    "ServerRow": "host.pool.rows",
    "ServerState": "host.pool.server_state",
    "ServerTransport": "host.pool.transports",
    "StdioServerRow": "host.pool.rows",
    "ToolDescription": "host.pool.server_state",
    "ToolState": "host.pool.server_state",
    "ToolsCache": "host.pool.saved_listings",
    "UrlElicitation": "host.pool.elicitation",
    "UserStore": "host.pool.auth.stores",
    "argument_problems": "host.pool.arguments",
    "coerce_arguments": "host.pool.arguments",
    "context_blocks": "host.text.context_blocks",
    "could_own": "host.pool.naming",
    "expand_args": "host.pool.hook_templates",
    "field_problems": "host.pool.form_fields",
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
