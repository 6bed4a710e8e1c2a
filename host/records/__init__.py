"""Frozen records that travel between the rooms. Nothing here does anything."""

from host.records.events import PoolEvent, RunEvent, RunEventKind, event_json
from host.records.hooks import (
    HOOK_EVENTS,
    INJECT_EVENTS,
    HookContext,
    HookEvent,
    HookMessage,
    HookNote,
    HookOutcome,
)
from host.records.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolCallFunction,
    ToolMessage,
    UserMessage,
)
from host.records.runs import (
    DISCOVERY_MODES,
    DiscoveryMode,
    LedgerEntry,
    RequestPurpose,
    RequestTrace,
    Run,
    StopReason,
)
from host.records.tools import (
    CatalogueServer,
    CatalogueTool,
    FunctionDefinition,
    ToolCallOutcome,
    ToolCallRequest,
    ToolDefinition,
    ToolFailure,
    ToolSuccess,
)
from host.records.turns import Turn, TurnUsage

__all__ = [
    "DISCOVERY_MODES",
    "HOOK_EVENTS",
    "INJECT_EVENTS",
    "AssistantMessage",
    "CatalogueServer",
    "CatalogueTool",
    "DiscoveryMode",
    "FunctionDefinition",
    "HookContext",
    "HookEvent",
    "HookMessage",
    "HookNote",
    "HookOutcome",
    "LedgerEntry",
    "Message",
    "PoolEvent",
    "RequestPurpose",
    "RequestTrace",
    "Run",
    "RunEvent",
    "RunEventKind",
    "StopReason",
    "SystemMessage",
    "ToolCall",
    "ToolCallFunction",
    "ToolCallOutcome",
    "ToolCallRequest",
    "ToolDefinition",
    "ToolFailure",
    "ToolMessage",
    "ToolSuccess",
    "Turn",
    "TurnUsage",
    "UserMessage",
    "event_json",
]
