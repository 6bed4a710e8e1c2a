from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import parse_server_result, validate_server_result

from host.pool.mending import mend_tool, mend_tools

GOOD: dict[str, Any] = {
    "name": "read",
    "title": "Read",
    "description": "Reads.",
    "inputSchema": {"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"]},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True, "title": "R", "category": "x"},
    "execution": {"taskSupport": "optional"},
    "icons": [{"src": "data:,", "sizes": ["48x48"], "theme": "dark"}],
    "_meta": {"a": {"b": None}},
    "tags": ["unknown", "keys", "stay"],
}

ODD = st.sampled_from(
    [None, True, 0, -1, 1.5, "", "x", "object", "required", [], [None], ["a"], {}, {"a": None}]
)
SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "string", ["object", "null"], None, 5]),
        "properties": ODD | st.just({"a": {}, "b": True, "c": {"default": None}}),
        "required": ODD,
        "$schema": ODD,
    },
)
TOOLS = ODD | st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b"]) | ODD},
    optional={
        "inputSchema": SCHEMAS | ODD,
        "outputSchema": SCHEMAS | ODD,
        "annotations": ODD | st.fixed_dictionaries({"readOnlyHint": ODD, "title": ODD}),
        "execution": ODD | st.fixed_dictionaries({"taskSupport": ODD}),
        "icons": ODD | st.lists(st.fixed_dictionaries({}, optional={"src": ODD, "sizes": ODD})),
        "title": ODD,
        "description": ODD,
        "_meta": ODD,
    },
)
PAGES = ODD | st.fixed_dictionaries(
    {},
    optional={
        "tools": ODD | st.lists(TOOLS, max_size=3),
        "nextCursor": ODD,
        "ttlMs": ODD,
        "cacheScope": ODD,
        "resultType": ODD,
        "_meta": ODD,
    },
)


@given(PAGES)
def test_the_sdk_accepts_every_mended_page_in_both_eras(page: Any) -> None:
    kept = copy.deepcopy(page)

    legacy, modern = mend_tools(page), mend_tools(page, "2026-07-28")

    validate_server_result("tools/list", "2024-11-05", legacy.result)
    parse_server_result("tools/list", "2025-11-25", legacy.result)
    parse_server_result("tools/list", "2026-07-28", modern.result)
    assert page == kept


@given(PAGES)
def test_a_mended_page_needs_no_further_mending(page: Any) -> None:
    for version in (None, "2026-07-28"):
        once = mend_tools(page, version)

        assert mend_tools(once.result, version).result == once.result
        assert mend_tools(once.result, version).notices == ()


def test_a_good_page_stays_as_it_is() -> None:
    page = {"tools": [GOOD], "nextCursor": "2", "_meta": {"x": 1}}

    assert mend_tools(page).result == page
    assert mend_tools(page).notices == ()


def test_one_bad_tool_leaves_the_others_alone() -> None:
    page = mend_tools({"tools": [GOOD, None, {"name": 5}, {"name": "x", "inputSchema": 5}]})

    assert [tool["name"] for tool in page.result["tools"]] == ["read", "x"]
    assert page.notices == (
        "tool 2: it is no object and was left out",
        "tool 3: it has no name and was left out",
        'tool "x": its inputSchema is no schema; any object is accepted',
    )


@pytest.mark.parametrize(
    ("schema", "mended"),
    [
        (None, {"type": "object"}),
        ({}, {"type": "object"}),
        ([], {"type": "object"}),
        ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        ({"type": ["object", "null"]}, {"type": "object"}),
        ({"type": "object", "properties": []}, {"type": "object"}),
        (
            {"type": "object", "properties": {"a": None, "type": {"type": "string"}}},
            {"type": "object", "properties": {"a": {}, "type": {"type": "string"}}},
        ),
        ({"type": "object", "required": "a"}, {"type": "object"}),
        ({"type": "object", "required": ["a", 1]}, {"type": "object", "required": ["a"]}),
        ({"type": "object", "$schema": 7}, {"type": "object"}),
    ],
)
def test_an_input_schema_keeps_what_can_be_kept(schema: object, mended: dict[str, Any]) -> None:
    result = mend_tool({"name": "t", "inputSchema": schema})

    assert result.tool == {"name": "t", "inputSchema": mended}
    assert bool(result.faults) is (schema not in (None, {}))


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("title", 5),
        ("description", ["x"]),
        ("annotations", "readOnly"),
        ("execution", {"taskSupport": "sometimes"}),
        ("icons", [{"src": None}]),
        ("_meta", []),
        ("outputSchema", "object"),
    ],
)
def test_a_part_that_only_describes_is_dropped(part: str, value: object) -> None:
    result = mend_tool(GOOD | {part: value})

    assert result.tool == {name: each for name, each in GOOD.items() if name != part}
    assert len(result.faults) == 1
    assert part in result.faults[0]


def test_a_hint_that_is_not_boolean_is_no_claim() -> None:
    hints = {"readOnlyHint": "yes", "idempotentHint": True, "title": 5}
    result = mend_tool(GOOD | {"annotations": hints})

    assert result.tool is not None
    assert result.tool["annotations"] == {"idempotentHint": True}


def test_an_output_schema_of_another_type_is_for_the_new_era_only() -> None:
    page = {"tools": [GOOD | {"outputSchema": {"type": "array"}}]}

    assert "outputSchema" not in mend_tools(page).result["tools"][0]
    assert mend_tools(page, "2026-07-28").result["tools"][0]["outputSchema"] == {"type": "array"}


@pytest.mark.parametrize(
    ("cursor", "mended", "told"),
    [("p2", "p2", False), ("", "", False), (None, None, False), (2, "2", False), ([2], None, True)],
)
def test_a_numeric_cursor_still_leads_on(cursor: object, mended: object, told: bool) -> None:
    page = mend_tools({"tools": [], "nextCursor": cursor})

    assert page.result.get("nextCursor") == mended
    assert bool(page.notices) is told


def test_the_new_era_gets_the_fields_it_requires() -> None:
    page = mend_tools({"tools": [], "ttlMs": -1, "cacheScope": "all"}, "2026-07-28")

    assert page.result == {
        "tools": [],
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
    }


@pytest.mark.parametrize("part", ["inputSchema", "outputSchema", "_meta"])
def test_a_part_nested_too_deep_costs_itself_only(part: str) -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(400):
        deep = {"type": "object", "properties": {"a": deep}}
    page = mend_tools({"tools": [GOOD | {part: deep}, GOOD]})
    first, second = page.result["tools"]
    assert first.get(part) in (None, {"type": "object"})
    assert second == GOOD
    assert page.notices == (f'tool "read": its {part} is nested too deep and was dropped',)
