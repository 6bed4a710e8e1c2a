"""A receipt adds up what the run's own trace says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from host.receipt import receipt
from host.records import RequestTrace, Run, ToolCallOutcome, TurnUsage

traces = st.builds(
    RequestTrace,
    step=st.integers(0, 9),
    tools=st.lists(st.sampled_from(["load_tools", "a__b"])).map(tuple),
    catalogue_tokens=st.integers(0, 500),
    schema_tokens=st.integers(0, 500),
    eager_schema_tokens=st.integers(0, 9000),
    usage=st.builds(
        TurnUsage, prompt_tokens=st.integers(0, 99), completion_tokens=st.integers(0, 9)
    ),
    seconds=st.floats(0, 60),
    purpose=st.sampled_from(["turn", "turn", "select", "due", "pick", "summary"]),
    loaded=st.none() | st.sampled_from([(), ("a__b",), ("c__d",), ("a__b", "c__d")]),
)
outcomes = st.builds(
    ToolCallOutcome,
    name=st.sampled_from(["load_tools", "a__b", "c__d"]),
    ok=st.booleans(),
    id=st.just("x"),
    seconds=st.floats(0, 60),
)


@given(
    st.lists(traces),
    st.lists(outcomes),
    st.integers(0, 99),
    st.sampled_from([(), ("a__b",), ("a__b", "c__d")]),
)
def test_every_part_of_the_trace_is_counted_once(
    requests: list[RequestTrace], calls: list[ToolCallOutcome], prompt: int, used: tuple[str, ...]
) -> None:
    run = Run(
        turn=None,
        messages=(),
        requests=tuple(requests),
        tool_calls=tuple(calls),
        used=used,
        usage=TurnUsage(prompt_tokens=prompt),
    )
    bill = receipt(run)
    assert bill.requests == len(requests)
    assert bill.tool_calls + bill.loads == len(calls)
    assert bill.failed_calls == len([c for c in calls if not c.ok])
    assert bill.prompt_tokens == prompt
    assert bill.discovery_tokens == sum(r.catalogue_tokens + r.schema_tokens for r in requests)
    needed = [r for r in requests if r.loaded is None]
    assert bill.eager_tokens == sum(r.eager_schema_tokens for r in needed)
    useful = [r for r in requests if r.loaded and any(name in used for name in r.loaded)]
    assert bill.wasted_round_trips == len(requests) - len(needed) - len(useful)
    asides = [r.usage for r in requests if r.purpose != "turn"]
    assert bill.asides == len(asides)
    assert bill.aside_tokens == sum(u.prompt_tokens + u.completion_tokens for u in asides)


def test_the_saving_is_measured_against_the_eager_estimate() -> None:
    trace = RequestTrace(
        step=0,
        tools=(),
        catalogue_tokens=100,
        schema_tokens=150,
        eager_schema_tokens=1000,
        usage=TurnUsage(),
        seconds=1.0,
    )
    bill = receipt(Run(turn=None, messages=(), requests=(trace,)))
    assert bill.saved_share == 0.75


def test_a_run_without_tools_saves_nothing() -> None:
    assert receipt(Run(turn=None, messages=())).saved_share == 0.0
