"""The agent object: good values are kept, each bad one is named in our own words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.config.agent_reading import FIELDS, read_agent

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
    if not bad and {"gguf", "baseUrl"} <= good:
        assert problems == ["agent.gguf and agent.baseUrl exclude each other; keep one"]
    else:
        assert named == {f"agent.{name}" for name in bad}


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


def test_what_is_no_object_is_one_problem() -> None:
    assert read_agent([], {})[3] == ["agent must be an object"]


def test_the_variables_of_the_key_are_secrets() -> None:
    settings, secrets, unset, _ = read_agent({"apiKey": "${A}${env:B:-}"}, {"A": "1", "C": "2"})
    assert settings.api_key == "1"
    assert set(secrets) == {"A", "B"}
    assert unset == ()
