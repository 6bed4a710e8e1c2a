from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import Tool, ToolAnnotations

from host.pool.fingerprint import connection_digest, tools_fingerprint
from host.pool.listing import read_listing
from host.pool.rows import HttpServerRow, ServerRow, StdioServerRow, same_connection

READ: dict[str, Any] = {
    "name": "read",
    "description": "Reads é.",
    "inputSchema": {"type": "object", "properties": {"b": {"maximum": 4.0}, "a": {}}},
    "annotations": {"readOnlyHint": True},
}


def test_the_digest_is_of_canonical_json_of_the_tools_in_name_order() -> None:
    text = (
        '[["add","",{"type":"object"},null],'
        '["read","Reads é.",{"properties":{"a":{},"b":{"maximum":4}},"type":"object"},'
        '{"readOnlyHint":true}]]'
    )

    expected = hashlib.sha256(text.encode()).hexdigest()
    assert tools_fingerprint([READ, {"name": "add"}]) == expected
    assert tools_fingerprint([{"name": "add", "inputSchema": {}}, READ]) == expected


def test_no_tools_have_a_fingerprint_too() -> None:
    assert tools_fingerprint([]) == hashlib.sha256(b"[]").hexdigest()


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ({"description": "Reads."}, True),
        ({"inputSchema": {"type": "object"}}, True),
        ({"annotations": {"readOnlyHint": False}}, True),
        ({"name": "read2"}, True),
        ({"title": "Read"}, False),
        ({"outputSchema": {"type": "object"}}, False),
        ({"_meta": {"x": 1}}, False),
        ({"tags": ["x"]}, False),
    ],
)
def test_only_what_a_caller_relies_on_counts(change: dict[str, Any], counts: bool) -> None:
    assert (tools_fingerprint([READ | change]) != tools_fingerprint([READ])) is counts


@given(st.permutations([READ, {"name": "a"}, {"name": "b", "description": "x"}]))
def test_order_and_form_of_the_tools_do_not_count(tools: list[dict[str, Any]]) -> None:
    listed = read_listing(tools, slug="s", label="S").tools

    assert tools_fingerprint(tools) == tools_fingerprint(listed)
    assert tools_fingerprint(tools) == tools_fingerprint(
        [READ, {"name": "a"}, {"name": "b", "description": "x"}]
    )


def test_an_sdk_tool_counts_as_its_wire_form() -> None:
    tool = Tool(
        name="read",
        title="T",
        description="Reads é.",
        input_schema=READ["inputSchema"],
        annotations=ToolAnnotations(read_only_hint=True),
    )

    assert tools_fingerprint([tool]) == tools_fingerprint([READ])


ROWS = st.builds(
    StdioServerRow,
    id=st.just("a"),
    enabled=st.just(True),
    label=st.none() | st.just("L"),
    command=st.sampled_from(["x", "y"]),
    args=st.none() | st.lists(st.sampled_from(["1", "2"]), max_size=2),
    env=st.none() | st.dictionaries(st.sampled_from("AB"), st.sampled_from("12")),
    cwd=st.none() | st.sampled_from(["", "/d"]),
) | st.builds(
    HttpServerRow,
    id=st.just("a"),
    enabled=st.just(True),
    url=st.sampled_from(["http://a", "http://b"]),
    headers=st.none() | st.dictionaries(st.sampled_from("AB"), st.sampled_from("12")),
)


@given(a=ROWS, b=ROWS)
def test_rows_share_a_digest_exactly_when_they_share_a_connection(
    a: ServerRow, b: ServerRow
) -> None:
    assert (connection_digest(a) == connection_digest(b)) is same_connection(a, b)


def test_enabling_a_row_does_not_change_its_digest() -> None:
    row = StdioServerRow(id="a", command="x")

    assert connection_digest(row) == connection_digest(row.model_copy(update={"enabled": False}))
    assert connection_digest(row) == hashlib.sha256(b'["stdio","x","",[],{}]').hexdigest()
