"""The agent object: good values are kept, each bad one is named in our own words."""

from __future__ import annotations

import math
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from host.config.agent_reading import FIELDS, read_agent
from host.config.agent_settings import AgentSettings, PriceSettings

GOOD: dict[str, Any] = {
    "baseUrl": "http://h/v1",
    "apiKey": "k",
    "model": "m",
    "gguf": "m.gguf",
    "maxTokens": 5,
    "temperature": 0.5,
    "reasoningEffort": "low",
    "extraBody": {"top_k": 4},
    "requestTimeoutSeconds": 30,
    "firstTokenSeconds": 100.0,
    "maxRetries": 1,
    "loadingTimeoutSeconds": 3,
    "contextLength": 4096,
    "systemPrompt": "Be kind.",
    "discovery": "eager",
    "preselectRouting": "append",
    "maxCost": 0.5,
    "prices": {"prompt": 2, "completion": 8, "cached": 0.5},
    "stuckAfter": 4,
    "stuckPairsAfter": 0,
    "stuckEmptyAfter": 2,
    "finish": "summarise",
    "maxContinuations": 2,
    "compact": True,
    "approve": {"deny": ["memo__delete_*"], "readOnly": "ask"},
    "captureContent": True,
    "serverInstructions": False,
    "resources": True,
    "parallel": False,
    "maxToolIterations": 3,
    "deadlineSeconds": 60,
    "maxResultChars": 1000,
}
BAD: dict[str, Any] = {
    "baseUrl": "localhost:8080",
    "apiKey": 3,
    "model": "",
    "gguf": "",
    "maxTokens": True,
    "temperature": "hot",
    "reasoningEffort": 1,
    "extraBody": [],
    "requestTimeoutSeconds": -1,
    "firstTokenSeconds": "x",
    "maxRetries": 1.5,
    "loadingTimeoutSeconds": -3,
    "contextLength": -1,
    "systemPrompt": 5,
    "discovery": "all",
    "preselectRouting": "both",
    "maxCost": -1,
    "prices": "cheap",
    "stuckAfter": 1,
    "stuckPairsAfter": -2,
    "stuckEmptyAfter": 1.5,
    "finish": "resume",
    "maxContinuations": -1,
    "compact": "yes",
    "approve": ["a"],
    "captureContent": 1,
    "serverInstructions": "yes",
    "resources": 1,
    "parallel": "yes",
    "maxToolIterations": 0,
    "deadlineSeconds": 0,
    "maxResultChars": -1,
}


def test_the_examples_cover_every_field() -> None:
    assert set(GOOD) == set(BAD) == set(FIELDS)


@given(st.sets(st.sampled_from(FIELDS)), st.sets(st.sampled_from(FIELDS)))
def test_exactly_the_bad_fields_are_named(good: set[str], bad: set[str]) -> None:
    written = {name: GOOD[name] for name in good} | {name: BAD[name] for name in bad}
    _, _, _, problems = read_agent(written, {})
    named = {problem.split()[0] for problem in problems}
    clashes = {"agent.gguf"} if {"gguf", "baseUrl"} <= good else set()
    if len({"maxCost", "prices"} & good) == 1:
        clashes.add("agent.maxCost")
    assert named == ({f"agent.{name}" for name in bad} or clashes)


@pytest.mark.parametrize("field", FIELDS)
def test_a_problem_says_what_is_wanted(field: str) -> None:
    _, _, _, (problem,) = read_agent({field: BAD[field]}, {})
    assert problem.startswith(f"agent.{field} must")
    assert "{" not in problem


def test_null_is_absent() -> None:
    settings, _, _, problems = read_agent(dict.fromkeys(FIELDS), {})
    assert problems == []
    assert settings.max_tool_iterations == 20


