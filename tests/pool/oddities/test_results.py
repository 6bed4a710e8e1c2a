"""F1 to F13: what servers answer a call with."""

from __future__ import annotations

import base64
import socket
from typing import Any

import pytest

from tests.fakes.mcp_servers.echo import EchoServer, Servers
from tests.fakes.mcp_servers.watching import Watch
from tests.pool.neighbours import beside_memory
from tests.pool.oddities.answers import TOOL, pool_of, said, wire_server
from tests.pool.pools import refused

RESULT = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def shaped(schema: dict[str, Any]) -> dict[str, Any]:
    """A tool with this output schema."""
    return TOOL | {"outputSchema": schema}


async def test_an_error_of_a_tool_need_not_have_the_structure_of_its_results() -> None:
    answer = said("no such file", isError=True)
    async with pool_of(wire_server(shaped(RESULT), tools_call=answer)) as pool:
        watch = Watch(pool)
        error = await refused(pool, "a__t")
        assert (error.code, str(error)) == ("tool-error", "no such file")
        assert watch.of("log") == []


async def test_structure_that_was_not_announced_is_kept() -> None:
    answer = said("two rows", structuredContent={"rows": 2})
    async with pool_of(wire_server(tools_call=answer)) as pool:
        assert (await pool.call_raw("a__t")).structured_content == {"rows": 2}
        assert await pool.call("a__t") == "two rows"


async def test_a_tuple_of_draft_7_is_judged_as_one() -> None:
    pair = {"type": "array", "items": [{"type": "number"}] * 2, "additionalItems": False}
    schema = {"$schema": DRAFT_7, "type": "object", "properties": {"at": pair}}
    server = wire_server(shaped(schema), tools_call=said("x", structuredContent={"at": [1, 2]}))
    async with pool_of(server) as pool:
        watch = Watch(pool)
        assert await pool.call("a__t") == "x"
        assert watch.of("log") == []
        server.table["tools/call"] = said("x", structuredContent={"at": [1, 2, 3]})
        assert await pool.call("a__t") == "x"
        (told,) = watch.of("log")
        assert "does not keep to its output schema" in str(told.text)


IDENTIFIED = {
    "$id": "https://schemas.invalid/result.json",
    "type": "object",
    "oneOf": [{"$ref": "#/$defs/ok"}, {"allOf": [{"$ref": "#/$defs/failed"}]}],
    "if": {"properties": {"didError": {"const": True}}},
    "then": {"required": ["error"]},
    "$defs": {
        "ok": {"properties": {"didError": {"const": False}}, "required": ["didError"]},
        "failed": {"properties": {"didError": {"const": True}}, "required": ["didError"]},
    },
}


@pytest.mark.parametrize(
    "schema",
    [
        IDENTIFIED,
        {"type": "object", "properties": {"didError": {"type": "bool"}}},
        {"type": "object", "$ref": "https://schemas.invalid/other.json"},
        {"type": "object", "$ref": "#/nowhere"},
        {"type": "object", "patternProperties": {"(": {}}},
    ],
    ids=["identified", "no type", "elsewhere", "nowhere", "no pattern"],
)
async def test_a_schema_of_results_is_compiled_without_the_network_or_costs_only_the_judgement(
    schema: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = said("built", structuredContent={"didError": False})
    async with pool_of(wire_server(shaped(schema), tools_call=answer)) as pool:
        asked: list[object] = []
        monkeypatch.setattr(socket, "getaddrinfo", lambda *name, **_: asked.append(name))
        watch = Watch(pool)
        assert await pool.call("a__t") == "built"
        assert await pool.call("a__t") == "built"
        assert len(watch.of("log")) == (schema is not IDENTIFIED)
        assert asked == []


async def test_a_result_that_stands_in_text_and_structure_is_shown_once() -> None:
    schema = RESULT | {"x-fastmcp-wrap-result": True}
    answer = said("42", structuredContent={"result": "42"})
    async with pool_of(wire_server(shaped(schema), tools_call=answer)) as pool:
        assert await pool.call("a__t") == "42"


async def test_a_schema_of_results_inside_itself_is_followed() -> None:
    node = {"type": "object", "properties": {"then": {"$ref": "#/$defs/node"}}}
    schema = {"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}}
    schema["$defs"] = {"node": node}
    good: dict[str, Any] = {"root": {"then": {"then": {}}}}
    server = wire_server(shaped(schema), tools_call=said("proof", structuredContent=good))
    async with pool_of(server) as pool:
        watch = Watch(pool)
        assert await pool.call("a__t") == "proof"
        assert watch.of("log") == []


async def test_a_picture_between_texts_is_a_note_of_its_kind_and_size() -> None:
    picture = base64.b64encode(bytes(5120)).decode()
    blocks = [
        {"type": "text", "text": "before"},
        {"type": "image", "mimeType": "image/png", "data": picture},
        {"type": "text", "text": "after"},
    ]
    async with pool_of(wire_server(tools_call={"content": blocks})) as pool:
        text = await pool.call("a__t")
        assert text == "before\n[image image/png, 5 KB omitted]\nafter"
        assert len((await pool.call_raw("a__t")).content) == 3


async def test_bytes_that_call_themselves_text_are_bytes() -> None:
    resource = {"uri": "demo://1", "mimeType": "text/plain", "blob": "aGVsbG8="}
    answer = {"content": [{"type": "resource", "resource": resource}]}
    async with pool_of(wire_server(tools_call=answer)) as pool:
        assert await pool.call("a__t") == "[resource demo://1 text/plain, 5 bytes omitted]"


async def test_links_are_shown_and_not_followed() -> None:
    links = [{"type": "resource_link", "uri": f"demo://{n}", "name": f"n{n}"} for n in range(2)]
    server = wire_server(tools_call={"content": links})
    async with pool_of(server) as pool:
        assert (
            await pool.call("a__t")
            == "[resource_link demo://0 — n0]\n[resource_link demo://1 — n1]"
        )
        assert server.times("resources/read") == 0


@pytest.mark.parametrize(
    "annotations",
    [
        {"audience": ["user", "assistant"], "priority": 1},
        {"audience": ["nobody"], "priority": 5, "more": {}},
        {},
    ],
)
async def test_hints_for_whom_a_text_is_are_no_fault(annotations: dict[str, Any]) -> None:
    block = {"type": "text", "text": "x", "annotations": annotations}
    async with pool_of(wire_server(tools_call={"content": [block]})) as pool:
        assert await pool.call("a__t") == "x"


@pytest.mark.parametrize("content", [[{"type": "text", "text": ""}], []])
async def test_an_empty_answer_is_told_to_be_empty(content: list[Any]) -> None:
    async with pool_of(wire_server(tools_call={"content": content})) as pool:
        assert await pool.call("a__t") == "(no output)"


async def test_an_error_that_a_server_calls_a_success_is_passed_on_as_it_is() -> None:
    text = "Error: Only SELECT queries are allowed"
    async with pool_of(wire_server(tools_call=said(text, isError=False))) as pool:
        assert await pool.call("a__t") == text


async def test_progress_of_a_short_call_is_an_event_and_no_part_of_its_answer() -> None:
    async with beside_memory(Servers(a=EchoServer())) as pool:
        watch = Watch(pool)
        assert await pool.call("a__echo", {"progress": 3}) == 'echo({"progress":3})'
        reports = watch.of("progress", "a")
        assert reports
        assert {told.tool_name for told in reports} == {"a__echo"}
