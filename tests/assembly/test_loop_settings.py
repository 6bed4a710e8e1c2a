"""A configuration's part that concerns the loop reaches it under the loop's names."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.assembly.loop_settings import DEFAULT_SYSTEM_PROMPT, approver, loop_settings
from host.catalogue.resource_tools import RESOURCE_TOOLS
from host.config import AgentSettings
from host.loop import AgentLoopOptions
from host.records import ServerInstructions, ToolCallRequest, TurnUsage
from tests.fakes.loop_peers import MemoryTool, MemoryToolbox, ScriptedModel, saying

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

settings: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    system_prompt=st.sampled_from(["", "Be kind."]),
    discovery=st.sampled_from(["names", "eager", "proxied", "keywords", "preselect", "guided"]),
    preselect_routing=st.sampled_from(["exclusive", "append"]),
    parallel=st.booleans(),
    max_tool_iterations=st.integers(1, 50),
    stuck_after=st.sampled_from([0, 2, 5]),
    stuck_pairs_after=st.sampled_from([0, 2, 5]),
    stuck_empty_after=st.sampled_from([0, 2, 5]),
    finish=st.sampled_from(["stop", "summarise"]),
    max_continuations=st.integers(0, 3),
)


@given(settings)
def test_what_is_set_is_what_the_loop_is_given(written: dict[str, Any]) -> None:
    given_to_loop = loop_settings(AgentSettings(**written), now=NOON)
    assert set(given_to_loop) <= {field.name for field in fields(AgentLoopOptions)}
    system = written.pop("system_prompt")
    assert given_to_loop["system"] == (system or DEFAULT_SYSTEM_PROMPT)
    assert {name: given_to_loop[name] for name in written} == written
    AgentLoopOptions(
        ScriptedModel(saying("x")), MemoryToolbox(), [], context_length=9, **given_to_loop
    )


@pytest.mark.parametrize(("chars", "cut"), [(0, None), (500, 500)])
def test_no_limit_of_characters_is_none(chars: int, cut: int | None) -> None:
    settings = loop_settings(AgentSettings(max_result_chars=chars), now=NOON)
    assert settings["max_result_chars"] == cut


def test_seconds_become_a_moment_and_prices_a_bill() -> None:
    agent = AgentSettings.model_validate(
        {"deadline_seconds": 60, "max_cost": 1, "prices": {"prompt": 2, "completion": 8}}
    )
    settings = loop_settings(agent, now=NOON)
    assert settings["deadline"] == NOON + timedelta(minutes=1)
    assert settings["price"](TurnUsage(prompt_tokens=1_000_000)) == 2


def test_calls_are_judged_only_where_the_configuration_says_how() -> None:
    delete = MemoryTool(name="memo__delete", annotations={"readOnlyHint": True})
    catalogue = MemoryToolbox(delete).catalogue()
    assert approver(AgentSettings(), catalogue, ()) is None
    agent = AgentSettings.model_validate({"approve": {"otherwise": "deny"}})
    request = ToolCallRequest(id="1", name="memo__delete")
    for trusted, verdict in (((), "deny"), (["memo"], "allow")):
        judge = approver(agent, catalogue, trusted)
        assert judge is not None
        word = judge(request)
        assert (word if isinstance(word, str) else word[0]) == verdict  # type: ignore[index]


WORDS = (ServerInstructions(server_id="docs", label="Docs", text="Ask me first."),)


@given(settings, st.booleans())
def test_what_servers_say_stands_behind_the_own_prompt_unless_nobody_would_read_it(
    written: dict[str, Any], wanted: bool
) -> None:
    agent = AgentSettings(**written, server_instructions=wanted)
    silent = loop_settings(agent, now=NOON)["system"]
    system = loop_settings(agent, now=NOON, instructions=WORDS)["system"]
    if wanted and agent.discovery != "guided":
        assert system.startswith(f"{silent}\n\n# ")
        assert system.count('<instructions server="Docs">\nAsk me first.\n</instructions>') == 1
    else:
        assert system == silent


def test_tools_of_the_hosts_own_are_known_to_read_only() -> None:
    for rules, verdict in (
        ({"otherwise": "ask"}, "allow"),
        ({"readOnly": "ask"}, "ask"),
        ({"deny": ["read_resource"]}, "deny"),
    ):
        agent = AgentSettings.model_validate({"approve": rules})
        judge = approver(agent, (), (), readers=RESOURCE_TOOLS)
        assert judge is not None
        word = judge(ToolCallRequest(id="1", name="read_resource"))
        assert (word if isinstance(word, str) else word[0]) == verdict  # type: ignore[index]
