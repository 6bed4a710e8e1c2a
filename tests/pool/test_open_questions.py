from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.pool.bounded import Patience
from host.pool.open_questions import MAX_OPEN, OpenQuestions

STEPS = st.lists(
    st.sampled_from(["ask", "answer", "call", "end", "renew"]) | st.floats(0.1, 5), max_size=30
)


@given(STEPS)
def test_a_clock_stands_still_exactly_while_a_question_is_open(steps: list[str | float]) -> None:
    anyio.run(_walk, steps)


async def _walk(steps: list[str | float]) -> None:
    """Plays the steps beside a model: how many questions are open, and what each clock shows."""
    questions = OpenQuestions()
    asked, calls = [], []
    for step in steps:
        if step == "ask":
            asked.append(questions.asking())
            asked[-1].__enter__()
        elif step == "answer" and asked:
            asked.pop().__exit__(None, None, None)
        elif step == "call":
            patience = Patience(2.0, 1000.0)
            holding = questions.holding(patience)
            holding.__enter__()
            calls.append((holding, patience, patience.start()))
        elif step == "end" and calls:
            holding, patience, scope = calls.pop(0)
            holding.__exit__(None, None, None)
            before = scope.deadline
            with questions.asking():
                assert scope.deadline == before
        elif step == "renew":
            for _, patience, _ in calls:
                patience.renew()
        assert questions.is_full == (len(asked) >= MAX_OPEN)
        for _, _, scope in calls:
            left = scope.deadline - anyio.current_time()
            assert (left > 900) == bool(asked)


async def test_a_call_whose_clock_runs_on_is_not_held() -> None:
    questions, patience = OpenQuestions(), Patience(2.0)
    scope = patience.start()
    with questions.holding(None), questions.asking():
        assert scope.deadline - anyio.current_time() < 3


@pytest.mark.parametrize("max_seconds", [5.0, None])
async def test_holding_never_goes_beyond_the_limit_over_all(max_seconds: float | None) -> None:
    patience = Patience(2.0, max_seconds)
    with anyio.fail_after(100), patience.start() as scope, OpenQuestions().holding(patience):
        patience.hold()
        await anyio.sleep(10)
    assert scope.cancelled_caught is (max_seconds is not None)


async def test_a_call_without_a_limit_stays_without_one() -> None:
    patience = Patience(None, 5.0)
    scope = patience.start()
    patience.hold()
    patience.release()
    assert scope.deadline == float("inf")
