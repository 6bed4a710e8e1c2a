from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult

from host.pool.results import result_text
from host.text.json_text import compact_json


def rendered(*blocks: object, **result: object) -> str:
    return result_text({"content": list(blocks), **result})


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "text", "text": "hello"}, "hello"),
        ({"type": "text"}, ""),
        ({"type": "text", "text": 5}, ""),
        ({"type": "text", "text": ""}, ""),
        ({"type": "resource", "resource": {"uri": "a:b", "text": "body"}}, "body"),
        ({"type": "resource", "resource": {"uri": "a:b", "text": ""}}, ""),
        (
            {
                "type": "resource",
                "resource": {"uri": "a:b", "mimeType": "text/plain", "blob": "QQ=="},
            },
            "[resource a:b text/plain, 1 byte omitted]",
        ),
        (
            {"type": "resource", "resource": {"uri": "a:b", "blob": "QUI="}},
            "[resource a:b 2 bytes omitted]",
        ),
        (
            {"type": "resource", "resource": {"mimeType": "x/y", "blob": ""}},
            "[resource x/y, 0 bytes omitted]",
        ),
        ({"type": "resource", "resource": {"blob": "QUJD"}}, "[resource 3 bytes omitted]"),
        ({"type": "resource", "resource": {"uri": "a:b"}}, "[resource a:b content]"),
        ({"type": "resource", "resource": {}}, "[resource content]"),
        ({"type": "resource"}, "[resource content]"),
        (
            {"type": "resource_link", "uri": "a:b", "name": "n", "description": "d"},
            "[resource_link a:b — n: d]",
        ),
        ({"type": "resource_link", "uri": "a:b", "name": "n"}, "[resource_link a:b — n]"),
        ({"type": "resource_link", "uri": "a:b", "description": "d"}, "[resource_link a:b — d]"),
        ({"type": "resource_link", "uri": "a:b"}, "[resource_link a:b]"),
        ({"type": "resource_link", "name": "n"}, "[resource_link content]"),
        (
            {"type": "image", "mimeType": "image/png", "data": "QUJD"},
            "[image image/png, 3 bytes omitted]",
        ),
        ({"type": "image", "mimeType": "image/webp"}, "[image image/webp]"),
        ({"type": "image", "data": "QUJD"}, "[image 3 bytes omitted]"),
        (
            {"type": "audio", "mimeType": "audio/wav", "data": "QQ"},
            "[audio audio/wav, 1 byte omitted]",
        ),
        ({"type": "video", "data": "QUJD"}, "[video 3 bytes omitted]"),
        ({"type": "video", "mimeType": "video/mp4"}, "[video content]"),
        ({"type": "image"}, "[image content]"),
        ({"type": "tool_use", "name": "x"}, "[tool_use content]"),
        ({"text": "x"}, "[unknown content]"),
        ({"type": 5}, "[unknown content]"),
        (None, "[unknown content]"),
        ("text", "[unknown content]"),
    ],
)
def test_each_kind_of_block_has_its_line(block: object, text: str) -> None:
    assert rendered(block) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (1023, "1023 bytes"),
        (1024, "1 KB"),
        (1535, "1 KB"),
        (1536, "2 KB"),
        (1024 * 1024 - 1, "1024 KB"),
        (1024 * 1024, "1.0 MB"),
        (1024 * 1024 * 5 // 4, "1.3 MB"),
        (1024 * 1024 * 10, "10.0 MB"),
    ],
)
def test_sizes_round_half_up(size: int, text: str) -> None:
    data = base64.b64encode(bytes(size)).decode()

    assert rendered({"type": "image", "data": data}) == f"[image {text} omitted]"


@given(st.binary(max_size=900), st.integers(1, 80))
def test_a_size_is_told_without_decoding_even_when_lines_are_folded(raw: bytes, fold: int) -> None:
    encoded = base64.b64encode(raw).decode().rstrip("\n")
    body, padding = encoded.rstrip("="), encoded[len(encoded.rstrip("=")) :]
    folded = "\r\n".join(body[at : at + fold] for at in range(0, len(body), fold)) + padding + "\n"
    unit = "byte" if len(raw) == 1 else "bytes"

    assert rendered({"type": "x", "data": folded}) == f"[x {len(raw)} {unit} omitted]"


def test_blocks_stand_under_each_other_trimmed_at_both_ends() -> None:
    blocks = [{"type": "text", "text": text} for text in ("\n a", "", "b \n")]

    assert rendered(*blocks) == "a\n\nb"


@pytest.mark.parametrize("content", [None, "text", {}, 5])
def test_content_that_is_no_list_is_empty(content: object) -> None:
    assert result_text({"content": content}) == ""
    assert result_text({"content": content, "structuredContent": {"a": 1}}) == '{"a":1}'


@pytest.mark.parametrize(
    ("text", "structure", "shown"),
    [
        ("", {"a": 4.0, "é": None}, '{"a":4,"é":null}'),
        ('{ "a": 4.0 }', {"a": 4}, '{"a":4}'),
        ('{"a": 1, "b": 2}', {"b": 2, "a": 1}, '{"a": 1, "b": 2}'),
        ('{"a":1}', {"a": 1}, '{"a":1}'),
        ('{"a": 1}', {"a": 2}, '{"a": 1}'),
        ("42", {"result": "42"}, "42"),
        ("forty-two, said at some length", {"result": 42}, "forty-two, said at some length"),
        ("[ 1 ]", [1], "[1]"),
        ("", [], "[]"),
        ("", {"a": float("nan")}, ""),
        ("text", {"a": float("nan")}, "text"),
        ("[" * 100_000, [], "[" * 100_000),
    ],
    ids=lambda each: str(each)[:30],
)
def test_structure_stands_in_for_no_text_and_for_its_own_longer_spelling(
    text: str, structure: object, shown: str
) -> None:
    assert rendered({"type": "text", "text": text}, structuredContent=structure) == shown


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([4.0, 1e21, 0.5, "é", "a\n"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abé"), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(structure=JSON, other=JSON, indent=st.sampled_from([None, 2]))
def test_the_same_json_is_never_shown_twice_and_other_text_never_lost(
    structure: Any, other: Any, indent: int | None
) -> None:
    mirrored = json.dumps(structure, indent=indent)
    text = json.dumps(other, indent=indent)

    assert rendered({"type": "text", "text": mirrored}, structuredContent=structure) in (
        mirrored,
        compact_json(structure),
    )
    if compact_json(other) != compact_json(structure):
        assert rendered({"type": "text", "text": text}, structuredContent=structure) == text


def test_an_sdk_result_reads_like_its_wire_form() -> None:
    wire = {
        "content": [
            {"type": "text", "text": "a"},
            {"type": "image", "data": "QUJD", "mimeType": "image/png"},
            {
                "type": "resource",
                "resource": {"uri": "x:y", "mimeType": "text/plain", "blob": "QQ=="},
            },
            {"type": "resource", "resource": {"uri": "x:y", "text": "b"}},
            {"type": "resource_link", "uri": "x:z", "name": "n", "description": "d"},
        ],
        "structuredContent": {"a": 1},
        "isError": True,
    }

    parsed = CallToolResult.model_validate(wire)

    assert result_text(parsed) == result_text(wire)
    assert "image/png, 3 bytes" in result_text(parsed)
    assert result_text(CallToolResult(content=[], structured_content=[1])) == "[1]"
