"""Two tools that never change, and the calls inside them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.catalogue.catalogue_text import catalogue_list
from host.catalogue.name_resolution import expand_names
from host.catalogue.proxied import (
    CALL_TOOL,
    PROXY_TOOLS,
    ProxiedCall,
    holds_definitions,
    proxied_call,
    proxy_catalogue_prompt,
    proxy_load_result,
    shown_call,
)
from host.records import CatalogueServer, ToolDefinition, ToolFailure
from tests.catalogue.catalogues import ASKED, CATALOGUES, DISK, EMPTY, MAIL

BOTH = [MAIL, DISK]


def definition(name: str) -> ToolDefinition:
    return {
        "type": "function",
        "function": {"name": name, "description": "Does\nit.", "parameters": {"type": "object"}},
    }


def test_the_two_tools_are_fixed() -> None:
    load, call = json.loads(json.dumps(PROXY_TOOLS))
    assert load["function"]["name"] == "load_tools"
    assert call["function"]["name"] == CALL_TOOL == "call_tool"
    properties = call["function"]["parameters"]["properties"]
    assert properties["name"]["type"] == "string"
    assert properties["arguments"]["type"] == "object"
    assert properties["arguments"]["additionalProperties"] is True
    with pytest.raises(TypeError):
        PROXY_TOOLS[1]["function"]["parameters"]["properties"]["arguments"] = {}


def test_the_prompt_lists_every_name_and_both_tools() -> None:
    prompt = proxy_catalogue_prompt(BOTH)
    assert prompt.endswith("\n\n" + catalogue_list(BOTH))
    assert "load_tools" in prompt
    assert CALL_TOOL in prompt
    assert proxy_catalogue_prompt([EMPTY]) == ""


ARGS = st.dictionaries(st.sampled_from(["a", "name", "arguments"]), st.integers(), max_size=3)


@given(ARGS, st.sampled_from([dict, json.dumps]), st.sampled_from(["mail__send", " disk__read\n"]))
def test_the_inner_call_comes_out_as_it_was_put_in(args: Any, wrap: Any, name: str) -> None:
    outer = {"name": name, "arguments": wrap(args)}
    assert proxied_call(outer, BOTH) == ProxiedCall(name=name.strip(), args=args)
    assert shown_call(CALL_TOOL, outer) == (name.strip(), args)


@pytest.mark.parametrize("absent", [{}, {"arguments": None}, {"arguments": " "}])
def test_absent_arguments_are_none(absent: dict[str, object]) -> None:
    assert proxied_call({"name": "mail__send", **absent}, BOTH) == ProxiedCall(
        name="mail__send", args={}
    )
    assert shown_call(CALL_TOOL, {"name": "mail__send", **absent}) == ("mail__send", {})


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ({}, "invalid-arguments", "name of a tool"),
        ({"name": " "}, "invalid-arguments", "name of a tool"),
        ({"name": 3}, "invalid-arguments", "name of a tool"),
        ({"name": "send"}, "unknown-tool", "mail__send"),
        ({"name": "zebra"}, "unknown-tool", "zebra"),
        ({"name": "mail__send", "arguments": "no json"}, "invalid-arguments", "JSON"),
        ({"name": "mail__send", "arguments": "[1]"}, "invalid-arguments", "object"),
        ({"name": "mail__send", "arguments": [1]}, "invalid-arguments", "object"),
        ({"name": "mail__send", "arguments": 3}, "invalid-arguments", "object"),
    ],
)
def test_what_cannot_be_called_is_refused_in_words(
    args: dict[str, object], code: str, said: str
) -> None:
    refusal = proxied_call(args, BOTH)
    assert isinstance(refusal, ToolFailure)
    assert refusal.code == code
    assert said in refusal.message


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("mail__send", {"name": "x", "arguments": {}}),
        (CALL_TOOL, {}),
        (CALL_TOOL, {"name": " "}),
        (CALL_TOOL, {"name": "mail__send", "arguments": "no json"}),
        (CALL_TOOL, {"name": "mail__send", "arguments": [1]}),
    ],
)
def test_a_call_that_holds_none_is_shown_as_it_is(name: str, args: dict[str, object]) -> None:
    assert shown_call(name, args) == (name, args)


@given(ASKED, CATALOGUES, st.lists(st.sampled_from(["a__read", "mail__x", "m__re"])))
def test_a_load_answers_with_one_line_of_json_per_new_definition(
    asked: list[str], catalogue: list[CatalogueServer], loaded: list[str]
) -> None:
    resolved = expand_names(asked, catalogue)
    definitions = [definition(name) for name in resolved.matched if not name.endswith("_x")]
    report = proxy_load_result(resolved, catalogue, definitions, loaded=loaded)
    lines = [json.loads(line) for line in report.splitlines() if line.startswith("{")]
    fresh = [name for name in resolved.matched if name not in loaded]
    assert [line["name"] for line in lines] == [n for n in fresh if not n.endswith("_x")]
    assert holds_definitions(report) == bool(lines)
    for name in (*resolved.matched, *resolved.unknown, *resolved.deferred):
        assert name in report


def test_definitions_are_compact_and_the_first_of_two_counts() -> None:
    bare: ToolDefinition = {"type": "function", "function": {"name": "disk__read"}}
    resolved = expand_names(["mail__send", "disk__read"], BOTH)
    report = proxy_load_result(
        resolved, BOTH, [definition("mail__send"), bare, definition("disk__read")]
    )
    assert report.splitlines()[1:] == [
        '{"name":"mail__send","description":"Does\\nit.","parameters":{"type":"object"}}',
        '{"name":"disk__read","description":"","parameters":{"type":"object"}}',
    ]


def test_an_earlier_definition_is_pointed_to_and_a_missing_one_told() -> None:
    resolved = expand_names(["mail__send", "disk__read", "no"], BOTH)
    report = proxy_load_result(resolved, BOTH, [], loaded=["mail__send"])
    earlier, missing, unknown = report.split("\n\n")
    assert "mail__send" in earlier
    assert "earlier answer" in earlier
    assert "disk__read" in missing
    assert "No definition" in missing
    assert "No tool has this name: no" in unknown
    assert not holds_definitions(report)


def test_nothing_asked_is_answered_with_how_to_ask() -> None:
    assert "No names were given" in proxy_load_result(expand_names([], BOTH), BOTH, [])
