"""A run that nobody traces makes nothing for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from host.loop.run_tracing import NO_TRACING
from host.records import Run, ToolCallRequest, ToolSuccess, Turn
from tests.architecture import ROOT


def test_without_a_tracer_every_span_is_one_and_takes_everything() -> None:
    request = ToolCallRequest(id="c1", name="a__b")
    with (
        NO_TRACING.run([]) as run,
        NO_TRACING.request(0, [], [], purpose="pick", as_json=True, own_model=False) as asked,
        NO_TRACING.call(0, request) as call,
    ):
        asked.answered(Turn())
        call.returned(ToolSuccess(result=1))
        run.ended(Run(turn=None, messages=()))
    assert len({id(run), id(asked), id(call)}) == 1


def test_without_a_tracer_an_error_passes() -> None:
    with pytest.raises(ValueError, match="as it was"), NO_TRACING.run():
        raise ValueError("as it was")


def test_neither_the_loop_nor_the_tracer_loads_opentelemetry_by_being_there() -> None:
    code = "import host.loop, host.loop.run_tracing, host.tracing, sys; print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=60,
    )
    assert not {"opentelemetry", "mcp"} & set(answer.stdout.split())
