"""What a configuration means for the agent loop."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from host.catalogue.server_instructions import instructions_prompt
from host.config import AgentSettings
from host.loop import Approver, TokenPrices, policy_approver
from host.records import CatalogueServer, CatalogueTool, ServerInstructions, ToolDefinition

DEFAULT_SYSTEM_PROMPT = (
    "You act for the user through tools. Where a tool can look something up, compute it or do it, "
    "call it: never compute, guess or explain what a tool could do. When the tools have answered, "
    "tell the user the result in plain words."
)
"""Said to the model where the servers file has no ``agent.systemPrompt``."""

_OWN = ""
"""Stands for this host among ids of servers, none of which is empty."""


def loop_settings(
    agent: AgentSettings, *, now: datetime, instructions: Sequence[ServerInstructions] = ()
) -> dict[str, Any]:
    """The options of a run that its configuration sets, by their names in ``AgentLoopOptions``.

    Args:
        now: aware time; the deadline counts from it.
        instructions: what the servers in reach say of themselves.
    """
    seconds, prices = agent.deadline_seconds, agent.prices
    return {
        "system": system_prompt(agent, instructions),
        "discovery": agent.discovery,
        "preselect_routing": agent.preselect_routing,
        "parallel": agent.parallel,
        "max_tool_iterations": agent.max_tool_iterations,
        "deadline": None if seconds is None else now + timedelta(seconds=seconds),
        "max_cost": agent.max_cost,
        "price": prices and TokenPrices(**prices.model_dump()),
        "stuck_after": agent.stuck_after,
        "stuck_pairs_after": agent.stuck_pairs_after,
        "stuck_empty_after": agent.stuck_empty_after,
        "finish": agent.finish,
        "max_continuations": agent.max_continuations,
        "compact": agent.compact,
        "max_result_chars": agent.max_result_chars or None,
    }


def system_prompt(agent: AgentSettings, instructions: Sequence[ServerInstructions] = ()) -> str:
    """The system prompt before the list of tools, which changes more often than it.

    A guided run never shows its model a tool, so that servers' words on theirs would be lost on it.
    """
    own = agent.system_prompt or DEFAULT_SYSTEM_PROMPT
    if not agent.server_instructions or agent.discovery == "guided":
        return own
    return "\n\n".join(filter(None, (own, instructions_prompt(instructions))))


def approver(
    agent: AgentSettings,
    catalogue: Sequence[CatalogueServer],
    trusted: Collection[str],
    *,
    readers: Sequence[ToolDefinition] = (),
) -> Approver | None:
    """The judge of calls that the configuration asks for; None where every call is allowed.

    Args:
        trusted: ids of the servers whose hints are believed.
        readers: tools of the host's own, which only read.
    """
    if agent.approve is None:
        return None
    own = CatalogueServer(id=_OWN, label="", tools=tuple(map(_reader, readers)))
    return policy_approver(agent.approve.policy(), [*catalogue, own], trusted={*trusted, _OWN})


def _reader(tool: ToolDefinition) -> CatalogueTool:
    name = tool["function"]["name"]
    return CatalogueTool(name=name, description="", annotations={"readOnlyHint": True})
