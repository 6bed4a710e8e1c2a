"""Attributes say what is known, and nothing of what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.errors import EndpointSilent, PoolError
from host.pool import HttpServerRow, ServerRow, ServerState, StdioServerRow
from host.records import Run, Turn, TurnUsage
from host.tracing.attributes import (
    TracedModel,
    error_type,
    failure_type,
    model_attributes,
    run_attributes,
    server_attributes,
    turn_attributes,
    usage_attributes,
)

counts = st.none() | st.integers(0, 999)
usages = st.builds(
    TurnUsage,
    prompt_tokens=st.integers(0, 3),
    completion_tokens=st.integers(0, 3),
    cached_tokens=counts,
    reasoning_tokens=counts,
    first_token_seconds=st.none() | st.floats(0, 9),
)


@given(usages, st.sampled_from(["", "stop", "tool_calls"]))
def test_an_answer_tells_each_reported_figure_and_no_other(usage: TurnUsage, finish: str) -> None:
    counted = usage.prompt_tokens + usage.completion_tokens > 0
    expected = {
        "gen_ai.usage.input_tokens": usage.prompt_tokens if counted else None,
        "gen_ai.usage.output_tokens": usage.completion_tokens if counted else None,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }
    known = {name: value for name, value in expected.items() if value is not None}
    assert usage_attributes(usage) == known
    reasons = {"gen_ai.response.finish_reasons": [finish]} if finish else {}
    turn = Turn(usage=usage, finish_reason=finish)
    told = turn_attributes(turn)
    assert told.pop("gen_ai.response.time_to_first_chunk", None) == usage.first_token_seconds
    assert told == known | reasons
    assert run_attributes(Run(turn=turn, messages=(), usage=usage)) == known | reasons
    assert run_attributes(Run(turn=None, messages=(), usage=usage)) == known


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        ("https://key@models.test/v1?token=s3cret", ("models.test", 443)),
        ("http://127.0.0.1:8080/v1", ("127.0.0.1", 8080)),
        ("http://[::1]/v1", ("::1", 80)),
        ("http://models.test:port/v1", (None, None)),
        ("http://[models.test", (None, None)),
        ("unix:/tmp/models.sock", (None, None)),
        (None, (None, None)),
    ],
)
def test_of_an_address_only_host_and_port_are_told(
    base_url: str | None, address: tuple[str | None, int | None]
) -> None:
    told = model_attributes(TracedModel(base_url=base_url))
    assert (told.get("server.address"), told.get("server.port")) == address
    assert set(told) <= {"server.address", "server.port"}


def test_a_model_tells_what_it_is_asked_with() -> None:
    assert model_attributes(TracedModel(name="m", max_tokens=5, temperature=0.0)) == {
        "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": 5,
        "gen_ai.request.temperature": 0.0,
    }


@pytest.mark.parametrize(
    ("row", "way"),
    [
        (StdioServerRow(id="files", command="files"), {"network.transport": "pipe"}),
        (
            HttpServerRow(id="files", url="https://files.test/mcp"),
            {
                "network.transport": "tcp",
                "network.protocol.name": "http",
                "server.address": "files.test",
                "server.port": 443,
            },
        ),
    ],
)
def test_a_server_tells_how_it_is_reached(row: ServerRow, way: dict[str, object]) -> None:
    state = ServerState(id="files", slug="files", label="Files", row=row, status="idle")
    assert server_attributes(state) == {"agent_host.server.id": "files", **way}


def test_an_error_is_named_by_its_code_or_its_class() -> None:
    assert error_type(PoolError("timeout", "late")) == "timeout"
    assert error_type(PoolError("tool-error", "no")) == "tool_error"
    assert error_type(EndpointSilent(3, before_first=True)) == "EndpointSilent"
    assert failure_type("unknown-tool") == "unknown-tool"
