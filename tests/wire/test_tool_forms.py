"""Tools in the forms an endpoint takes."""

from __future__ import annotations

import json
from copy import deepcopy
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.records import ToolDefinition
from host.wire.capabilities import ModelCapabilities
from host.wire.culprit_search import Finding, Form
from host.wire.tool_forms import (
    MAX_DESCRIPTION_CHARS,
    MAX_LISTS,
    accepted_tools,
    bare_tool,
    general_choice,
    in_forms,
    probe_body,
    proven_tools,
    remember_finding,
    tool_digest,
    tool_names,
    with_accepted_tools,
)
from tests.wire.schemas import SCHEMAS


def tool(name: str, parameters: Any = None, **more: Any) -> ToolDefinition:
    function = {"name": name, "parameters": parameters or {"type": "object", "properties": {}}}
    return {"type": "function", "function": {**function, **more}}  # type: ignore[typeddict-item]  # any JSON


def schema(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


TOOLS = st.builds(
    tool,
    st.sampled_from(["mail__send", "disk__read", "clock__now"]),
    st.dictionaries(st.sampled_from("abc"), SCHEMAS, max_size=2).map(
        lambda properties: {"type": "object", "properties": properties}
    ),
)


@given(TOOLS)
def test_a_bare_tool_keeps_its_name_and_tells_its_schema_in_words(one: ToolDefinition) -> None:
    before = deepcopy(one)
    bare = bare_tool(one)
    assert one == before
    assert bare_tool(one) is bare
    assert bare["function"]["name"] == one["function"]["name"]
    assert bare["function"]["parameters"] == {"type": "object", "properties": {}}
    words = bare["function"]["description"]
    assert len(words) <= MAX_DESCRIPTION_CHARS
    assert all(name in words for name in one["function"]["parameters"]["properties"])
    assert bare_tool(bare) == bare


def test_a_schema_too_long_to_tell_is_told_by_its_names_or_not_at_all() -> None:
    long = schema("folder", "query")
    long["properties"]["query"]["description"] = "x" * 2000
    assert bare_tool(tool("f", long, description="Finds."))["function"]["description"] == (
        "Finds.\n\nArguments: folder, query"
    )
    many = schema(*(f"property_{i}" for i in range(200)))
    assert bare_tool(tool("f", many, description="Finds."))["function"]["description"] == "Finds."


@pytest.mark.parametrize(("spare_chars", "is_told"), [(0, True), (-1, False)])
def test_a_description_is_filled_to_its_limit_and_no_further(
    spare_chars: int, is_told: bool
) -> None:
    ending = "\n\nArguments: a_folder"
    said = "x" * (MAX_DESCRIPTION_CHARS - len(ending) - spare_chars)
    bare = bare_tool(tool("f", schema("a_folder"), description=said))
    assert bare["function"]["description"] == said + (ending if is_told else "")


def test_a_strict_tool_is_not_strict_any_more_and_null_is_no_description() -> None:
    function = bare_tool(tool("f", strict=True, description=None))["function"]
    assert function == {"name": "f", "description": "", "parameters": schema()}


def test_a_frozen_tool_is_made_bare_as_any_other() -> None:
    f = tool("f", schema("a"))
    frozen: Any = MappingProxyType({**f, "function": MappingProxyType({**f["function"]})})
    assert bare_tool(frozen) == bare_tool(f)


def test_what_is_no_function_stays_as_it_is() -> None:
    custom: Any = {"type": "custom", "custom": {"name": "x"}}
    assert bare_tool(custom) is custom
    assert tool_names([custom, tool("f")]) == ["", "f"]


@given(st.lists(TOOLS, max_size=6), st.data())
def test_each_tool_is_sent_in_the_form_remembered_for_it(
    tools: list[ToolDefinition], data: st.DataObject
) -> None:
    forms = {tool_digest(one): data.draw(st.sampled_from(["bare", "out", None])) for one in tools}
    refused: Any = {digest: form for digest, form in forms.items() if form}
    expected = [
        bare_tool(one) if forms[tool_digest(one)] == "bare" else one
        for one in tools
        if forms[tool_digest(one)] != "out"
    ]
    # A bare form may itself be a definition that is left out.
    expected = [one for one in expected if refused.get(tool_digest(one)) != "out"]
    assert accepted_tools(tools, ModelCapabilities(refused_tools=refused)) == expected


def test_a_bare_form_that_is_refused_too_is_left_out() -> None:
    f = tool("f", schema("a"))
    known = ModelCapabilities(
        refused_tools={tool_digest(f): "bare", tool_digest(bare_tool(f)): "out"}
    )
    assert accepted_tools([f, tool("g")], known) == [tool("g")]


def test_a_tool_that_changed_is_tried_whole_again() -> None:
    old, new = tool("f", schema("a")), tool("f", schema("a", "b"))
    known = ModelCapabilities(refused_tools={tool_digest(old): "out"})
    assert accepted_tools([old, new], known) == [new]


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    one = tool("f", schema("a"))
    turned: Any = json.loads(json.dumps(one, sort_keys=True))
    assert tool_digest(one) == tool_digest(turned)
    assert tool_digest(one) != tool_digest(tool("g", schema("a")))


def test_a_body_with_nothing_refused_is_itself() -> None:
    body = {"tools": [tool("f")], "tool_choice": "auto"}
    assert with_accepted_tools(body, ModelCapabilities()) is body
    others = ModelCapabilities(refused_tools={tool_digest(tool("g")): "out"})
    assert with_accepted_tools(body, others) is body
    assert with_accepted_tools({"messages": []}, ModelCapabilities(tools=False)) == {"messages": []}


@pytest.mark.parametrize("known", [ModelCapabilities(tools=False), None])
def test_the_last_tool_takes_the_fields_of_tools_with_it(known: ModelCapabilities | None) -> None:
    f = tool("f")
    known = known or ModelCapabilities(refused_tools={tool_digest(f): "out"})
    body = {"model": "m", "tools": [f], "tool_choice": "auto", "parallel_tool_calls": True}
    assert with_accepted_tools(body, known) == {"model": "m"}


@pytest.mark.parametrize(("named", "stays"), [("f", False), ("g", True)])
def test_only_a_tool_that_is_there_can_be_chosen(named: str, stays: bool) -> None:
    f, g = tool("f"), tool("g")
    known = ModelCapabilities(refused_tools={tool_digest(f): "out"})
    choice = {"type": "function", "function": {"name": named}}
    sent = with_accepted_tools({"tools": [f, g], "tool_choice": choice}, known)
    assert sent["tools"] == [g]
    assert ("tool_choice" in sent) is stays


@pytest.mark.parametrize(("allowed", "stay"), [("fg", "f"), ("f", "f"), ("g", "")])
def test_a_choice_among_several_keeps_the_tools_that_are_there(allowed: str, stay: str) -> None:
    f, g = tool("f"), tool("g")

    def among(names: str) -> dict[str, Any]:
        listed = [{"type": "function", "function": {"name": name}} for name in names]
        return {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": listed}}

    known = ModelCapabilities(refused_tools={tool_digest(g): "out"})
    body = {"tools": [f, g], "tool_choice": among(allowed), "parallel_tool_calls": False}
    before = deepcopy(body)
    sent = with_accepted_tools(body, known)
    assert sent.get("tool_choice") == (among(stay) if stay else None)
    assert sent["parallel_tool_calls"] is False
    assert body == before


@given(st.lists(TOOLS, min_size=1, max_size=6), st.integers(1, 6))
def test_of_more_tools_than_are_taken_the_first_are_sent(
    offered: list[ToolDefinition], most: int
) -> None:
    known = ModelCapabilities(max_tools=most)
    assert with_accepted_tools({"tools": offered}, known)["tools"] == offered[:most]


def test_a_probe_holds_nothing_of_the_conversation_and_asks_for_one_token() -> None:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "secret"}],
        "tools": [tool("f"), tool("g")],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "response_format": {"type": "json_object"},
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 900,
        "provider": {"order": ["a"]},
    }
    known = ModelCapabilities(legacy_token_limit=False)
    base = {
        "model": "m",
        "provider": {"order": ["a"]},
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "max_completion_tokens": 1,
    }
    assert probe_body(body, [tool("g")], known) == {**base, "tools": [tool("g")]}
    assert probe_body(body, [], known) == base
    required = {**base, "tools": [tool("g")], "tool_choice": "required"}
    assert probe_body(body, [tool("g")], known, choice="required") == required
    assert probe_body(body, [], known, choice="required") == base
    own = {**base, "max_completion_tokens": 900}
    assert probe_body(body, [], known, own_ceiling=True) == own
    without = {name: value for name, value in body.items() if name != "max_completion_tokens"}
    assert "max_completion_tokens" not in probe_body(without, [], known, own_ceiling=True)


