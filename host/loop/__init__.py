"""The loops: a model, tools, and what happens between question and answer. Usable alone.

``run_agent_loop`` runs a question over a ``Model`` and a ``Toolbox``, with a name catalogue,
hooks, events and a stop button. ``run_tool_loop`` and ``stream_tool_loop`` are the bounded,
provider-neutral loop over plain callables.
"""

from host.loop.agent_loop import run_agent_loop
from host.loop.agent_options import AgentLoopOptions, Compact, Preselect, RunHooks
from host.loop.approval import ApprovalPolicy, policy_approver
from host.loop.big_results import READ_RESULT
from host.loop.bounded_loop import Capped, RawEvent, ToolResultEvent
from host.loop.collaborators import (
    Approver,
    Decision,
    EventSink,
    HookRunner,
    MetaToolbox,
    Model,
    PersonAsker,
    Toolbox,
    Verdict,
    WakingToolbox,
)
from host.loop.compaction import (
    CompactionHooks,
    compact_transcript,
    run_compaction,
    summariser,
)
from host.loop.compaction_plan import (
    COMPACT_AT,
    KEEP_RATIO,
    CompactionPlan,
    plan_compaction,
)
from host.loop.decision_point import DecisionPoint, Evidence
from host.loop.hook_context import HOOK_PREFACE, turn_index, turn_messages, with_context
from host.loop.hooks import Consulted, Gathered, consult, gather, notify
from host.loop.ledger import (
    break_reason,
    estimate_from,
    rebase_ledger,
    record_request,
    tokens_between,
)
from host.loop.loop_events import ExecutedCall, LoopEvent
from host.loop.loop_observers import LoopHooks, compose_hooks, with_pursuit
from host.loop.pruning import prune_tool_results
from host.loop.run_control import RunControl
from host.loop.run_tracing import NO_TRACING, RunTracer
from host.loop.stored_folds import (
    SUMMARY_LEAD,
    StoredFold,
    apply_compaction,
    request_index,
)
from host.loop.summary_request import SUMMARY_PROMPT, summary_input
from host.loop.token_prices import TokenPrices
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
    "COMPACT_AT",
    "HOOK_CONTEXT_TOKENS",
    "HOOK_PREFACE",
    "KEEP_RATIO",
    "NO_TRACING",
    "READ_RESULT",
    "SUMMARY_LEAD",
    "SUMMARY_PROMPT",
    "UNTRUSTED_PREFACE",
    "AgentLoopOptions",
    "ApprovalPolicy",
    "Approver",
    "Capped",
    "Compact",
    "CompactionHooks",
    "CompactionPlan",
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
    "MetaToolbox",
    "Model",
    "PersonAsker",
    "Preselect",
    "RawEvent",
    "RunControl",
    "RunHooks",
    "RunTracer",
    "StoredFold",
    "TokenPrices",
    "ToolLoopOptions",
    "ToolLoopResult",
    "ToolResultEvent",
    "Toolbox",
    "TurnCall",
    "TurnEvent",
    "TurnOther",
    "TurnText",
    "Verdict",
    "WakingToolbox",
    "apply_compaction",
    "break_reason",
    "compact_transcript",
    "compose_hooks",
    "consult",
    "estimate_from",
    "gather",
    "notify",
    "plan_compaction",
    "policy_approver",
    "preview",
    "prune_tool_results",
    "rebase_ledger",
    "record_request",
    "request_index",
    "run_agent_loop",
    "run_compaction",
    "run_tool_loop",
    "stream_tool_loop",
    "summariser",
    "summary_input",
    "tokens_between",
    "turn_index",
    "turn_messages",
    "untrusted",
    "with_context",
    "with_pursuit",
]
