"""A toolbox's tools beside the catalogue: declared from the start, called like others, billed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from host.catalogue.resource_tools import RESOURCE_TOOLS
from host.receipt import receipt
from host.records import ToolDefinition
from host.text.tokens import tools_tokens
from tests.fakes.loop_peers import MemoryTool, MemoryToolbox, ScriptedModel, call, calling, saying
from tests.loop.runs import results, run

META = ["list_resources", "read_resource"]


class ReadingToolbox(MemoryToolbox):
    """A toolbox that reads resources, too."""

    def meta_tools(self) -> Sequence[ToolDefinition]:
        return RESOURCE_TOOLS


def toolbox() -> ReadingToolbox:
    memo = MemoryTool(name="memo__add", parameters={"type": "object", "properties": {"x": {}}})
    return ReadingToolbox(memo, "clock__now")


def reads() -> list[Any]:
    return [
        calling(call("read_resource", {"server": "Docs", "uri": "a://1"})),
        saying("Read."),
    ]


@pytest.mark.parametrize(
    ("discovery", "declared"),
    [
        ("names", ["load_tools", *META]),
        ("eager", [*META, "memo__add", "clock__now"]),
        ("proxied", ["load_tools", "call_tool", *META]),
    ],
)
async def test_they_are_declared_in_every_request_before_what_is_loaded(
    discovery: str, declared: list[str]
) -> None:
    model = ScriptedModel(*reads())
    ended = await run(model, toolbox(), discovery=discovery)
    assert [request.tool_names for request in model.requests] == [declared, declared]
    assert ended.answer == "Read."
    assert ended.used == ()
    assert ended.loaded == ()


async def test_what_is_loaded_stands_behind_them() -> None:
    model = ScriptedModel(saying("x"))
    await run(model, toolbox(), discovery="names", loaded=["memo__add"])
    assert model.requests[0].tool_names == ["load_tools", *META, "memo__add"]


async def test_without_any_other_tool_they_are_declared_alone() -> None:
    model = ScriptedModel(saying("x"))
    await run(model, ReadingToolbox(), discovery="names")
    assert model.requests[0].tool_names == META
    assert model.requests[0].system == ""


async def test_a_call_of_them_goes_to_the_toolbox_and_its_long_answer_is_cut() -> None:
    box = toolbox()
    box._tools["read_resource"] = MemoryTool(name="read_resource", body=lambda _: "long " * 1000)
    del box._tools["clock__now"]
    model = ScriptedModel(*reads())
    ended = await run(model, box, discovery="names", max_result_chars=500)
    assert box.calls[0].args == {"server": "Docs", "uri": "a://1"}
    (shown,) = results(ended.messages)
    assert len(shown) <= 500
    assert "read_result" in shown


async def test_a_call_of_them_written_as_text_is_one() -> None:
    written = '{"name": "read_resource", "arguments": {"server": "Docs", "uri": "a://1"}}'
    box = toolbox()
    await run(ScriptedModel(saying(written), saying("x")), box, discovery="names")
    assert box.called == ["read_resource"]


async def test_calls_of_them_need_leave_like_others() -> None:
    box = toolbox()
    ended = await run(
        ScriptedModel(*reads()), box, discovery="names", approve=lambda _: ("deny", "No reading.")
    )
    assert results(ended.messages) == ["No reading."]
    assert box.calls == []


@pytest.mark.parametrize("discovery", ["names", "eager", "proxied"])
async def test_the_comparison_with_all_schemas_counts_them_on_both_sides(discovery: str) -> None:
    box, plain = toolbox(), MemoryToolbox(*toolbox()._tools.values())
    script = (saying("x"),)
    with_them = receipt(await run(ScriptedModel(*script), box, discovery=discovery))
    without = receipt(await run(ScriptedModel(*script), plain, discovery=discovery))
    extra = tools_tokens(RESOURCE_TOOLS)
    assert with_them.schema_tokens - without.schema_tokens == pytest.approx(extra, abs=2)
    assert with_them.eager_tokens - without.eager_tokens == pytest.approx(extra, abs=2)
    assert with_them.catalogue_tokens == without.catalogue_tokens