@pytest.mark.parametrize(
    ("choice", "is_general"),
    [
        ("required", True),
        ("auto", True),
        ({"type": "any"}, True),
        ({"type": "function", "function": {"name": "f"}}, False),
        ({"type": "function", "name": "f"}, False),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}, False),
        (None, False),
    ],
)
def test_a_choice_that_names_no_tool_goes_with_any(choice: Any, is_general: bool) -> None:
    assert general_choice({"tool_choice": choice}) == (choice if is_general else None)
    assert general_choice({}) is None


def test_tools_are_picked_by_index_and_form() -> None:
    tools = [tool("f", schema("a")), tool("g"), tool("h")]
    assert in_forms(tools, {0: "bare", 2: "whole"}) == [bare_tool(tools[0]), tools[2]]


def test_below_the_list_are_plain_tools_of_different_names() -> None:
    forms: dict[int, Form] = dict.fromkeys(range(-200, 0), "bare")
    strangers = in_forms([], forms)
    assert len(set(tool_names(strangers))) == 200
    assert all(one["function"]["parameters"] == schema() for one in strangers)


def found(known: ModelCapabilities, tools: list[ToolDefinition], **what: Any) -> None:
    remember_finding(Finding(**{"fault": "tools", **what}), tools, known)


def test_what_was_proven_of_a_tool_holds_in_any_list_and_a_guess_in_its_own() -> None:
    tools = [tool(name, schema("a")) for name in "fghij"]
    known = ModelCapabilities()
    found(known, tools, bare=(0, 1), out=(2, 3), unproven=(1, 3))
    f, g, _, i, j = tools
    assert accepted_tools(tools, known) == [bare_tool(f), bare_tool(g), j]
    assert accepted_tools([*tools, tool("k")], known) == [bare_tool(f), g, i, j, tool("k")]
    assert accepted_tools(tools[::-1], known) == [j, i, g, bare_tool(f)]
    proven = {tool_digest(f): "bare", tool_digest(tools[2]): "out"}
    assert proven_tools(known.refused_tools) == proven