def test_an_unknown_field_names_the_nearest() -> None:
    _, _, _, (problem,) = read_agent({"max_tokens": 4}, {})
    assert 'did you mean "maxTokens"?' in problem


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"prices": {"prompt": 1}}, "agent.prices.completion is missing"),
        ({"prices": {"prompt": 1, "completion": -1}}, "agent.prices.completion must be 0 or more"),
        (
            {"prices": {"prompt": 1, "completion": 1, "cache": 1}},
            'agent.prices.cache is not a known field; did you mean "cached"?',
        ),
        ({"approve": {"deny": "x"}}, "agent.approve.deny must be a list"),
        (
            {"approve": {"deny": ["a b"]}},
            "agent.approve.deny[0] must be a tool's name without blanks, * and ? for what may vary",
        ),
        (
            {"approve": {"otherwise": "maybe"}},
            "agent.approve.otherwise must be one of 'allow', 'ask' or 'deny'",
        ),
        (
            {"approve": {"read_only": "ask"}},
            'agent.approve.read_only is not a known field; did you mean "readOnly"?',
        ),
    ],
)
def test_a_mistake_inside_an_object_is_named_where_it_is(
    written: dict[str, Any], told: str
) -> None:
    assert read_agent(written, {})[3] == [told]


def fields_of(model: type[BaseModel], kind: type) -> list[str]:
    """The fields, as they are written, that take a number of this kind."""

    def takes(annotation: object) -> bool:
        if get_origin(annotation) in (Annotated, Union, UnionType):
            return any(map(takes, get_args(annotation)))
        return annotation is kind

    return [
        field.alias or name for name, field in model.model_fields.items() if takes(field.annotation)
    ]


FRACTIONS = fields_of(AgentSettings, float)
COUNTS = fields_of(AgentSettings, int)
ENDLESS = st.sampled_from([math.inf, -math.inf, math.nan])


@given(st.sampled_from(FRACTIONS), ENDLESS)
def test_a_number_without_an_end_is_named_and_refused(field: str, number: float) -> None:
    assert read_agent({field: number}, {})[3] == [f"agent.{field} must be a finite number"]


@given(st.sampled_from(fields_of(PriceSettings, float)), ENDLESS)
def test_a_price_without_an_end_is_named_and_refused(field: str, number: float) -> None:
    prices = {"prompt": 1, "completion": 1, field: number}
    told = [f"agent.prices.{field} must be a finite number"]
    assert read_agent({"maxCost": 1, "prices": prices}, {})[3] == told


@given(
    st.sampled_from([*COUNTS, *(name for name in FRACTIONS if name.endswith("Seconds"))]),
    st.integers(1_000_000_001, 10**300),
)
def test_a_count_or_a_time_beyond_all_use_is_refused(field: str, number: int) -> None:
    assert read_agent({field: number}, {})[3] == [f"agent.{field} must be 1,000,000,000 or less"]


def test_the_number_fields_are_all_there() -> None:
    assert {"deadlineSeconds", "temperature", "maxCost", "firstTokenSeconds"} <= set(FRACTIONS)
    assert {"contextLength", "maxTokens", "stuckAfter", "maxToolIterations"} <= set(COUNTS)


@given(st.recursive(ENDLESS, lambda deep: st.tuples(st.just(0), deep).map(list), max_leaves=9))
def test_a_number_without_an_end_deep_in_the_extra_body_is_told_with_its_place(deep: Any) -> None:
    place, inner = "options.scale", deep
    while isinstance(inner, list):
        place, inner = f"{place}[1]", inner[1]
    written = {"extraBody": {"top_k": 4, "options": {"scale": deep}}}
    told = f"agent.extraBody must hold finite numbers; mend the one at {place}"
    assert read_agent(written, {})[3] == [told]


def test_what_is_no_object_is_one_problem() -> None:
    assert read_agent([], {})[3] == ["agent must be an object"]


def test_the_variables_of_the_key_are_secrets() -> None:
    settings, secrets, unset, _ = read_agent({"apiKey": "${A}${env:B:-}"}, {"A": "1", "C": "2"})
    assert settings.api_key == "1"
    assert set(secrets) == {"A", "B"}
    assert unset == ()
