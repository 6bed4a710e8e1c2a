from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import ListToolsResult

from host.pool.listing import (
    FOR_APPS_ONLY,
    NEEDS_TASK,
    Listing,
    read_listing,
    readable_description,
    tool_definition,
)
from host.pool.wire_tool import wire_tool
from host.text.json_text import compact_json
from host.text.redaction import Redactor


def listing(*tools: object, **options: Any) -> Listing:
    return read_listing(tools, **({"slug": "fs", "label": "Files"} | options))


def test_a_tool_is_kept_with_everything_the_server_said() -> None:
    schema = {"type": "object", "properties": {"p": {"type": "string"}}}
    sent = {
        "name": "read.file",
        "title": "Read a file",
        "description": "\n    Reads.\n\n      Fast.\n    ",
        "inputSchema": schema,
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "_meta": {"x": 1},
        "tags": ["ignored"],
    }

    (tool,) = listing(sent).tools

    assert (tool.name, tool.qualified, tool.title) == ("read.file", "fs__read_file", "Read a file")
    assert tool.description == "Reads.\n\n  Fast."
    assert (tool.input_schema, tool.output_schema) == (schema, {"type": "object"})
    assert (tool.annotations, tool.meta) == ({"readOnlyHint": True}, {"x": 1})
    assert tool.definition == {
        "type": "function",
        "function": {
            "name": "fs__read_file",
            "description": "[Files] Reads.\n\n  Fast.",
            "parameters": schema,
        },
    }
    assert tool.tokens == -(-len(compact_json(tool.definition)) // 4)
    assert tool.sent == sent
    assert tool.withheld is None


@pytest.mark.parametrize(
    ("description", "cap", "text"),
    [
        ("", None, "[Files]"),
        ("Reads.", None, "[Files] Reads."),
        ("Reads.", 0, "[Files] Reads."),
        ("Reads.", 14, "[Files] Reads."),
        ("Reads.", 13, "[Files] Reads"),
    ],
)
def test_a_definition_carries_the_label_and_is_cut_with_it(
    description: str, cap: int | None, text: str
) -> None:
    definition = tool_definition(
        "fs__read",
        label="Files",
        description=description,
        input_schema=None,
        max_description_chars=cap,
    )

    assert definition["function"] == {
        "name": "fs__read",
        "description": text,
        "parameters": {"type": "object"},
    }


def test_a_long_description_is_cut_around_a_marker() -> None:
    (tool,) = listing({"name": "t", "description": "d" * 5000}, max_description_chars=1024).tools

    assert len(tool.definition["function"]["description"]) <= 1024
    assert "[truncated: kept" in tool.definition["function"]["description"]
    assert len(tool.description) == 5000


def test_the_schema_in_a_definition_is_not_touched() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"title": {"title": "T", "$ref": "#/$defs/x"}, "$and": {"maximum": 2**53}},
        "$defs": {"x": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}},
        "$schema": "http://json-schema.org/draft-07/schema#",
    }
    kept = copy.deepcopy(schema)

    (tool,) = listing({"name": "t", "inputSchema": schema}).tools

    assert tool.definition["function"]["parameters"] == schema == kept


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("plain", "plain"),
        ("\n    A\n    B\n", "A\nB"),
        ("A\n    B\n      C\n    ", "A\nB\n  C"),
        ("  A\r\n    B", "A\nB"),
        ("\t\n", ""),
        ("查询\u200b天气", "查询天气"),
        ("<use_case>x</use_case>", "<use_case>x</use_case>"),
    ],
)
def test_a_description_loses_indentation_and_nothing_else(text: str, readable: str) -> None:
    assert readable_description(text) == readable


@given(st.lists(st.sampled_from(["a", "  b", "", "    c d", "\te", " ", "\r"]), max_size=6))
def test_words_survive_and_reading_twice_changes_nothing(lines: list[str]) -> None:
    text = "\n".join(lines)
    readable = readable_description(text)

    assert readable.split() == text.split()
    assert readable == readable.strip()
    assert readable_description("\n    " + readable.replace("\n", "\n    ")) == readable


def test_of_two_tools_with_one_name_the_first_counts() -> None:
    found = listing({"name": "t", "description": "1"}, {"name": "t", "description": "2"})

    assert [tool.description for tool in found.tools] == ["1"]
    assert "listed twice" in found.notices[0]


def test_a_bad_tool_costs_neither_the_list_nor_its_neighbours() -> None:
    endless: dict[str, Any] = {"type": "object"}
    endless["properties"] = {"self": endless}
    found = listing(
        None,
        {"name": ""},
        {"name": "nan", "inputSchema": {"type": "object", "maximum": float("nan")}},
        {"name": "endless", "inputSchema": endless},
        {"name": "ok", "annotations": {"readOnlyHint": "yes"}},
    )

    assert [tool.name for tool in found.tools] == ["ok"]
    assert [notice.split(":")[0] for notice in found.notices] == [
        "tool 1",
        "tool 2",
        'tool "nan"',
        'tool "endless"',
        'tool "ok"',
    ]


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ({"execution": {"taskSupport": "required"}}, NEEDS_TASK),
        ({"execution": {"taskSupport": "optional"}}, None),
        ({"_meta": {"ui": {"visibility": ["app"]}}}, FOR_APPS_ONLY),
        ({"_meta": {"ui": {"visibility": ["model", "app"]}}}, None),
        ({"_meta": {"ui": {"visibility": []}}}, None),
        ({"_meta": {"ui": {"visibility": "app"}}}, None),
        ({"_meta": {"ui": "x"}}, None),
    ],
)
def test_tools_that_a_model_cannot_call_are_listed_but_withheld(
    extra: dict[str, Any], reason: str | None
) -> None:
    (tool,) = listing({"name": "t", **extra}).tools

    assert tool.withheld == reason


def test_sdk_tools_and_wire_tools_give_the_same_listing() -> None:
    sent = {
        "name": "t",
        "title": "T",
        "description": "d",
        "inputSchema": {"type": "object", "properties": {"a": {"default": None}}},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": False},
        "execution": {"taskSupport": "required"},
        "_meta": {"k": {"v": None}},
    }
    parsed = ListToolsResult.model_validate({"tools": [sent]}).tools

    assert listing(*parsed) == listing(sent)
    assert wire_tool(parsed[0]) == sent
    assert parsed[0].input_schema["properties"] == {"a": {"default": None}}


def test_a_title_may_come_from_the_hints() -> None:
    (tool,) = listing({"name": "t", "annotations": {"title": "Hinted"}}).tools

    assert tool.title == "Hinted"


def test_a_listing_read_again_is_renamed_and_otherwise_equal() -> None:
    first = listing({"name": "t", "description": "  d"}, {"name": "u", "_meta": {"a": 1}})

    renamed = listing(*(tool.sent for tool in first.tools), slug="web", label="Web")

    assert [tool.qualified for tool in renamed.tools] == ["web__t", "web__u"]
    assert listing(*renamed.tools) == first


def test_a_secret_in_a_description_is_not_listed_and_a_tool_named_by_one_is_left_out() -> None:
    tools = [
        {"name": "a", "description": "Uses s3same-0pen.", "inputSchema": {"type": "object"}},
        {"name": "s3same-0pen", "inputSchema": {"type": "object"}},
    ]
    found = listing(*tools, redactor=Redactor(["s3same-0pen"]))
    (tool,) = found.tools
    assert tool.definition["function"]["description"] == "[Files] Uses ***."
    assert "s3same-0pen" not in repr(found)
    assert found.notices == ("tool 2: a name in it is a secret of its row; it was left out",)
