"""Options that make no sense together are refused before anything runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.loop import AgentLoopOptions
from host.records import TurnUsage
from tests.fakes.loop_peers import MemoryToolbox, ScriptedModel, saying


def options(**fields: Any) -> AgentLoopOptions:
    return AgentLoopOptions(ScriptedModel(saying("x")), MemoryToolbox(), [], **fields)


def _price(usage: TurnUsage) -> float:
    return 1.0


@given(
    st.integers(-2, 3),
    st.integers(-2, 4),
    st.one_of(st.none(), st.just(1.0)),
    st.one_of(st.none(), st.just(_price)),
)
def test_only_options_that_can_work_are_taken(
    iterations: int, stuck_after: int, max_cost: float | None, price: Any
) -> None:
    def build() -> AgentLoopOptions:
        return options(
            max_tool_iterations=iterations, stuck_after=stuck_after, max_cost=max_cost, price=price
        )

    workable = (
        iterations >= 0 and stuck_after in (0, 2, 3, 4) and (max_cost is None) == (price is None)
    )
    if workable:
        assert build().stuck_after == stuck_after
    else:
        with pytest.raises(ValueError, match=r"must be|only work together"):
            build()


def test_the_defaults_are_those_that_were_promised() -> None:
    taken = options()
    assert (taken.discovery, taken.parallel, taken.max_tool_iterations) == ("names", True, 20)
    assert (taken.stuck_after, taken.finish, taken.recover_tool_calls) == (3, "stop", True)
    assert taken.loaded == ()
