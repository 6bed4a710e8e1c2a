"""Odd answers become ones the SDK accepts; good ones stay as they are."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult, DiscoverResult, InitializeResult, TextContent
from mcp_types.methods import validate_server_result

from host.pool.result_mending import mend_result
from host.pool.results import result_text

LEGACY, MODERN = "2025-11-25", "2026-07-28"
ODD: list[Any] = [None, 7, "text", True, [], {}, [{}], {"x": 1}]
odd = st.sampled_from(ODD)
block = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["text", "image", "audio", "resource", "resource_link", "video"])
        | odd,
        "text": odd,
        "data": odd,
        "mimeType": odd,
        "uri": odd,
        "name": odd,
        "title": odd,
        "size": odd,
        "icons": odd,
        "annotations": odd | st.just({"audience": ["user"], "priority": 0.5}),
        "_meta": odd,
        "resource": odd
        | st.fixed_dictionaries({}, optional={"uri": odd, "text": odd, "blob": odd}),
    },
)
call_result = st.fixed_dictionaries(
    {},
    optional={
        "content": odd | st.lists(block | odd, max_size=4),
        "structuredContent": odd,
        "isError": odd,
        "_meta": odd,
    },
)


@given(call_result, st.sampled_from([None, MODERN]))
def test_whatever_a_call_is_answered_the_sdk_accepts_it_mended(
    sent: dict[str, Any], version: str | None
) -> None:
    before = copy.deepcopy(sent)
    mended, _ = mend_result("tools/call", version, sent)
    validate_server_result("tools/call", version or LEGACY, mended)
    result = CallToolResult.model_validate(mended, by_name=False)
    assert len(result.content) == (
        len(sent["content"]) if isinstance(sent.get("content"), list) else len(result.content)
    )
    assert sent == before


good_block = st.sampled_from(
    [
        {"type": "text", "text": "a", "annotations": {"audience": ["user"]}},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "a:b", "text": "x", "mimeType": "text/plain"}},
        {"type": "resource_link", "uri": "a:b", "name": "n", "title": "t", "size": 3},
    ]
)


@given(st.lists(good_block), st.booleans())
def test_a_good_answer_is_left_as_it_is(blocks: list[dict[str, Any]], is_error: bool) -> None:
    sent = {"content": blocks, "isError": is_error, "structuredContent": {"a": 1}}
    mended, notices = mend_result("tools/call", None, sent)
    assert (mended, notices) == (sent, ())


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ({"type": "video", "data": "AAAA"}, "[video content]"),
        ({"data": "AAAA"}, "[unknown content]"),
        ("words", "[unknown content]"),
        ({"type": "text"}, "[text content]"),
        ({"type": "resource", "resource": {"uri": "a:b"}}, "[resource content]"),
        ({"type": "image", "data": "AAAA"}, "[image 3 bytes omitted]"),
        ({"type": "resource", "resource": {"text": "t", "uri": 1, "mimeType": 2, "_meta": 3}}, "t"),
        (
            {"type": "resource", "resource": {"text": 5, "blob": "AAAA"}},
            "[resource 3 bytes omitted]",
        ),
        ({"type": "resource_link", "uri": "a:b"}, "[resource_link a:b]"),
        ({"type": "text", "text": "a", "annotations": {"priority": 9}}, "a"),
    ],
)
def test_a_block_that_is_none_is_told_in_words(sent: object, text: str) -> None:
    mended, _ = mend_result("tools/call", None, {"content": [sent]})
    assert result_text(mended) == text


@pytest.mark.parametrize("content", [None, 5, {}])
def test_content_that_is_no_list_is_empty(content: object) -> None:
    mended, _ = mend_result("tools/call", None, {"content": content})
    assert mended["content"] == []


def test_content_that_is_a_text_is_one_block() -> None:
    mended, _ = mend_result("tools/call", None, {"content": "hello"})
    assert CallToolResult.model_validate(mended).content == [TextContent(text="hello")]


def test_an_answer_that_asks_for_input_is_not_touched() -> None:
    sent = {"resultType": "input_required", "requestState": "s"}
    assert mend_result("tools/call", MODERN, sent)[0] == sent


@pytest.mark.parametrize("method", ["prompts/list", "tools/call", "some/thing"])
def test_answers_of_the_newer_era_get_their_bookkeeping(method: str) -> None:
    mended, _ = mend_result(method, MODERN, {})
    assert mended["resultType"] == "complete"
    assert ("ttlMs" in mended) is (method == "prompts/list")
    assert "resultType" not in mend_result(method, None, {})[0]


def test_a_listing_is_mended_tool_by_tool() -> None:
    sent = {"tools": [{"name": "good", "inputSchema": {"type": "object"}}, {"inputSchema": {}}, 7]}
    mended, notices = mend_result("tools/list", None, sent)
    validate_server_result("tools/list", LEGACY, mended)
    assert [tool["name"] for tool in mended["tools"]] == ["good"]
    assert len(notices) == 2


@given(
    st.fixed_dictionaries(
        {"protocolVersion": st.just("2025-06-18")},
        optional={
            "capabilities": odd
            | st.fixed_dictionaries({}, optional={"tools": odd, "experimental": odd, "x": odd}),
            "serverInfo": odd
            | st.fixed_dictionaries({}, optional={"name": odd, "version": odd, "icons": odd}),
            "instructions": odd,
        },
    )
)
def test_a_handshake_with_odd_parts_is_accepted(sent: dict[str, Any]) -> None:
    mended, _ = mend_result("initialize", None, sent)
    validate_server_result("initialize", LEGACY, mended)
    result = InitializeResult.model_validate(mended, by_name=False)
    who = sent.get("serverInfo")
    name = who.get("name") if isinstance(who, dict) else None
    assert result.server_info.name == (name if isinstance(name, str) else "")


def test_capabilities_of_the_handshake_are_kept() -> None:
    sent = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {"listChanged": True, "list": True}, "experimental": {"a": {}}},
        "serverInfo": {"name": "n", "version": "1", "title": "T"},
    }
    assert mend_result("initialize", None, sent)[0] == sent


def test_a_discovery_without_bookkeeping_is_accepted() -> None:
    sent = {"supportedVersions": [MODERN], "capabilities": {}}
    mended, _ = mend_result("server/discover", MODERN, sent)
    assert DiscoverResult.model_validate(mended, by_name=False).ttl_ms == 0