def test_of_two_equal_tools_only_the_one_that_was_left_out_is() -> None:
    tools = [tool("f"), tool("g"), tool("f")]
    known = ModelCapabilities()
    found(known, tools, out=(2,), unproven=(2,))
    assert accepted_tools(tools, known) == [tool("f"), tool("g")]


def test_a_number_found_with_a_guess_cuts_before_the_guess_is_applied() -> None:
    tools = [tool(name, schema("a")) for name in "fghij"]
    known = ModelCapabilities(max_tools=9)
    found(known, tools, fault="too many", most=3, bare=(1,), out=(0, 4), unproven=(1, 4))
    assert known.max_tools == 3
    assert accepted_tools(tools, known) == [bare_tool(tools[1]), *tools[2:4]]
    assert accepted_tools(tools[1:], known) == [bare_tool(tools[1]), *tools[2:4]]
    assert accepted_tools(tools[1:3], known) == tools[1:3]


def test_an_endpoint_without_tools_is_remembered_as_one() -> None:
    known = ModelCapabilities()
    found(known, [tool("f")], fault="all tools")
    assert (known.tools, known.refused_tools) == (False, {})


def test_only_so_many_guesses_are_kept_and_the_oldest_leaves_first() -> None:
    known = ModelCapabilities()
    lists = [[tool(f"f{number}"), tool("g")] for number in range(MAX_LISTS + 2)]
    for one in lists:
        found(known, one, out=(1,), unproven=(1,))
        found(known, one, out=(1,), unproven=(1,))
    sizes = [len(accepted_tools(one, known)) for one in lists]
    assert sizes == [2, 2] + [1] * MAX_LISTS
    assert len(known.refused_tools) == MAX_LISTS


@given(st.lists(TOOLS, min_size=1, max_size=6, unique_by=tool_digest), st.data())
def test_a_list_is_sent_as_the_search_saw_it_accepted(
    tools: list[ToolDefinition], data: st.DataObject
) -> None:
    form = st.sampled_from(["whole", "bare", "out"])
    forms = [data.draw(form) for _ in tools]
    kept = [at for at, one in enumerate(forms) if one != "out"]
    degraded = [at for at, one in enumerate(forms) if one != "whole"]
    unproven = tuple(at for at in degraded if data.draw(st.booleans()))
    finding = Finding(
        fault="tools",
        bare=tuple(at for at, one in enumerate(forms) if one == "bare"),
        out=tuple(at for at, one in enumerate(forms) if one == "out"),
        unproven=unproven,
    )
    known = ModelCapabilities()
    remember_finding(finding, tools, known)
    expected = [bare_tool(tools[at]) if forms[at] == "bare" else tools[at] for at in kept]
    assert accepted_tools(tools, known) == expected
    assert accepted_tools(expected, known) == expected
