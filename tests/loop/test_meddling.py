"""Those who hear of a call or judge it cannot change what is called."""

from __future__ import annotations

from typing import Any

import pytest

from host.loop.collaborators import Verdict
from host.records import ToolCallRequest
from tests.fakes.loop_peers import MemoryToolbox, ScriptedModel, call, calling, saying
from tests.loop.runs import run

ARGS: dict[str, Any] = {"path": "/tmp/a", "options": {"force": False, "more": [1]}}


def meddle(request: ToolCallRequest) -> None:
    assert request.args == ARGS
    request.args["options"]["more"].append(2)
    request.args["options"]["force"] = True
    request.args.pop("path")


@pytest.mark.parametrize("parallel", [True, False])
async def test_what_they_do_to_the_arguments_they_are_shown_reaches_neither_tool_nor_transcript(
    parallel: bool,
) -> None:
    heard: list[str] = []

    def on_tool_call(request: ToolCallRequest, step: int) -> None:
        meddle(request)
        heard.append("watcher")

    async def approve(request: ToolCallRequest) -> Verdict:
        meddle(request)
        heard.append("policy")
        return "ask"

    async def ask_person(request: ToolCallRequest) -> Any:
        meddle(request)
        heard.append("person")
        return "allow"

    box = MemoryToolbox("a__x")
    model = ScriptedModel(calling(call("a__x", ARGS), call("a__x", ARGS)), saying("Done."))
    done = await run(
        model,
        box,
        parallel=parallel,
        on_tool_call=on_tool_call,
        approve=approve,
        ask_person=ask_person,
    )
    assert sorted(heard) == ["person"] * 2 + ["policy"] * 2 + ["watcher"] * 2
    assert [request.args for request in box.calls] == [ARGS, ARGS]
    asked = done.messages[1]
    assert asked["role"] == "assistant"
    written = call("a__x", ARGS)["function"]
    assert [one["function"] for one in asked["tool_calls"]] == [written, written]
