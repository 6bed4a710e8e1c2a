from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from host.event_bus import fold
from host.records import RunEvent, RunEventKind

START = datetime(2026, 3, 1, tzinfo=UTC)


def event(seq: int, kind: RunEventKind, text: str = "", step: str = "", **rest: Any) -> RunEvent:
    at = START + timedelta(seconds=seq)
    return RunEvent(run_id="r", seq=seq, at=at, kind=kind, text=text, step=step, **rest)


def test_deltas_of_one_step_become_one_block_with_the_last_number_and_time() -> None:
    deltas = [event(1, "output", "a", "1"), event(2, "output", "b", "1")]
    assert fold(deltas) == [event(2, "output", "ab", "1")]


def test_deltas_of_two_steps_stay_two_blocks() -> None:
    blocks = fold([event(1, "output", "a", "s1"), event(2, "output", "b", "s2")])
    assert [(block.text, block.step) for block in blocks] == [("a", "s1"), ("b", "s2")]


def test_an_interleaved_thought_keeps_three_blocks() -> None:
    events = [event(1, "output", "a"), event(2, "thinking", "b"), event(3, "output", "c")]
    assert [block.text for block in fold(events)] == ["a", "b", "c"]


def test_other_kinds_are_never_joined() -> None:
    events = [event(1, "notice", "a"), event(2, "notice", "b")]
    assert fold(events) == events


def test_editing_a_block_does_not_reach_the_events() -> None:
    usage: dict[str, Any] = {"promptTokens": 1, "turn": {"promptTokens": 1}}
    original = event(1, "usage", usage=usage)
    (block,) = fold([original])
    assert block.usage is not None
    block.usage["turn"]["promptTokens"] = 9
    assert usage["turn"]["promptTokens"] == 1


def test_usage_that_cannot_be_changed_is_folded_into_one_that_can() -> None:
    usage = MappingProxyType({"turn": MappingProxyType({"promptTokens": 1})})
    (block,) = fold([event(1, "usage", usage=usage)])
    assert block.usage == {"turn": {"promptTokens": 1}}
    assert type(block.usage) is dict


def test_nothing_folds_to_nothing() -> None:
    assert fold([]) == []


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["thinking", "output", "tool-call", "notice"]),
        st.text("xy", max_size=2),
        st.sampled_from(["", "1", "2"]),
    ),
    max_size=25,
).map(
    lambda rows: [
        event(seq, kind, text, step)  # type: ignore[arg-type] # sampled from the kinds
        for seq, (kind, text, step) in enumerate(rows, start=1)
    ]
)


@given(EVENTS)
def test_blocks_are_the_runs_of_equal_neighbours(events: list[RunEvent]) -> None:
    """Oracle: itertools.groupby, with a key of its own for whatever never joins."""

    def key(one: RunEvent) -> tuple[object, ...]:
        joins = one.kind in ("thinking", "output")
        return (one.kind, one.step, None if joins else one.seq)

    expected = []
    for _, group in itertools.groupby(events, key):
        members = list(group)
        last = members[-1]
        expected.append(event(last.seq, last.kind, "".join(m.text for m in members), last.step))
    assert fold(events) == expected
    assert fold(fold(events)) == fold(events)
