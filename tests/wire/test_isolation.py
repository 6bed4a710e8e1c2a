"""Turns over endpoints that refuse some of their tools, through the real openai client."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio
import httpx2
import pytest

from host.errors import EndpointRefused, EndpointUnavailable
from host.records import ToolDefinition, Turn
from host.wire.capabilities import Capabilities, ModelCapabilities
from host.wire.culprit_search import MAX_PROBES
from host.wire.endpoint import run_turn
from host.wire.isolation import MAX_REPEATED
from host.wire.request_body import build_body
from host.wire.settings import ModelParams
from host.wire.snapshot import capabilities_json, merge_capabilities, read_capabilities
from tests.fakes.endpoint import (
    FakeEndpoint,
    Mute,
    Reply,
    answer,
    error_event,
    lost,
    refused,
    role,
    streamed,
)
from tests.wire.test_snapshot import NOW

GRAMMAR = "Failed to initialize samplers: failed to parse grammar"
QUESTION = "What is the time in Oslo? " * 20

Body = Mapping[str, Any]
Verdict = Reply | None
"""How a request is answered; None for with an answer."""


def tool(name: str, keyword: str = "description", value: Any = "fine") -> ToolDefinition:
    properties = {"a": {"type": "string", keyword: value}}
    function = {"name": name, "parameters": {"type": "object", "properties": properties}}
    return {"type": "function", "function": function}  # type: ignore[typeddict-item]  # any JSON


def tools(count: int, *culprits: int, keyword: str = "x-bad") -> list[ToolDefinition]:
    return [
        tool(f"srv__tool_{i}", *((keyword, "no") if i in culprits else ())) for i in range(count)
    ]


def names(body: Body) -> list[str]:
    return [one["function"]["name"] for one in body.get("tools", [])]


def is_probe(body: Body) -> bool:
    return bool(body["messages"] == [{"role": "user", "content": "hi"}])


def bad_schema(body: Body) -> Verdict:
    """A grammar builder that stumbles over ``x-bad``, and does not say where."""
    is_bad = any("x-bad" in str(one["function"]["parameters"]) for one in body.get("tools", []))
    return refused(400, GRAMMAR) if is_bad else None


def bad_name(body: Body) -> Verdict:
    """An endpoint that takes no tool of some names, whatever its schema."""
    is_bad = any(name.endswith(("_3", "_5")) for name in names(body))
    return refused(400, "Bad Request") if is_bad else None


class RuledEndpoint(FakeEndpoint):
    """Answers by a rule instead of a script."""

    def __init__(self, rule: Callable[[Body], Verdict]) -> None:
        super().__init__()
        self.rule = rule

    def _reply_to(self, request: httpx2.Request) -> Reply:
        self._script = [answer("placeholder")]
        super()._reply_to(request)
        return self.rule(self.bodies[-1]) or answer("Hello")

    @property
    def probes(self) -> list[dict[str, Any]]:
        return [body for body in self.bodies if is_probe(body)]

    @property
    def asked_in_full(self) -> list[dict[str, Any]]:
        return [body for body in self.bodies if not is_probe(body)]


class Run:
    """An endpoint with a rule, and everything the turns over it left behind."""

    def __init__(self, rule: Callable[[Body], Verdict]) -> None:
        self.endpoint = RuledEndpoint(rule)
        self.capabilities = Capabilities()
        self.notices: list[str] = []

    @property
    def known(self) -> ModelCapabilities:
        return self.capabilities.for_model("m")

    async def turn(self, offered: list[ToolDefinition], **options: Any) -> Turn:
        asked = ModelParams(model="m", max_tokens=500, extra_body=options.pop("extra_body", {}))
        more = options.pop("more", {})

        def build(known: Capabilities, model: ModelCapabilities | None) -> Body:
            body = build_body(asked, known, model, [{"role": "user", "content": QUESTION}], offered)
            return {**body, **more}

        async with self.endpoint.client() as client:
            return await run_turn(
                client,
                self.capabilities,
                build,
                on_notice=self.notices.append,
                jitter=lambda: 1.0,
                **{"model": "m", **options},
            )


async def test_one_bad_schema_of_many_is_found_and_told_in_words_with_one_notice() -> None:
    run = Run(bad_schema)
    assert (await run.turn(tools(25, 17))).content == "Hello"
    relaxed, isolated = run.notices
    assert "pattern" in relaxed
    assert isolated == (
        f"m does not take the schema of srv__tool_17 ({GRAMMAR}): its parameters are told in words"
    )
    last = run.endpoint.asked_in_full[-1]
    assert names(last) == [f"srv__tool_{i}" for i in range(25)]
    bare = last["tools"][17]["function"]
    assert bare["parameters"] == {"type": "object", "properties": {}}
    assert "x-bad" in bare["description"]
    assert len(run.endpoint.asked_in_full) == 3  # as it is, relaxed, isolated
    assert len(run.endpoint.probes) <= 9


async def test_probes_hold_no_conversation_and_ask_for_one_token() -> None:
    run = Run(bad_schema)
    await run.turn(tools(9, 2), more={"tool_choice": "required"}, extra_body={"provider": "a"})
    assert run.endpoint.asked_in_full[-1]["tool_choice"] == "required"
    for probe in run.endpoint.probes:
        assert QUESTION not in str(probe)
        assert (probe["max_tokens"], probe["provider"], probe["stream"]) == (1, "a", True)
        assert "tool_choice" not in probe


async def test_what_was_found_is_remembered_and_a_changed_schema_is_tried_again() -> None:
    run = Run(bad_schema)
    await run.turn(tools(6, 1))
    sent, told = run.endpoint.sends, len(run.notices)
    await run.turn(tools(6, 1))
    assert (run.endpoint.sends, len(run.notices)) == (sent + 1, told)
    mended = tools(6)
    await run.turn(mended)
    assert run.endpoint.sends == sent + 2
    assert run.endpoint.bodies[-1]["tools"][1]["function"]["parameters"]["properties"]


async def test_what_was_found_survives_a_restart() -> None:
    run, later = Run(bad_schema), Run(bad_schema)
    await run.turn(tools(6, 1))
    read = read_capabilities(capabilities_json({"e": run.capabilities}, saved_at=NOW))
    assert read is not None
    merge_capabilities(later.capabilities, read["e"])
    await later.turn(tools(6, 1))
    assert (later.endpoint.sends, later.notices) == (1, [])


async def test_tools_that_no_schema_helps_are_left_out_and_the_others_stay() -> None:
    run = Run(bad_name)
    await run.turn(tools(8))
    assert names(run.endpoint.bodies[-1]) == [f"srv__tool_{i}" for i in (0, 1, 2, 4, 6, 7)]
    (notice,) = run.notices
    assert notice == "m does not take srv__tool_3 (Bad Request), srv__tool_5 in any form: left out"
    assert run.capabilities.strict_schemas


async def test_too_many_tools_are_cut_to_what_is_taken_and_shorter_lists_stay_whole() -> None:
    def rule(body: Body) -> Verdict:
        is_long = len(names(body)) > 128
        return refused(400, "Invalid 'tools': array too long.") if is_long else None

    run = Run(rule)
    offered = tools(150)
    await run.turn(offered)
    assert names(run.endpoint.bodies[-1]) == names({"tools": offered[:128]})
    [notice] = run.notices
    assert "takes 128 tools in one request and no more: left out srv__tool_128" in notice
    assert run.known.refused_tools == {}
    blob = json.loads(json.dumps(capabilities_json({"e": run.capabilities}, saved_at=NOW)))
    read = read_capabilities(blob)
    assert read is not None
    run.capabilities = Capabilities()
    merge_capabilities(run.capabilities, read["e"])
    sends = run.endpoint.sends
    for some in (offered, offered[-20:]):
        await run.turn(some)
        assert names(run.endpoint.bodies[-1]) == names({"tools": some[:128]})
    assert run.endpoint.sends == sends + 2


async def test_a_bad_schema_among_too_many_tools_costs_the_others_nothing() -> None:
    def rule(body: Body) -> Verdict:
        is_long = len(names(body)) > 128
        return refused(400, "Invalid 'tools': array too long.") if is_long else bad_schema(body)

    run = Run(rule)
    run.capabilities.strict_schemas = False
    offered = tools(200, 5)
    assert (await run.turn(offered)).content == "Hello"
    last = run.endpoint.bodies[-1]["tools"]
    assert names({"tools": last}) == names({"tools": offered[:128]})
    assert [at for at, one in enumerate(last) if one != offered[at]] == [5]
    assert (run.known.max_tools, list(run.known.refused_tools.values())) == (128, ["bare"])
    assert len(run.endpoint.probes) <= MAX_PROBES + 2
    await run.turn(offered[130:133])
    assert run.endpoint.bodies[-1]["tools"] == offered[130:133]


async def test_tools_that_are_too_much_together_are_cut_in_this_list_alone() -> None:
    def rule(body: Body) -> Verdict:
        said = str([one["function"]["parameters"] for one in body.get("tools", [])])
        return refused(400, "Bad Request") if len(said) > 1800 else None

    run = Run(rule)
    offered = tools(30)
    await run.turn(offered)
    sent = run.endpoint.bodies[-1]["tools"]
    assert names({"tools": sent}) == names({"tools": offered})
    assert 0 < sum(one != whole for one, whole in zip(sent, offered, strict=True)) < 30
    sends = run.endpoint.sends
    await run.turn(offered)
    assert (run.endpoint.sends, run.endpoint.bodies[-1]["tools"]) == (sends + 1, sent)
    await run.turn(offered[-5:])
    assert run.endpoint.bodies[-1]["tools"] == offered[-5:]
    assert capabilities_json({"e": run.capabilities}, saved_at=NOW)["endpoints"] == {}


async def test_a_schema_that_is_refused_only_where_a_call_is_required_is_found() -> None:
    def rule(body: Body) -> Verdict:
        return bad_schema(body) if body.get("tool_choice") == "required" else None

    run = Run(rule)
    run.capabilities.strict_schemas = False
    turn = await run.turn(tools(9, 4), more={"tool_choice": "required"})
    assert turn.content == "Hello"
    assert "srv__tool_4" in run.notices[-1]
    assert list(run.known.refused_tools.values()) == ["bare"]
    assert all("tool_choice" not in one for one in run.endpoint.probes if "tools" not in one)


@pytest.mark.parametrize(
    ("words", "probes"),
    [("Bad Request", 6), ("Thinking mode does not support this tool_choice", 1)],
)
async def test_a_choice_that_is_refused_with_any_tool_is_no_fault_of_the_tools(
    words: str, probes: int
) -> None:
    run = Run(lambda body: refused(400, words) if "tool_choice" in body else None)
    run.capabilities.strict_schemas = False
    with pytest.raises(EndpointRefused, match=words):
        await run.turn(tools(9), more={"tool_choice": "required"})
    assert len(run.endpoint.probes) == probes
    assert (run.notices, run.known) == ([], ModelCapabilities())


async def test_a_property_with_the_name_of_a_ceiling_does_not_mislead() -> None:
    words = "Invalid schema for function: In context=('properties', 'max_tokens'), no 'type'"
    run = Run(lambda body: refused(400, words) if bad_schema(body) else None)
    run.capabilities.strict_schemas = False
    assert (await run.turn(tools(9, 4))).content == "Hello"
    assert "srv__tool_4" in run.notices[-1]


async def test_a_probe_that_one_token_is_too_few_for_asks_for_as_many_as_the_request() -> None:
    def rule(body: Body) -> Verdict:
        is_short = body["max_tokens"] <= body["thinking"]["budget_tokens"]
        words = "`max_tokens` must be greater than `thinking.budget_tokens`."
        return refused(400, words) if is_short else bad_schema(body)

    run = Run(rule)
    run.capabilities.strict_schemas = False
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 400}}
    assert (await run.turn(tools(9, 4), extra_body=thinking)).content == "Hello"
    assert [probe["max_tokens"] for probe in run.endpoint.probes[:3]] == [1, 500, 500]
    assert "srv__tool_4" in run.notices[-1]


async def test_a_refusal_that_says_nothing_at_all_is_looked_into() -> None:
    run = Run(lambda body: refused(400, "", code=None) if "_3" in str(names(body)) else None)
    turn = await run.turn(tools(5))
    assert turn.content == "Hello"
    assert "left out" in run.notices[0]


async def test_a_refusal_that_relaxing_cures_leaves_every_tool_its_schema() -> None:
    def rule(body: Body) -> Verdict:
        is_bad = any("format" in str(one) for one in body.get("tools", []))
        return refused(400, "tools: only 'enum' is allowed for strings") if is_bad else None

    run = Run(rule)
    await run.turn(tools(4, 1, 2, keyword="format"))
    assert not run.capabilities.strict_schemas
    assert (len(run.endpoint.probes), run.known.refused_tools) == (2, {})
    assert len(run.notices) == 1


async def test_what_relaxing_cures_only_in_part_is_relaxed_and_the_rest_isolated() -> None:
    def rule(body: Body) -> Verdict:
        said = str([one["function"]["parameters"] for one in body.get("tools", [])])
        return refused(400, "Bad Request") if "format" in said or "x-bad" in said else None

    run = Run(rule)
    mixed = [*tools(3, 1, keyword="format"), *tools(6, 4)[3:]]
    assert (await run.turn(mixed)).content == "Hello"
    assert not run.capabilities.strict_schemas
    sent = run.endpoint.sends
    await run.turn(mixed)
    assert run.endpoint.sends == sent + 1
    assert len(run.notices) == 1


@pytest.mark.parametrize("model", ["m", None])
async def test_a_run_refused_after_another_has_found_out_asks_nothing(model: str | None) -> None:
    run = Run(bad_schema)
    run.capabilities.strict_schemas = False
    late = refused(400, GRAMMAR)
    late.before_seconds = 500
    replies = [late]
    run.endpoint.rule = lambda body: replies.pop() if replies else bad_schema(body)
    async with anyio.create_task_group() as group:
        group.start_soon(partial(run.turn, tools(16, 5), model=model))
        await anyio.sleep(1)
        await run.turn(tools(16, 5), model=model)
        probes = len(run.endpoint.probes)
    assert len(run.endpoint.probes) == probes > 0
    assert len(run.notices) == 1


async def test_an_endpoint_that_contradicts_its_probes_is_given_up() -> None:
    run = Run(bad_schema)

    def rule(body: Body) -> Verdict:
        refuses = not is_probe(body) or names(body) == names(run.endpoint.asked_in_full[-1])
        return refused(400, "Bad Request") if refuses else None

    run.endpoint.rule = rule
    with pytest.raises(EndpointRefused):
        await run.turn(tools(32))
    assert len(run.endpoint.asked_in_full) == 4
    assert len(run.endpoint.probes) <= 3 * (MAX_PROBES + 2)


async def test_the_tool_that_a_refusal_names_is_tried_first() -> None:
    def rule(body: Body) -> Verdict:
        bad = [one["function"] for one in body.get("tools", []) if "x-bad" in str(one)]
        bad = [one for one in bad if one["parameters"]["properties"]]
        said = f"Invalid schema for function '{bad[0]['name']}'" if bad else ""
        return refused(400, said) if bad else None

    run = Run(rule)
    await run.turn(tools(128, 77))
    assert len(run.endpoint.probes) == 4
    assert "Invalid schema for function 'srv__tool_77'" in run.notices[0]


async def test_a_model_that_takes_no_tools_is_asked_without_them_from_then_on() -> None:
    def rule(body: Body) -> Verdict:
        return refused(400, "gemma does not support tools") if body.get("tools") else None

    run = Run(rule)
    await run.turn(tools(5), more={"tool_choice": "auto"})
    assert run.notices == ["m takes no tools (gemma does not support tools); going on without any"]
    assert not {"tools", "tool_choice"} & run.endpoint.bodies[-1].keys()
    await run.turn([tool("other__one")])
    assert len(run.endpoint.asked_in_full) == 3
    assert run.capabilities.for_model("n").tools


async def test_too_many_culprits_stay_within_the_bound_and_the_turn_goes_on() -> None:
    run = Run(bad_schema)
    assert (await run.turn(tools(64, *range(20, 60)))).content == "Hello"
    assert len(run.endpoint.probes) <= MAX_PROBES + 2
    assert "takes not every schema of" in run.notices[-1]
    assert len(names(run.endpoint.bodies[-1])) == 64


@pytest.mark.parametrize(
    ("rule", "probes"),
    [
        # The conversation is at fault: the tools alone are taken.
        (lambda body: None if is_probe(body) else refused(400, "Bad Request"), 1),
        # Everything is refused, with tools or without.
        (lambda body: refused(400, "Bad Request"), 4),
    ],
)
async def test_a_refusal_about_something_else_is_raised_as_it_was(
    rule: Callable[[Body], Verdict], probes: int
) -> None:
    run = Run(rule)
    with pytest.raises(EndpointRefused, match="Bad Request"):
        await run.turn(tools(5, 1, keyword="format"), max_retries=2)
    assert len(run.endpoint.probes) == probes
    assert len(run.endpoint.asked_in_full) == 1
    assert (run.notices, run.known) == ([], ModelCapabilities())
    assert run.capabilities.strict_schemas


@pytest.mark.parametrize(
    ("failure", "probes"),
    [
        (lost(), 2),
        (refused(429, "slow down"), 2),
        (refused(401, "Invalid API Key"), 1),
        (refused(503, "down"), 2),
    ],
)
async def test_a_probe_that_fails_otherwise_ends_the_search_with_the_first_refusal(
    failure: Reply, probes: int
) -> None:
    run = Run(lambda body: failure if is_probe(body) else refused(400, GRAMMAR))
    run.capabilities.strict_schemas = False
    with pytest.raises(EndpointRefused, match="failed to parse grammar"):
        await run.turn(tools(5), max_retries=2)
    assert len(run.endpoint.probes) == probes
    assert run.known.isolating is None


@pytest.mark.parametrize("failing", [{1}, {4}, {2, 5, 7}])
async def test_a_probe_that_fails_for_the_moment_is_sent_once_more(failing: set[int]) -> None:
    run = Run(bad_schema)

    def rule(body: Body) -> Verdict:
        is_down = is_probe(body) and len(run.endpoint.probes) in failing
        return refused(503, "overloaded") if is_down else bad_schema(body)

    run.endpoint.rule = rule
    run.capabilities.strict_schemas = False
    assert (await run.turn(tools(9, 4))).content == "Hello"
    assert "srv__tool_4" in run.notices[-1]


async def test_probes_are_not_sent_again_for_ever() -> None:
    run = Run(bad_schema)

    def rule(body: Body) -> Verdict:
        is_down = is_probe(body) and len(run.endpoint.probes) % 2 == 1
        return refused(503, "overloaded") if is_down else bad_schema(body)

    run.endpoint.rule = rule
    run.capabilities.strict_schemas = False
    with pytest.raises(EndpointRefused):
        await run.turn(tools(9, 4))
    assert len(run.endpoint.probes) == 2 * MAX_REPEATED + 1


async def test_a_probe_waits_as_long_as_it_is_asked_to() -> None:
    run = Run(bad_schema)

    def rule(body: Body) -> Verdict:
        is_down = is_probe(body) and len(run.endpoint.probes) == 2
        busy = refused(429, "slow down", headers={"retry-after": "20"})
        return busy if is_down else bad_schema(body)

    run.endpoint.rule = rule
    run.capabilities.strict_schemas = False
    before = anyio.current_time()
    assert (await run.turn(tools(9, 4))).content == "Hello"
    assert anyio.current_time() - before >= 20


async def test_a_probe_that_gets_no_answer_ends_the_search_too() -> None:
    def rule(body: Body) -> Verdict:
        slow = answer("x")
        slow.before_seconds = 1000
        return slow if is_probe(body) else refused(400, GRAMMAR)

    run = Run(rule)
    run.capabilities.strict_schemas = False
    with pytest.raises(EndpointRefused), anyio.fail_after(40):
        await run.turn(tools(5), idle_seconds=30)
    assert len(run.endpoint.probes) == 1


async def test_a_probe_is_closed_at_its_headers() -> None:
    def rule(body: Body) -> Verdict:
        return bad_schema(body) or (streamed(role(), Mute()) if is_probe(body) else None)

    run = Run(rule)
    with anyio.fail_after(60):
        assert (await run.turn(tools(6, 4))).content == "Hello"
    assert run.known.refused_tools


async def test_a_refusal_inside_the_answer_is_looked_for_inside_the_probes() -> None:
    def rule(body: Body) -> Verdict:
        return streamed(role(), error_event(GRAMMAR, code=400)) if bad_schema(body) else None

    run = Run(rule)
    assert (await run.turn(tools(6, 4))).content == "Hello"
    assert list(run.known.refused_tools.values()) == ["bare"]
    assert "srv__tool_4" in run.notices[-1]


async def test_a_turn_without_tools_or_with_an_answer_begun_asks_nothing() -> None:
    run = Run(lambda body: refused(400, "Bad Request"))
    with pytest.raises(EndpointRefused):
        await run.turn([])
    assert run.endpoint.sends == 1


async def test_two_runs_refused_at_once_search_once_and_both_succeed() -> None:
    run, results = Run(bad_schema), list[str]()

    async def turn() -> None:
        results.append((await run.turn(tools(16, 5))).content)

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(turn)
    assert results == ["Hello"] * 3
    assert sum("srv__tool_5" in notice for notice in run.notices) == 1
    assert len(run.endpoint.probes) <= 8


async def test_a_search_that_is_stopped_is_taken_over_by_the_run_that_waits() -> None:
    run, results = Run(bad_schema), list[str]()
    run.capabilities.strict_schemas = False
    scope = anyio.CancelScope()

    def stopping(body: Body) -> Verdict:
        if len(run.endpoint.probes) == 3:
            scope.cancel()
        return bad_schema(body)

    run.endpoint.rule = stopping

    async def stopped() -> None:
        with scope:
            await run.turn(tools(16, 5))

    async def waiting() -> None:
        results.append((await run.turn(tools(16, 5))).content)

    async with anyio.create_task_group() as group:
        group.start_soon(stopped)
        await anyio.sleep(0.01)
        group.start_soon(waiting)
    assert scope.cancelled_caught
    assert results == ["Hello"]
    assert run.known.isolating is None
    assert len(run.notices) == 1


async def test_a_stop_that_lands_on_a_failing_probe_is_a_stop() -> None:
    scope = anyio.CancelScope()

    def stopping(body: Body) -> Verdict:
        if not is_probe(body):
            return refused(400, GRAMMAR)
        scope.cancel()
        return lost()

    run = Run(stopping)
    run.capabilities.strict_schemas = False
    with scope:
        await run.turn(tools(5))
    assert scope.cancelled_caught
    assert run.notices == []


async def test_a_server_error_that_blames_the_tools_is_searched_and_not_retried() -> None:
    def rule(body: Body) -> Verdict:
        custom = [one for one in body.get("tools", []) if one["function"]["name"].endswith("_2")]
        said = "Failed to parse tools: [json.exception.type_error.302] type must be string"
        return refused(500, said) if custom else None

    run = Run(rule)
    await run.turn(tools(4), max_retries=2)
    assert names(run.endpoint.bodies[-1]) == ["srv__tool_0", "srv__tool_1", "srv__tool_3"]
    with pytest.raises(EndpointUnavailable):
        await Run(lambda _: refused(500, "Failed to parse tools: x")).turn(tools(4), max_retries=2)
