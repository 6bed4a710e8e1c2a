from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import Tool

from host.pool.listing import read_listing
from host.pool.wire_tool import wire_tool

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "a", "é"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "title", "default"]), inner, max_size=2)
    ),
    max_leaves=5,
)
TOOLS = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["t", "read.file"]),
        "inputSchema": st.dictionaries(st.sampled_from(["properties", "x", "default"]), JSON),
    },
    optional={
        "title": st.just("T"),
        "description": st.sampled_from(["", " d\n"]),
        "outputSchema": st.just({"type": "object", "default": None}),
        "annotations": st.fixed_dictionaries({}, optional={"readOnlyHint": st.booleans()}),
        "execution": st.sampled_from([{"taskSupport": "required"}, {"taskSupport": "forbidden"}]),
        "_meta": st.dictionaries(st.sampled_from(["ui", "a/b"]), JSON),
    },
)


@given(TOOLS)
def test_the_wire_form_of_an_sdk_tool_is_what_the_server_sent(sent: dict[str, Any]) -> None:
    assert wire_tool(Tool.model_validate(sent, by_name=False)) == sent


@given(TOOLS)
def test_wire_objects_and_listed_tools_stand_for_themselves(sent: dict[str, Any]) -> None:
    sent = {**sent, "inputSchema": {"type": "object"}}
    (listed,) = read_listing([sent], slug="s", label="S").tools

    assert wire_tool(sent) is sent
    assert wire_tool(listed) == sent


@pytest.mark.parametrize("other", [None, 5, "tool", [], object()])
def test_what_is_no_tool_has_no_wire_form(other: object) -> None:
    assert wire_tool(other) is None
