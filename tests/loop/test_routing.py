"""The choice of tools for the first request, as far as it is the caller's."""

from __future__ import annotations

from typing import Any

import pytest

from host.loop import READ_RESULT
from tests.fakes.loop_peers import MemoryToolbox, ScriptedModel, saying
from tests.loop.runs import Events, run

TWO = ("a__x", "a__y")


@pytest.mark.parametrize("routing", ["exclusive", "append"])
@pytest.mark.parametrize("discovery", ["names", "keywords", "preselect"])
async def test_a_tool_that_is_chosen_twice_is_declared_once(discovery: str, routing: str) -> None:
    model, events = ScriptedModel(saying("x")), Events()
    await run(
        model,
        MemoryToolbox(*TWO),
        discovery=discovery,
        preselected=["a__y", "gone", "a__y"],
        preselect_routing=routing,
        on_event=events,
    )
    (request,) = model.requests
    assert request.tool_names.count("a__y") == 1
    assert "a__x" not in request.tool_names
    assert [event["text"] for event in events.of("decision")] == ["begins with a__y"]


async def test_definitions_that_are_chosen_twice_are_read_once() -> None:
    model = ScriptedModel(saying("x"))
    done = await run(
        model, MemoryToolbox(*TWO), discovery="proxied", preselected=["a__y"] * 3, loaded=["a__y"]
    )
    assert done.loaded == ("a__y",)
    assert str(model.requests[0].messages[-1]["content"]).count('"a__y"') == 1


@pytest.mark.parametrize("routing", ["exclusive", "append"])
@pytest.mark.parametrize("names", [["a__y"], [], ["gone"]])
async def test_a_choice_hides_nothing_from_a_run_that_declares_all(
    routing: str, names: list[str]
) -> None:
    model, events = ScriptedModel(saying("x")), Events()
    given: dict[str, Any] = {"preselected": names, "preselect_routing": routing}
    await run(model, MemoryToolbox(*TWO), discovery="eager", on_event=events, **given)
    assert model.requests[0].tool_names == list(TWO)
    assert READ_RESULT not in model.requests[0].tool_names
    assert events.of("decision") == []
