"""The loops: a model, tools, and what happens between question and answer. Usable alone.

``run_agent_loop`` runs a question over a ``Model`` and a ``Toolbox``, with a name catalogue,
hooks, events and a stop button. ``run_tool_loop`` and ``stream_tool_loop`` are the bounded,
provider-neutral loop over plain callables.
"""

from host.loop.agent_loop import run_agent_loop
from host.loop.agent_options import AgentLoopOptions, RunHooks
from host.loop.bounded_loop import Capped, RawEvent, ToolResultEvent
from host.loop.collaborators import Decision, EventSink, HookRunner, Model, Toolbox
from host.loop.decision_point import DecisionPoint, Evidence
from host.loop.hook_context import HOOK_PREFACE, turn_index, turn_messages, with_context
from host.loop.hooks import Consulted, Gathered, consult, gather, notify
from host.loop.loop_events import ExecutedCall, LoopEvent
from host.loop.loop_observers import LoopHooks, compose_hooks, with_pursuit
from host.loop.run_control import RunControl
from host.loop.tool_loop import (
    ToolLoopOptions,
    ToolLoopResult,
    TurnCall,
    TurnEvent,
    TurnOther,
    TurnText,
    run_tool_loop,
    stream_tool_loop,
)
from host.text.context_blocks import HOOK_CONTEXT_TOKENS
from host.text.fences import UNTRUSTED_PREFACE, untrusted
from host.text.truncation import preview

__all__ = [
    "HOOK_CONTEXT_TOKENS",
    "HOOK_PREFACE",
    "UNTRUSTED_PREFACE",
    "AgentLoopOptions",
    "Capped",
    "Consulted",
    "Decision",
    "DecisionPoint",
    "EventSink",
    "Evidence",
    "ExecutedCall",
    "Gathered",
    "HookRunner",
    "LoopEvent",
    "LoopHooks",
    "Model",
    "RawEvent",
    "RunControl",
    "RunHooks",
    "ToolLoopOptions",
    "ToolLoopResult",
    "ToolResultEvent",
    "Toolbox",
    "TurnCall",
    "TurnEvent",
    "TurnOther",
    "TurnText",
    "compose_hooks",
    "consult",
    "gather",
    "notify",
    "preview",
    "run_agent_loop",
    "run_tool_loop",
    "stream_tool_loop",
    "turn_index",
    "turn_messages",
    "untrusted",
    "with_context",
    "with_pursuit",
]
