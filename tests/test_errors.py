"""Errors carry their facts, word themselves, pickle, and form the tree their docstring draws."""

from __future__ import annotations

import pickle
import re

import pytest

import host.errors as errors
from host.errors import (
    POOL_ERROR_CODES,
    ConfigError,
    ContextOverflow,
    EndpointRefused,
    EndpointSilent,
    EndpointUnavailable,
    EngineFailed,
    HostError,
    IterationLimit,
    PoolError,
    RunFailed,
    RunOverflow,
    RunStopped,
    StreamBroken,
    ToolArgumentsError,
    failed_run,
    http_status_for,
)
from host.records import Run, Turn

RUN = Run(turn=Turn(content="half"), messages=({"role": "user", "content": "q"},))
OVERFLOW = ContextOverflow(9000, 500, 8192)

EXAMPLES: list[HostError] = [
    ConfigError("servers.json", ["row a: command is missing", "row b: url is no URL"]),
    ToolArgumentsError("truncated", "cut at the ceiling"),
    PoolError(
        "timeout", "too slow", server_id="s", tool_name="s__t", detail="d", timeout_seconds=2.5
    ),
    EndpointSilent(30, True),
    OVERFLOW,
    EndpointRefused(400, "no such model"),
    EndpointUnavailable(3, 503, detail="busy", retry_after_seconds=4.0),
    EngineFailed("m.gguf", "was ended by SIGKILL", exit_code=-9, detail="loading"),
    StreamBroken("connection reset"),
    RunStopped("deadline", RUN),
    IterationLimit(20, RUN),
    RunFailed("the endpoint went away", RUN),
    RunOverflow(OVERFLOW, RUN),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda e: type(e).__name__)
def test_an_error_comes_back_whole_from_pickling(error: HostError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_every_concrete_error_has_an_example_above() -> None:
    defined = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, HostError)
    }
    abstract = {HostError, errors.WireError, errors.RunError}
    assert {type(error) for error in EXAMPLES} == defined - abstract


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    path: list[type] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^(?P<indent>[\s│├└─]*)(?P<name>[A-Z]\w+)(\s|$)", line)
        if match is None or not hasattr(errors, match["name"]):
            continue
        depth = (len(match["indent"]) - 4) // 4
        cls = getattr(errors, match["name"])
        path = [*path[:depth], cls]
        assert depth == 0 or issubclass(cls, path[depth - 1]), match["name"]
    assert path


def test_the_ten_pool_codes_have_the_statuses_of_the_specification() -> None:
    assert len(POOL_ERROR_CODES) == 10
    assert {code: http_status_for(code) for code in POOL_ERROR_CODES} == {
        "unknown-server": 404,
        "disabled": 404,
        "unknown-tool": 404,
        "out-of-scope": 404,
        "invalid-arguments": 400,
        "no-configs": 500,
        "connect-failed": 502,
        "tool-error": 502,
        "backoff": 503,
        "timeout": 504,
    }


def test_a_config_error_names_its_source_on_every_line() -> None:
    assert str(EXAMPLES[0]).splitlines() == [
        "servers.json: row a: command is missing",
        "servers.json: row b: url is no URL",
    ]


def test_an_overflow_says_what_was_needed_kept_back_and_there() -> None:
    assert "9.0k" in str(OVERFLOW)
    assert "500" in str(OVERFLOW)
    assert "8.2k" in str(OVERFLOW)


def test_a_failed_run_is_found_on_run_errors_only() -> None:
    assert failed_run(RunFailed("x", RUN)) is RUN
    assert failed_run(RunOverflow(OVERFLOW, RUN)) is RUN
    assert failed_run(OVERFLOW) is None
    assert failed_run(ValueError("x")) is None


def test_a_run_that_completed_does_not_raise() -> None:
    assert RUN.raise_for_stop() is RUN


def test_a_run_stopped_at_its_backstop_raises_the_iteration_limit() -> None:
    run = Run(turn=None, messages=(), stop_reason="backstop", max_tool_iterations=7)
    with pytest.raises(IterationLimit, match="7 tool iterations") as caught:
        run.raise_for_stop()
    assert caught.value.run is run


def test_a_run_stopped_otherwise_raises_with_the_reason() -> None:
    run = Run(turn=None, messages=(), stop_reason="deadline")
    with pytest.raises(RunStopped) as caught:
        run.raise_for_stop()
    assert caught.value.stop_reason == "deadline"
